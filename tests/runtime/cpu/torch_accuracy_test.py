"""On the CPU, flashfit's largest error against fp64 is at most twice that of PyTorch's fused attention in the dtype."""

from __future__ import annotations

from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")

SEEDS = range(3)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dim", [32, 64, 128])
@pytest.mark.parametrize("seqlen", [7, 64, 512, 4097])
def test_error_is_at_most_twice_that_of_pytorch(dtype: str, causal: bool, dim: int, seqlen: int) -> None:
    queries = min(seqlen, 1024) if causal else min(seqlen, 128)
    keys = queries if causal else seqlen  # PyTorch aligns its mask to the other corner
    ours = theirs = 0.0
    for seed in SEEDS:
        generator = torch.Generator().manual_seed(seed)
        q, k, v = (
            torch.randn(1, 4, rows, dim, generator=generator).to(getattr(torch, dtype))
            for rows in (queries, keys, keys)
        )
        exact = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
        fused = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        out = flashfit.attention(q, k, v, causal=causal, layout="bhsd")
        ours = max(ours, float((out.double() - exact).abs().max()))
        theirs = max(theirs, float((fused.double() - exact).abs().max()))
    assert ours <= 2 * theirs, f"{ours:.3g} against PyTorch's {theirs:.3g}"
