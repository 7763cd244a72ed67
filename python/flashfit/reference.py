"""The fp64 references that results are held to, and the same-dtype computation whose error bounds theirs.

NumPy only, written apart from the kernels. Error of a result: its largest absolute difference to attention(). It should
be at most twice that of naive(), the textbook computation with every intermediate rounded to the tensors' dtype. Of
the router, ids are those of route(); its weights are fp32 whatever the dtype of logits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Callable, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Offsets = Optional[Sequence[int]]
Window = Optional[Sequence[Optional[int]]]


def _tokens_first(x: Array, layout: str) -> Array:
    if layout not in ("bshd", "bhsd"):
        raise ValueError(f'layout: {layout!r}; accepted: "bshd", "bhsd"')
    return x if layout == "bshd" else x.swapaxes(-3, -2)


def _sequences(q: Array, k: Array, cu_q: Offsets, cu_k: Offsets) -> Iterator[tuple[Any, Any, Any]]:
    """Indices of each sequence's queries, keys and rows of lse."""
    if cu_q is None or cu_k is None:
        yield from ((b, b, b) for b in range(q.shape[0]))
    else:
        for b in range(len(cu_q) - 1):
            rows = slice(int(cu_q[b]), int(cu_q[b + 1]))
            yield rows, slice(int(cu_k[b]), int(cu_k[b + 1])), (slice(None), rows)


def visible(
    seqlen_q: int, seqlen_k: int, causal: bool, window: Window = None, used: int | None = None
) -> npt.NDArray[np.bool_]:
    """Whether query i sees key j, [seqlen_q, seqlen_k]: masks end with the first `used` keys."""
    used = seqlen_k if used is None else used
    at, key = np.arange(seqlen_q)[:, None] + (used - seqlen_q), np.arange(seqlen_k)[None, :]
    left, right = (None if each == -1 else each for each in window or (None, None))
    seen = np.broadcast_to(key < used, (seqlen_q, seqlen_k)).copy()
    if causal:
        right = 0
    if left is not None:
        seen &= key >= at - left
    if right is not None:
        seen &= key <= at + right
    return seen


def _mix(p: Array, v: Array, seen: npt.NDArray[np.bool_]) -> Array:
    """p @ v, where a key's NaN or infinity reaches only queries that see it, although 0 * NaN is NaN."""
    finite = np.isfinite(v)
    mixed: Array = p @ np.where(finite, v, 0)
    for j in np.flatnonzero(~finite.all(axis=1)):
        mixed[seen[:, j]] += p[seen[:, j], j, None] * np.where(finite[j], 0, v[j])
    return mixed


class _Options(NamedTuple):
    """Those of attention() beyond a plain call, for all sequences."""

    window: Window = None
    softcap: float | None = None
    alibi_slopes: Any = None
    sinks: Any = None
    bias: Any = None
    seqused_k: Any = None


class _Terms(NamedTuple):
    """What one sequence and head adds to its scores."""

    seen: npt.NDArray[np.bool_]
    softcap: float
    alibi: Any  # [seqlen_q, seqlen_k], or 0
    bias: Any  # alike
    sink: float  # -inf: none


def _terms(options: _Options, q: Array, k: Array, causal: bool, b: int, h: int, heads: int) -> _Terms:
    used = len(k) if options.seqused_k is None else int(options.seqused_k[b])
    seen = visible(len(q), len(k), causal, options.window, used)
    alibi: Any = 0
    bias: Any = 0
    if options.alibi_slopes is not None:
        slopes = np.atleast_2d(np.asarray(options.alibi_slopes, np.float64))
        at = np.arange(len(q))[:, None] + (used - len(q))
        alibi = -slopes[b if len(slopes) > 1 else 0, h] * np.abs(at - np.arange(len(k))[None, :])
    if options.bias is not None:
        given = np.asarray(options.bias)
        given = given.reshape((1,) * (4 - given.ndim) + given.shape)
        of_one = given[b if given.shape[0] > 1 else 0, h if given.shape[1] > 1 else 0]
        of_one = np.broadcast_to(of_one, (len(q), len(k)))
        if of_one.dtype == bool:
            seen &= of_one
        else:
            bias = of_one.astype(np.float64)
    sink = -np.inf if options.sinks is None else float(np.asarray(options.sinks)[h])
    return _Terms(seen, float(options.softcap or 0), alibi, bias, sink)


