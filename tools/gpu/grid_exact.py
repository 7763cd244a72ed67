"""What a case of the grid should give: the formula of flashfit.attention's docstring by plain torch operations, in fp64
as the reference, in the case's dtype as the baseline that errors are held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from tools.gpu.grid_cases import GridCase
from tools.gpu.grid_tensors import GridInputs

UNIT_ROUNDOFF = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 2.0**-24}
SMALLEST = {"fp16": 2.0**-24, "bf16": 2.0**-133, "fp32": 2.0**-149}
FP32 = UNIT_ROUNDOFF["fp32"]


@dataclass
class Group:
    """Sequences of one length: q [batch, heads_q, seqlen_q, head_dim], k and v alike; and where a result has them."""

    q: Any
    k: Any
    v: Any
    seen: Any  # bool [batch or 1, 1, seqlen_q, seqlen_k]
    distance: Any  # |i + seqlen_k - seqlen_q - j|, [batch or 1, 1, seqlen_q, seqlen_k]
    slopes: Any | None  # [batch, heads, 1, 1]
    sinks: Any | None  # [heads, 1, 1]
    bias: Any | None
    result: Callable[[Any], Any]  # of out: [batch, heads_q, seqlen_q, head_dim_v]
    lse: Callable[[Any], Any]


def seen_and_distance(case: GridCase, seqlen_q: int, seqlen_k: int, used: Any) -> tuple[Any, Any]:
    """For sequences of `used` keys each, [batch, 1, 1, 1]."""
    at = torch.arange(seqlen_q, device=used.device)[:, None] + used - seqlen_q
    key = torch.arange(seqlen_k, device=used.device)[None, :]
    seen = (key < used) & (at == at)
    left, right = case.window or (-1, -1)
    if case.causal:
        right = 0
    if left >= 0:
        seen &= key >= at - left
    if right >= 0:
        seen &= key <= at + right
    return seen, (at - key).abs()


def groups(case: GridCase, inputs: GridInputs) -> Iterator[Group]:
    """All sequences, those of one length together where they lie together."""
    heads_first = case.layout == "bhsd"
    options, lengths = inputs.options, inputs.lengths
    device = inputs.q.device
    slopes, sinks = options.get("alibi_slopes"), options.get("sinks")
    if slopes is not None:
        slopes = slopes.expand(len(lengths), case.heads)[..., None, None]
    if sinks is not None:
        sinks = sinks[:, None, None]
    used_all = options.get("seqused_k")

    def used_of(first: int, count: int) -> Any:
        keys = lengths[first][1]
        used = torch.full((1,), keys, device=device) if used_all is None else used_all[first : first + count].long()
        return used[:, None, None, None]

    def group(first: int, count: int, take: Callable[[Any, int], Any], lse: Callable[[Any], Any]) -> Group:
        seqlen_q, seqlen_k = lengths[first]
        bias = options.get("bias")
        seen, distance = seen_and_distance(case, seqlen_q, seqlen_k, used_of(first, count))
        if bias is not None and bias.dtype == torch.bool:
            seen, bias = seen & bias, None
        of = None if slopes is None else slopes[first : first + count]
        q, k, v = take(inputs.q, 0), take(inputs.k, 1), take(inputs.v, 1)
        return Group(q, k, v, seen, distance, of, sinks, bias, lambda out: take(out, 0), lse)

    def to_heads_first(x: Any) -> Any:
        return x if heads_first else x.transpose(-3, -2)

    if case.lengths is None:
        if lengths:
            yield group(0, len(lengths), lambda x, _: to_heads_first(x), lambda x: x)
        return
    if len(set(lengths)) == 1 and len(lengths) > 100:
        count = len(lengths)

        def all_of(x: Any, which: int) -> Any:
            return to_heads_first(x).unflatten(-2, (count, lengths[0][which])).movedim(-3, -4)

        yield group(0, count, all_of, lambda x: x.unflatten(-1, (count, lengths[0][0])).movedim(-2, -3))
        return
    starts = [0, 0]
    for i, sizes in enumerate(lengths):
        rows = [slice(start, start + size) for start, size in zip(starts, sizes)]

        def one(x: Any, which: int, rows: list[slice] = rows) -> Any:
            return to_heads_first(x)[:, rows[which]][None]

        def one_lse(x: Any, rows: slice = rows[0]) -> Any:
            return x[:, rows][None]

        yield group(i, 1, one, one_lse)
        starts = [start + size for start, size in zip(starts, sizes)]


def attend(case: GridCase, g: Group, work: Any) -> tuple[Any, Any]:
    """(out, lse), each step rounded to `work`; the softmax of the baseline in fp32, as PyTorch has it."""
    scale = case.softmax_scale or case.head_dim**-0.5
    wide = torch.float64 if work == torch.float64 else torch.float32
    q, k, v = (x.to(work) for x in (g.q, g.k, g.v))
    share = case.heads // case.heads_kv
    if share > 1:
        k, v = k.repeat_interleave(share, 1), v.repeat_interleave(share, 1)
    scores = (q @ k.transpose(-2, -1)) * scale
    if case.softcap:
        scores = case.softcap * torch.tanh(scores / case.softcap)
    if g.slopes is not None:
        scores = scores - (g.slopes.to(wide) * g.distance).to(work)
    if g.bias is not None:
        scores = scores + g.bias.to(work)
    scores = scores.to(wide).masked_fill(~g.seen, float("-inf"))
    top = scores.amax(-1, keepdim=True) if scores.shape[-1] else scores.new_full((*scores.shape[:-1], 1), float("-inf"))
    sinks = None if g.sinks is None else g.sinks.to(wide)
    if sinks is not None:
        top = torch.maximum(top, sinks)
    top = torch.where(top == float("-inf"), torch.zeros_like(top), top)
    weights = torch.exp(scores - top)
    total = weights.sum(-1, keepdim=True)
    if sinks is not None:
        total = total + torch.exp(sinks - top)
    lse = (top + torch.log(total)).squeeze(-1)
    weights = (weights / torch.where(total == 0, torch.ones_like(total), total)).to(work)
    return weights @ v, lse


@dataclass
class Bounds:
    """Of a case: what out and lse may be off by."""

    out: float = 0.0
    lse: float = 0.0


def largest(x: Any) -> float:
    """The largest finite magnitude."""
    if x.numel() == 0:
        return 0.0
    return float(torch.where(x.isfinite(), x.abs(), torch.zeros_like(x)).max())


def max_error(out: Any, exact: Any) -> float:
    """Largest absolute difference; infinities must be equal, NaN anywhere makes it NaN."""
    if out.numel() == 0:
        return 0.0
    out = out.to(exact.dtype)
    return float(torch.where(out == exact, torch.zeros_like(exact), (out - exact).abs()).max())


def score_roundings(case: GridCase, g: Group) -> float:
    """One rounding of fp32 at the largest magnitude that a score's terms have."""
    if g.q.numel() == 0 or g.k.numel() == 0:
        return 0.0
    scale = case.softmax_scale or case.head_dim**-0.5
    k = g.k.abs().float()
    if case.heads != case.heads_kv:
        k = k.repeat_interleave(case.heads // case.heads_kv, 1)
    magnitude = float((g.q.abs().float() @ k.transpose(-2, -1)).max()) * scale
    if case.softcap:
        magnitude += case.softcap
    if g.slopes is not None:
        magnitude += float((g.slopes * g.distance).max())
    if g.bias is not None:
        magnitude += largest(g.bias.float())
    return FP32 * magnitude


def part_bounds(case: GridCase, g: Group, exact: Any, exact_lse: Any) -> Bounds:
    """docs/numerics.md's: twice the baseline's error, and one of each rounding that none can avoid."""
    if exact.numel() == 0:
        return Bounds()
    plain, plain_lse = attend(case, g, g.q.dtype)
    if not bool(plain.isfinite().all()):  # scores past what fp16 holds: fp32's error is what is left to ask for
        plain, plain_lse = attend(case, g, torch.float32)
    s = score_roundings(case, g)
    floor = max(UNIT_ROUNDOFF[case.dtype] * largest(exact), SMALLEST[case.dtype] / 2)
    floor += (FP32 + 2 * s) * (largest(g.v) if g.v.numel() else 0.0)
    # 64 roundings of fp32, in which maximum and sum are kept: less than docs/numerics.md allows.
    lse = 64 * FP32 * max(1.0, largest(exact_lse)) + 4 * s
    if case.softcap:  # a GPU's tanh is as right as fp16 needs it, and LSE is fp32
        lse += 2 * max_error(plain_lse.double(), exact_lse)
    return Bounds(2 * max_error(plain, exact) + floor, lse)
