"""Attention by plain torch operations: in fp64 the reference, in the inputs' dtype the baseline that errors are held
to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from tools.gpu.tensors import Inputs
from tools.job.cases import Case

UNIT_ROUNDOFF = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 2.0**-24}


def attend(q: Any, k: Any, v: Any, causal: bool, scale: float, dtype: Any) -> tuple[Any, Any]:
    """One sequence: q [seqlen_q, heads_q, head_dim] -> (out alike, lse [heads_q, seqlen_q]), every step rounded to
    `dtype`."""
    q, k, v = (x.transpose(0, 1).to(dtype) for x in (q, k, v))
    group = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
    queries, keys = q.shape[1], k.shape[1]
    visible = torch.ones(queries, keys, dtype=torch.bool, device=q.device)
    if causal:
        visible = visible.tril(keys - queries)
    some = visible.any(1)
    out = torch.zeros_like(q)
    lse = torch.full(q.shape[:2], float("-inf"), dtype=dtype, device=q.device)
    if bool(some.any()):
        scores = (q[:, some] @ k.mT * scale).masked_fill(~visible[some], float("-inf"))
        lse[:, some] = scores.logsumexp(2)
        out[:, some] = scores.softmax(2) @ v
    return out.transpose(0, 1), lse


def run(case: Case, inputs: Inputs, dtype: Any) -> tuple[Any, Any]:
    """(out like q, lse [batch, heads, seqlen_q] or [heads, total_q]) in `dtype`, sequence by sequence."""
    scale = case.softmax_scale or case.head_dim**-0.5
    if case.lengths_q is None or case.lengths_k is None:
        parts = [
            attend(inputs.q[b], inputs.k[b], inputs.v[b], case.causal, scale, dtype) for b in range(inputs.q.shape[0])
        ]
        return torch.stack([out for out, _ in parts]), torch.stack([lse for _, lse in parts])
    parts = []
    start_q = start_k = 0
    for queries, keys in case.sequences():
        q = inputs.q[start_q : start_q + queries]
        k, v = inputs.k[start_k : start_k + keys], inputs.v[start_k : start_k + keys]
        parts.append(attend(q, k, v, case.causal, scale, dtype))
        start_q, start_k = start_q + queries, start_k + keys
    return torch.cat([out for out, _ in parts]), torch.cat([lse for _, lse in parts], 1)


def sdpa(case: Case, inputs: Inputs) -> Any:
    """A call of PyTorch's flash attention on the same inputs; of its varlen_attn for variable length."""
    if case.lengths_q is not None and case.lengths_k is not None:
        from torch.nn.attention.varlen import varlen_attn

        longest_q, longest_k = max(case.lengths_q), max(case.lengths_k)
        offsets_q, offsets_k = inputs.cu_seqlens_q, inputs.cu_seqlens_k
        return lambda: varlen_attn(inputs.q, inputs.k, inputs.v, offsets_q, offsets_k, longest_q, longest_k)
    q, k, v = (x.transpose(1, 2) for x in (inputs.q, inputs.k, inputs.v))
    grouped = case.heads != case.heads_kv

    def call() -> Any:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            out = functional.scaled_dot_product_attention(
                q, k, v, is_causal=case.causal, scale=case.softmax_scale, enable_gqa=grouped
            )
        return out.transpose(1, 2)

    return call


def sdpa_computes(case: Case) -> bool:
    """Whether PyTorch's flash attention computes this very problem: its causal mask is aligned to the top left."""
    dense = case.lengths_q is None and case.seqlen_k > 0 and case.seqlen_q > 0
    return dense and (not case.causal or case.seqlen_q == case.seqlen_k)


def max_error(out: Any, exact: Any) -> float:
    """Largest absolute difference; infinities must be equal, NaN anywhere makes it NaN."""
    if out.numel() == 0:
        return 0.0
    out = out.to(torch.float64)
    return float(torch.where(out == exact, torch.zeros_like(exact), (out - exact).abs()).max())


def per_sequence(case: Case, inputs: Inputs) -> Iterator[tuple[Any, Any]]:
    """Views of q and k of each sequence, [rows, heads, head_dim]."""
    if case.lengths_q is None or case.lengths_k is None:
        yield from zip(inputs.q, inputs.k)
        return
    yield from zip(inputs.q.split(case.lengths_q), inputs.k.split(case.lengths_k))


def score_magnitude(case: Case, inputs: Inputs) -> float:
    """Largest softmax_scale * sum |q_d k_d| of a query and a key: what a score's rounding is relative to."""
    largest = 0.0
    for q, k in per_sequence(case, inputs):
        if q.numel() and k.numel():
            shared = k.abs().repeat_interleave(q.shape[1] // k.shape[1], 1).float()
            products = q.abs().float().transpose(0, 1) @ shared.permute(1, 2, 0)
            largest = max(largest, float(products.max()))
    return largest * (case.softmax_scale or case.head_dim**-0.5)


def bound(case: Case, inputs: Inputs, exact: Any) -> float:
    """docs/numerics.md's: twice PyTorch's error in the same dtype, and one of each rounding that none can avoid.

    PyTorch's is that of its flash attention where that computes the problem, else of plain operations.
    """
    if exact.numel() == 0 or inputs.v.numel() == 0:
        return 0.0
    baseline = None
    if sdpa_computes(case):
        with contextlib.suppress(RuntimeError):  # no flash kernel for it on this GPU
            baseline = sdpa(case, inputs)()
    if baseline is None:
        baseline, _ = run(case, inputs, inputs.q.dtype)
    fp32 = UNIT_ROUNDOFF["fp32"]
    floor = UNIT_ROUNDOFF[case.dtype] * float(exact.abs().max())
    floor += fp32 * (1 + 2 * score_magnitude(case, inputs)) * float(inputs.v.abs().max())
    return 2 * max_error(baseline, exact) + floor


def lse_bound(exact: Any) -> float:
    """64 roundings of fp32, in which the kernel keeps scores, maximum and sum: less than docs/numerics.md allows."""
    finite = exact[exact.isfinite()]
    return 64 * UNIT_ROUNDOFF["fp32"] * max(1.0, float(finite.abs().max()) if finite.numel() else 0.0)