def _one_head(
    q: Array, k: Array, v: Array, terms: _Terms, scale: float, rounded: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """One sequence and head; `rounded` is applied to every intermediate."""
    work = q.dtype.type
    with np.errstate(all="ignore"):  # infinities and NaN are values like others here
        scores = rounded(rounded(q @ k.T) * work(scale))
        if terms.softcap:
            scores = rounded(work(terms.softcap) * np.tanh(scores / work(terms.softcap)))
        for term in (terms.alibi, terms.bias):
            if not np.isscalar(term):
                scores = rounded(scores + term.astype(work))
        scores = np.where(terms.seen, scores, -np.inf)
        top = np.maximum(scores.max(axis=1, initial=-np.inf), terms.sink)
        shift = np.where(top == -np.inf, 0, top)
        p = np.exp(scores - shift[:, None])
        total = p.sum(axis=1) + np.exp(terms.sink - shift)
        p = rounded(p / np.where(total == 0, 1, total)[:, None]).astype(work)
        return rounded(_mix(p, v, terms.seen)), shift + np.log(total)


def _forward(
    q: Array,
    k: Array,
    v: Array,
    causal: bool,
    softmax_scale: float | None,
    cu_q: Offsets,
    cu_k: Offsets,
    layout: str,
    options: dict[str, Any],
    work: Any,
    rounded: Callable[[Array], Array],
) -> tuple[Array, Array]:
    asked = _Options(**options)
    q, k, v = (_tokens_first(np.asarray(x), layout).astype(work) for x in (q, k, v))
    heads, group = q.shape[-2], q.shape[-2] // max(k.shape[-2], 1)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    out = np.zeros((*q.shape[:-1], v.shape[-1]), work)
    lse = np.zeros((*q.shape[:-3], heads, q.shape[-3]), work)
    for b, (rows, keys, lse_rows) in enumerate(_sequences(q, k, cu_q, cu_k)):
        for h in range(heads):
            terms = _terms(asked, q[rows], k[keys], causal, b, h, heads)
            out[rows][:, h], lse[lse_rows][h] = _one_head(
                q[rows][:, h], k[keys][:, h // group], v[keys][:, h // group], terms, scale, rounded
            )
    return _tokens_first(out, layout), lse


def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    cu_seqlens_q: Offsets = None,
    cu_seqlens_k: Offsets = None,
    layout: str = "bshd",
    **options: Any,
) -> tuple[Array, Array]:
    """(out, lse) in fp64, with the shapes of flashfit.attention. A query that sees no key gives 0 and -inf.

    options: window, softcap, alibi_slopes, sinks, bias, seqused_k, as flashfit.attention has them.
    """
    return _forward(
        q, k, v, causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, options, np.float64, lambda x: x
    )


def naive(
    q: Array,
    k: Array,
    v: Array,
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    cu_seqlens_q: Offsets = None,
    cu_seqlens_k: Offsets = None,
    layout: str = "bshd",
    **options: Any,
) -> tuple[Array, Array]:
    """(out, lse) as unfused layers compute them: every step rounded to q's dtype, sums in fp32; lse is fp32."""
    dtype = np.asarray(q).dtype
    out, lse = _forward(
        q,
        k,
        v,
        causal,
        softmax_scale,
        cu_seqlens_q,
        cu_seqlens_k,
        layout,
        options,
        np.float32,
        lambda x: x.astype(dtype).astype(np.float32),
    )
    return out.astype(dtype), lse.astype(np.float32)


def _softmax(x: Array) -> Array:
    """Of each row; NaN where a row holds NaN or inf, or -inf alone."""
    with np.errstate(invalid="ignore"):
        p = np.exp(x - x.max(axis=1, keepdims=True))
        found: Array = p / p.sum(axis=1, keepdims=True)
    return found


def route(
    logits: Array, top_k: int, *, router: str = "softmax", renormalize: bool = True, work: Any = np.float64
) -> tuple[Array, Array]:
    """(weights, ids) [tokens, top_k] of flashfit.moe_route, weights in the precision `work`: np.float64 for what is
    right, np.float32 for the same computation as layers do it.

    Experts are sorted: NaN first, then the larger logit, then the lower id.
    """
    if router not in ("softmax", "topk_softmax"):
        raise ValueError(f'router: {router!r}; accepted: "softmax", "topk_softmax"')
    x = np.asarray(logits).astype(work)
    is_nan = np.isnan(x)
    experts = np.broadcast_to(np.arange(x.shape[1]), x.shape)
    order = np.lexsort((experts, -np.where(is_nan, 0, x), ~is_nan), axis=1)  # by the last key first
    ids = order[:, :top_k]
    if router == "softmax":
        weights = np.take_along_axis(_softmax(x), ids, axis=1)
    else:
        weights = _softmax(np.take_along_axis(x, ids, axis=1))
    if renormalize:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return weights, ids
