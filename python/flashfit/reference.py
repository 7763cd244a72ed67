"""The fp64 reference that results are held to, and the same-dtype computation whose error bounds theirs.

NumPy only, written apart from the kernels. Error of a result: its largest absolute difference to attention(). It should
be at most twice that of naive(), the textbook computation with every intermediate rounded to the tensors' dtype.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Callable, Optional

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Offsets = Optional[Sequence[int]]


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


def visible(seqlen_q: int, seqlen_k: int, causal: bool) -> npt.NDArray[np.bool_]:
    """Whether query i sees key j, [seqlen_q, seqlen_k]: causal masks are aligned at the bottom right."""
    if not causal:
        return np.ones((seqlen_q, seqlen_k), bool)
    return np.arange(seqlen_k)[None, :] <= np.arange(seqlen_q)[:, None] + (seqlen_k - seqlen_q)


def _mix(p: Array, v: Array, seen: npt.NDArray[np.bool_]) -> Array:
    """p @ v, where a key's NaN or infinity reaches only queries that see it, although 0 * NaN is NaN."""
    finite = np.isfinite(v)
    mixed: Array = p @ np.where(finite, v, 0)
    for j in np.flatnonzero(~finite.all(axis=1)):
        mixed[seen[:, j]] += p[seen[:, j], j, None] * np.where(finite[j], 0, v[j])
    return mixed


def _one_head(
    q: Array, k: Array, v: Array, causal: bool, scale: float, rounded: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """One sequence and head; `rounded` is applied to every intermediate."""
    seen = visible(len(q), len(k), causal)
    with np.errstate(all="ignore"):  # infinities and NaN are values like others here
        scores = np.where(seen, rounded(rounded(q @ k.T) * q.dtype.type(scale)), -np.inf)
        top = scores.max(axis=1, initial=-np.inf)
        shift = np.where(top == -np.inf, 0, top)
        p = np.exp(scores - shift[:, None])
        total = p.sum(axis=1)
        p = rounded(p / np.where(total == 0, 1, total)[:, None])
        return rounded(_mix(p, v, seen)), shift + np.log(total)


def _forward(
    q: Array,
    k: Array,
    v: Array,
    causal: bool,
    softmax_scale: float | None,
    cu_q: Offsets,
    cu_k: Offsets,
    layout: str,
    work: Any,
    rounded: Callable[[Array], Array],
) -> tuple[Array, Array]:
    q, k, v = (_tokens_first(np.asarray(x), layout).astype(work) for x in (q, k, v))
    heads, group = q.shape[-2], q.shape[-2] // max(k.shape[-2], 1)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    out = np.zeros(q.shape, work)
    lse = np.zeros((*q.shape[:-3], heads, q.shape[-3]), work)
    for rows, keys, lse_rows in _sequences(q, k, cu_q, cu_k):
        for h in range(heads):
            out[rows][:, h], lse[lse_rows][h] = _one_head(
                q[rows][:, h], k[keys][:, h // group], v[keys][:, h // group], causal, scale, rounded
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
) -> tuple[Array, Array]:
    """(out, lse) in fp64, with the shapes of flashfit.attention. A query that sees no key gives 0 and -inf."""
    return _forward(q, k, v, causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, np.float64, lambda x: x)


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
        np.float32,
        lambda x: x.astype(dtype).astype(np.float32),
    )
    return out.astype(dtype), lse
