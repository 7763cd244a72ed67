"""The tensors of a case, each inside a larger buffer full of NaN: what is read outside shows, what is written outside
shows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import torch

from tools.job.cases import Case

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
GUARD = 256  # elements before and after, a multiple of what any dtype's alignment asks for


@dataclass
class Inputs:
    """q, k, v and, for variable length, the offsets, of one case."""

    q: Any
    k: Any
    v: Any
    cu_seqlens_q: Any | None = None
    cu_seqlens_k: Any | None = None

    def options(self, case: Case) -> dict[str, Any]:
        """Keywords of flashfit.attention."""
        return {
            "causal": case.causal,
            "softmax_scale": case.softmax_scale,
            "cu_seqlens_q": self.cu_seqlens_q,
            "cu_seqlens_k": self.cu_seqlens_k,
        }


@dataclass
class Guarded:
    """A tensor to write, between guards."""

    view: Any
    buffer: Any

    def untouched_outside(self) -> bool:
        return bool(self.buffer[:GUARD].isnan().all() and self.buffer[self.buffer.numel() - GUARD :].isnan().all())


def guarded(shape: tuple[int, ...], dtype: Any, device: str) -> Guarded:
    """Row-major, full of NaN inside as well."""
    count = 1
    for size in shape:
        count *= size
    buffer = torch.full((count + 2 * GUARD,), float("nan"), dtype=dtype, device=device)
    return Guarded(buffer[GUARD : GUARD + count].view(shape), buffer)


def make(case: Case, device: str, seed: int = 0, values_dim: int | None = None) -> Inputs:
    """Normal random inputs in the case's memory layout; all memory between and around them is NaN. `values_dim`: of v,
    where it is not that of q and k."""
    generator = torch.Generator(device).manual_seed(seed)
    dtype = DTYPES[case.dtype]
    lengths_q, lengths_k = case.lengths_q, case.lengths_k
    ragged = lengths_q is not None and lengths_k is not None
    rows_q = (sum(lengths_q or ()),) if ragged else (case.batch, case.seqlen_q)
    rows_k = (sum(lengths_k or ()),) if ragged else (case.batch, case.seqlen_k)

    def fill(view: Any, factor: float = 1.0) -> Any:
        view.copy_(torch.randn(view.shape, generator=generator, device=device) * factor)
        return view

    def empty(rows: tuple[int, ...], heads: int, dim: int = case.head_dim) -> Any:
        if case.memory == "heads_first" and not ragged:
            return guarded((rows[0], heads, rows[1], dim), dtype, device).view.transpose(1, 2)
        if case.memory == "padded_rows":
            return guarded((*rows, heads, dim + 8), dtype, device).view[..., :dim]
        return guarded((*rows, heads, dim), dtype, device).view

    if case.memory == "packed_qkv":
        packed = guarded((*rows_q, 3, case.heads, case.head_dim), dtype, device).view
        q, k, v = (packed[..., i, :, :] for i in range(3))
    else:
        q, k = empty(rows_q, case.heads), empty(rows_k, case.heads_kv)
        v = empty(rows_k, case.heads_kv, values_dim or case.head_dim)
    inputs = Inputs(fill(q, case.magnitude), fill(k), fill(v))
    if ragged:
        inputs.cu_seqlens_q, inputs.cu_seqlens_k = (
            torch.tensor([0, *itertools.accumulate(lengths or ())], dtype=torch.int32, device=device)
            for lengths in (lengths_q, lengths_k)
        )
    return inputs
