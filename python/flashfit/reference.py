"""The fp64 references that results are held to, and the same-dtype computation whose error bounds theirs.

Of NumPy arrays and of torch tensors, on the GPU too: written against what both packages have, apart from the kernels
and from the reference in C++. Error of a result: its largest absolute difference to attention(). It should be at most
twice that of naive(), the textbook computation with every intermediate rounded to the tensors' dtype, plus floor(), one
of each rounding that no computation avoids (docs/numerics.md has the reasons). Of the router, ids are those of route();
its weights are fp32 whatever the dtype of logits.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable, Optional

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Offsets = Optional[Sequence[int]]
Window = Optional[Sequence[Optional[int]]]

MOST_SCORES = 1 << 22  # that are computed at once: memory is bounded, whatever the problem
ROUNDOFF = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 2.0**-24}  # the unit roundoff of each dtype


def _package(x: Any) -> Any:
    """torch of its tensors, else NumPy. What is called of it has one name and one meaning in both."""
    return np if isinstance(x, np.ndarray) else sys.modules["torch"]


def _tensor(x: Any) -> Any:
    return x if type(x).__module__.startswith("torch") else np.asarray(x)


def _cast(x: Any, dtype: Any) -> Any:
    return x.astype(dtype) if isinstance(x, np.ndarray) else x.to(dtype)


def _beside(q: Any, values: Any) -> Any:
    """Values as q's package has them, where q is."""
    return np.asarray(values) if isinstance(q, np.ndarray) else sys.modules["torch"].as_tensor(values, device=q.device)


def _zeros(q: Any, shape: Sequence[int]) -> Any:
    return np.zeros(shape, q.dtype) if isinstance(q, np.ndarray) else q.new_zeros(tuple(shape))


def _counted(q: Any, count: int) -> Any:
    """0, 1, 2 and so on where q is. Not by way of NumPy, which an older torch cannot read from."""
    if isinstance(q, np.ndarray):
        return np.arange(count)
    return sys.modules["torch"].arange(count, device=q.device)


def _as_it_is(x: Any) -> Any:
    return x


@np.errstate(all="ignore")  # infinities and NaN are values like others here
def softmax(scores: Any, sinks: Any = None) -> tuple[Any, Any]:
    """(weights, lse) of each row. A sink is one key more, whose weight nobody gets; of -inf alone: 0 and -inf.

    scores: [..., keys]; sinks: broadcasts to [..., 1].
    """
    xp = _package(scores)
    sink = _zeros(scores, (*scores.shape[:-1], 1)) + (-np.inf if sinks is None else _cast(sinks, scores.dtype))
    every = xp.concatenate([scores, sink], -1)
    top = xp.amax(every, -1, keepdims=True)
    shift = xp.where(top == -np.inf, _zeros(top, top.shape), top)
    p = xp.exp(every - shift)
    total = p.sum(-1, keepdims=True)
    return p[..., :-1] / (total + _cast(total == 0, total.dtype)), (shift + xp.log(total))[..., 0]


def _mix(p: Any, v: Any, seen_by: Callable[[], Any]) -> Any:
    """p @ v, where a key's NaN or infinity reaches only queries that see it, although 0 * NaN is NaN."""
    xp = _package(v)
    finite, none = xp.isfinite(v), _zeros(v, (1,))
    if bool(finite.all()):
        return p @ v
    seen = seen_by()
    mixed = p @ xp.where(finite, v, none)
    of_key = finite.reshape(-1, *finite.shape[-2:]).swapaxes(0, 1).reshape(finite.shape[-2], -1).all(1)
    for j in [j for j, is_finite in enumerate(of_key.tolist()) if not is_finite]:
        key = slice(j, j + 1)
        odd = xp.where(finite[..., key, :], none, v[..., key, :])
        mixed = mixed + xp.where(seen[..., key], p[..., key] * odd, none)
    return mixed


def _some(x: Any, axis: int, where: slice) -> Any:
    """x[where] along an axis of four, unless it is broadcast there."""
    if x is None or getattr(x, "ndim", 0) < 4 or x.shape[axis] == 1:
        return x
    return x[(slice(None),) * axis + (where,)]


@dataclass(frozen=True)
class Problem:
    """Sequences of as many keys each, or rows of one head: q [..., queries, head_dim], k [..., keys, head_dim] and v
    [..., keys, head_dim_v], of one floating dtype, in which all is computed. What else there is broadcasts to scores,
    [..., queries, keys]."""

    q: Any
    k: Any
    v: Any
    at: Any  # the key that a query is aligned with, [..., queries, 1]
    used: Any  # how many keys are there
    scale: float
    causal: bool = False
    window: Window = None
    softcap: float = 0.0
    slopes: Any = None
    sinks: Any = None  # broadcasts to [..., queries, 1]
    bias: Any = None  # added; of bool: what may be seen

    def of(self, dtype: Any) -> Problem:
        """With q, k and v in another dtype."""
        return replace(self, q=_cast(self.q, dtype), k=_cast(self.k, dtype), v=_cast(self.v, dtype))

    def part(self, sequences: slice, queries: slice) -> Problem:
        """Of one whose tensors are [batch, heads, ...]."""
        others = {name: _some(getattr(self, name), 0, sequences) for name in ("used", "slopes", "sinks", "bias", "at")}
        others.update({name: _some(others[name], 2, queries) for name in ("at", "bias")})
        q, k, v = self.q[sequences, :, queries], self.k[sequences], self.v[sequences]
        return replace(self, q=q, k=k, v=v, **others)

    def from_query_to_key(self) -> Any:
        """How many keys a query is ahead of a key."""
        keys = self.k.shape[-2]
        return self.at - _counted(self.q, keys)

    def seen(self) -> Any:
        """Which keys each query sees; masks end with the first `used` keys."""
        ahead = self.from_query_to_key()
        seen = self.at - ahead < self.used
        left, right = (None if each == -1 else each for each in self.window or (None, None))
        if self.causal:
            right = 0
        if left is not None:
            seen = seen & (ahead <= left)
        if right is not None:
            seen = seen & (ahead >= -right)
        return seen & self.bias if self._hides() else seen

    def _hides(self) -> bool:
        return self.bias is not None and str(self.bias.dtype).endswith("bool")

    def terms(self) -> list[Any]:
        """What is added to the scores, in fp64: ALiBi, then a bias."""
        found = []
        if self.slopes is not None:
            wide = _package(self.q).float64
            found.append(-_cast(self.slopes, wide) * _cast(abs(self.from_query_to_key()), wide))
        if self.bias is not None and not self._hides():
            found.append(self.bias)
        return found

    def scores(self, rounded: Callable[[Any], Any] = _as_it_is) -> Any:
        """-inf where a query does not see a key. `rounded` is applied to every intermediate."""
        xp = _package(self.q)
        scores = rounded(rounded(self.q @ self.k.swapaxes(-2, -1)) * float(self.scale))
        if self.softcap:
            scores = rounded(float(self.softcap) * xp.tanh(scores / float(self.softcap)))
        for term in self.terms():
            scores = rounded(scores + _cast(term, scores.dtype))
        return xp.where(self.seen(), scores, _zeros(scores, (1,)) - np.inf)

    @np.errstate(all="ignore")
    def attend(self, rounded: Callable[[Any], Any] = _as_it_is) -> tuple[Any, Any]:
        """(out [..., queries, head_dim_v], lse [..., queries])."""
        weights, lse = softmax(self.scores(rounded), self.sinks)
        return rounded(_mix(rounded(weights), self.v, self.seen)), lse

    @np.errstate(all="ignore")
    def magnitude(self) -> float:
        """What the rounding errors of scores are relative to, in the row where that is most: the largest scale * sum
        |q_d k_d| of a key that is seen, as far as softcap lets its error through, and the mean, by weight, of what
        softcap, ALiBi, bias and sink round."""
        xp, none, keys = _package(self.q), _zeros(self.q, (1,)), self.k.swapaxes(-2, -1)
        products, seen = float(self.scale) * (abs(self.q) @ abs(keys)), self.seen()
        if 0 in products.shape[:-1] or (products.shape[-1] == 0 and self.sinks is None):
            return 0.0
        later, terms = none, self.terms()
        if self.softcap or terms or self.sinks is not None:
            scores, steps = float(self.scale) * (self.q @ keys), none
            if self.softcap:
                tanh = xp.tanh(scores / float(self.softcap))
                products, scores = products * (1 - tanh * tanh), float(self.softcap) * tanh
                steps = steps + 3 * abs(scores)
            if self.slopes is not None:
                steps = steps + abs(terms[0])
            for term in terms:
                scores = scores + term
                steps = steps + abs(scores)
            weights, _ = softmax(xp.where(seen, scores, none - np.inf), self.sinks)
            # A bias of -inf leaves no weight, and nothing is rounded there.
            later = xp.where(weights > 0, weights * steps, none).sum(-1)
            if self.sinks is not None:
                sinks = 2 * abs(_cast(self.sinks, scores.dtype)) + _zeros(scores, (*scores.shape[:-1], 1))
                later = later + xp.where(xp.isfinite(sinks), sinks, none)[..., 0] * (1 - weights.sum(-1))
        most = xp.amax(xp.where(seen, products, none), -1) if products.shape[-1] else none
        return float((most + later).max())


def floor(dtype: str, out: float, v: float, magnitude: float) -> float:
    """What an output may be off by beside twice the error of naive(): its own rounding, and fp32's of a partial sum and
    of scores. `out`, `v`: the largest absolute values; `magnitude` as Problem.magnitude() has it."""
    return ROUNDOFF[dtype] * out + ROUNDOFF["fp32"] * (1 + 2 * magnitude) * v


@dataclass(frozen=True)
class Group:
    """Neighbouring sequences of as many queries and keys each: their problem [batch, heads, ...], with k and v as many
    heads as q, and where results have them."""

    problem: Problem
    place: Callable[
        [Any], Any
    ]  # of [..., heads, tokens] or [..., heads, tokens, head_dim]: [batch, heads, tokens, ...]
    heads_first: bool

    def out(self, out: Any) -> Any:
        """A view of a call's out: [batch, heads, queries, head_dim_v]."""
        return self.place(out if self.heads_first else out.swapaxes(-3, -2))

    def lse(self, lse: Any) -> Any:
        """A view of a call's lse: [batch, heads, queries]."""
        return self.place(lse)


def _starts(cu_seqlens: Any) -> list[int]:
    return [int(each) for each in (cu_seqlens.tolist() if hasattr(cu_seqlens, "tolist") else cu_seqlens)]


def _is_even(starts: list[int], total: int) -> bool:
    """Whether sequences of one length fill all rows."""
    count = len(starts) - 1
    return count > 0 and starts == [total // count * b for b in range(count + 1)] and starts[-1] == total


Place = Callable[[Any], Any]


def _split(q: Any, k: Any, cu_q: Offsets, cu_k: Offsets) -> Iterator[tuple[slice, Place, Place]]:
    """Neighbouring sequences of one length: which, and where tensors beginning [batch,] heads, tokens have them, as
    [batch, heads, tokens, ...], of queries and of keys."""
    if cu_q is None or cu_k is None:
        yield slice(0, q.shape[0]), _as_it_is, _as_it_is
        return
    both = _starts(cu_q), _starts(cu_k)
    count = len(both[0]) - 1
    if all(_is_even(starts, x.shape[1]) for starts, x in zip(both, (q, k))):

        def fold(x: Any) -> Any:
            return x.reshape(x.shape[0], count, x.shape[1] // count, *x.shape[2:]).swapaxes(0, 1)

        yield slice(0, count), fold, fold
        return
    for b in range(count):
        of_q, of_k = (lambda x, a=each[b], z=each[b + 1]: x[None, :, a:z] for each in both)
        yield slice(b, b + 1), of_q, of_k


def _no_text(name: str, value: Any) -> Any:
    """A number as it is; float() would read a text, too."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: {value!r}; accepted: a number")
    return value


def groups(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    softmax_scale: float | None = None,
    cu_seqlens_q: Offsets = None,
    cu_seqlens_k: Offsets = None,
    layout: str = "bshd",
    window: Window = None,
    softcap: float | None = None,
    alibi_slopes: Any = None,
    sinks: Any = None,
    bias: Any = None,
    seqused_k: Any = None,
) -> Iterator[Group]:
    """The sequences of a call of flashfit.attention, those of one length together where all are."""
    if layout not in ("bshd", "bhsd"):
        raise ValueError(f'layout: {layout!r}; accepted: "bshd", "bhsd"')
    heads_first = layout == "bhsd"
    q, k, v = (_tensor(x) for x in (q, k, v))
    q, k, v = (x if heads_first else x.swapaxes(-3, -2) for x in (q, k, v))
    share = q.shape[-3] // max(k.shape[-3], 1)
    slopes, sinks, bias, seqused_k = (
        None if x is None else _beside(q, x) for x in (alibi_slopes, sinks, bias, seqused_k)
    )
    slopes = None if slopes is None else slopes[(None,) * (2 - slopes.ndim)][..., None, None]
    bias = None if bias is None else bias[(None,) * (4 - bias.ndim)]
    for which, of_q, of_k in _split(q, k, cu_seqlens_q, cu_seqlens_k):
        its_q, its_k, its_v = of_q(q), of_k(k), of_k(v)
        if share > 1:
            key_heads = [h // share for h in range(q.shape[-3])]
            its_k, its_v = its_k[:, key_heads], its_v[:, key_heads]
        queries, keys = its_q.shape[2], its_k.shape[2]
        used: Any = keys if seqused_k is None else _cast(seqused_k, _package(q).int64)[which, None, None, None]
        problem = Problem(
            its_q,
            its_k,
            its_v,
            at=_counted(q, queries)[None, None, :, None] + used - queries,
            used=used,
            scale=q.shape[-1] ** -0.5 if softmax_scale is None else _no_text("softmax_scale", softmax_scale),
            causal=causal,
            window=window,
            softcap=float(softcap or 0),
            slopes=_some(slopes, 0, which),
            sinks=None if sinks is None else sinks[None, :, None, None],
            bias=_some(bias, 0, which),
        )
        yield Group(problem, of_q, heads_first)


def _pieces(count: int, most: int) -> Iterator[slice]:
    yield from (slice(start, min(start + most, count)) for start in range(0, count, most))


@dataclass(frozen=True)
class _Part:
    """Some sequences and queries of a group, of few enough scores to be computed at once."""

    group: Group
    sequences: slice
    queries: slice

    def problem(self, dtype: Any) -> Problem:
        return self.group.problem.part(self.sequences, self.queries).of(dtype)


def _parts(q: Any, k: Any, v: Any, options: dict[str, Any]) -> Iterator[_Part]:
    for group in groups(q, k, v, **options):
        p = group.problem
        sequences, heads, queries = p.q.shape[:3]
        of_row = max(1, heads * p.k.shape[2])
        for some in _pieces(sequences, max(1, MOST_SCORES // max(1, of_row * queries))):
            for those in _pieces(queries, max(1, MOST_SCORES // of_row)):
                yield _Part(group, some, those)


def _forward(
    q: Any, k: Any, v: Any, work: str, rounded: Callable[[Any], Any], options: dict[str, Any]
) -> tuple[Any, Any]:
    """Part by part, in fp64 or fp32."""
    q, k, v = (_tensor(x) for x in (q, k, v))
    dtype = getattr(_package(q), work)
    like = _cast(q[:0], dtype)
    out = _zeros(like, (*q.shape[:-1], v.shape[-1]))
    rows = out if options.get("layout") == "bhsd" else out.swapaxes(-3, -2)
    lse = _zeros(like, rows.shape[:-1])
    for part in _parts(q, k, v, options):
        some, those = part.sequences, part.queries
        found = part.problem(dtype).attend(rounded)
        part.group.out(out)[some, :, those], part.group.lse(lse)[some, :, those] = found
    return out, lse


def attention(q: Any, k: Any, v: Any, **options: Any) -> tuple[Any, Any]:
    """(out, lse) in fp64, with the shapes of flashfit.attention. A query that sees no key gives 0 and -inf.

    q, k, v: NumPy arrays, or torch tensors on any device, where the result is then.
    options: causal, softmax_scale, cu_seqlens_q, cu_seqlens_k, layout, window, softcap, alibi_slopes, sinks, bias and
        seqused_k, as flashfit.attention has them.
    """
    return _forward(q, k, v, "float64", _as_it_is, options)


def rounding(dtype: Any) -> Callable[[Any], Any]:
    """fp32 rounded to a dtype of its package, and back."""

    def rounded(x: Any) -> Any:
        return _cast(_cast(x, dtype), x.dtype)

    return rounded


def naive(q: Any, k: Any, v: Any, **options: Any) -> tuple[Any, Any]:
    """(out, lse) as unfused layers compute them: every step rounded to q's dtype, sums in fp32; lse is fp32. Arguments
    as attention() has them."""
    dtype = _tensor(q).dtype
    out, lse = _forward(q, k, v, "float32", rounding(dtype), options)
    return _cast(out, dtype), lse


def magnitude(q: Any, k: Any, v: Any, **options: Any) -> float:
    """Problem.magnitude() of a call, in fp32. Arguments as attention() has them."""
    dtype = _package(_tensor(q)).float32
    return max((part.problem(dtype).magnitude() for part in _parts(q, k, v, options)), default=0.0)


def _softmax(x: Array) -> Array:
    """Of each row; NaN where a row holds NaN or inf, or -inf alone: there is no mask that would mean 0 by it."""
    with np.errstate(invalid="ignore"):
        p = np.exp(x - x.max(axis=1, keepdims=True))
        found: Array = p / p.sum(axis=1, keepdims=True)
    return found


def _score(x: Array, router: str) -> Array:
    """What a router that sees one expert alone makes of its logit."""
    with np.errstate(over="ignore"):
        if router == "sigmoid":
            found: Array = np.where(x < 0, np.exp(np.minimum(x, 0)), x.dtype.type(1)) / (1 + np.exp(-np.abs(x)))
            return found
        root: Array = np.sqrt(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))
        return root


def _order(keys: Array, last: Array) -> Array:
    """Columns of each row: those that are not `last` first; NaN first, then the larger, then the lower column."""
    is_nan = np.isnan(keys)
    columns = np.broadcast_to(np.arange(keys.shape[1]), keys.shape)
    return np.lexsort((columns, -np.where(is_nan, 0, keys), ~is_nan, last), axis=1)  # by the last key first


def _not_kept(keys: Array, groups: tuple[int, int] | None) -> Array:
    """True for experts of groups that a token does not keep."""
    tokens, experts = keys.shape
    if groups is None:
        return np.zeros(keys.shape, bool)
    count, kept = groups
    parts = keys.reshape(tokens * count, experts // count)
    best = np.take_along_axis(parts, _order(parts, np.zeros(parts.shape, bool))[:, :2], axis=1)
    sums = best.sum(axis=1).reshape(tokens, count)
    first = _order(sums, np.zeros(sums.shape, bool))[:, :kept]
    lost = np.ones(sums.shape, bool)
    np.put_along_axis(lost, first, False, axis=1)
    return np.repeat(lost, experts // count, axis=1)


def route(
    logits: Array,
    top_k: int,
    *,
    router: str = "softmax",
    renormalize: bool = True,
    router_bias: Any = None,
    groups: tuple[int, int] | None = None,
    scale: float = 1.0,
    work: Any = np.float64,
) -> tuple[Array, Array]:
    """(weights, ids) [tokens, top_k] of flashfit.moe_route, weights in the precision `work`: np.float64 for what is
    right, np.float32 for the same computation as layers do it.

    Experts are sorted: NaN first, then the larger logit (or score and bias), then the lower id.
    """
    names = ("softmax", "topk_softmax", "sigmoid", "sqrt_softplus")
    if router not in names:
        raise ValueError(f"router: {router!r}; accepted: {', '.join(names)}")
    x, factor = np.asarray(logits).astype(work), work(_no_text("scale", scale))
    if router in names[2:]:
        scores = _score(x, router)
        keys = x if router_bias is None and groups is None else scores
        keys = keys if router_bias is None else scores + np.asarray(router_bias).astype(work)
        ids = _order(keys, _not_kept(keys, groups))[:, :top_k]
        weights = np.take_along_axis(scores, ids, axis=1)
        if renormalize:
            weights = weights / (weights.sum(axis=1, keepdims=True) + work(1e-20))
        return weights * factor, ids
    ids = _order(x, np.zeros(x.shape, bool))[:, :top_k]
    if router == "softmax":
        weights = np.take_along_axis(_softmax(x), ids, axis=1)
    else:
        weights = _softmax(np.take_along_axis(x, ids, axis=1))
    if renormalize:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return weights * factor, ids


def _erfc(x: Array) -> Array:
    return np.array([math.erfc(each) for each in x.ravel()], x.dtype).reshape(x.shape)


def _sigmoid(x: Array) -> Array:
    return _score(x, "sigmoid")


def _gate(g: Array, activation: str, alpha: float) -> Array:
    """What u is multiplied by."""
    if activation == "geglu_tanh":
        half: Array = (
            0.5 * g * (1 + np.tanh(np.sqrt(2 / np.pi).astype(g.dtype) * (g + g.dtype.type(0.044715) * g * g * g)))
        )
        return half
    # erfc keeps the digits that 1 + erf loses below 0.
    share = 0.5 * _erfc(g * g.dtype.type(-math.sqrt(0.5))) if activation == "geglu_erf" else _sigmoid(alpha * g)
    found: Array = g * share.astype(g.dtype)
    return found


#: alpha, limit and shift of fused_moe()'s activations by name.
_SWIGLUS = {"swiglu": (1.0, None, 0.0), "gpt_oss": (1.702, 7.0, 1.0)}


def _place_of(experts: Any) -> Callable[[int], int]:
    """Of an id: where its expert lies in w13 and w2, by fused_moe's `experts`. Ids of others give no place there."""
    if experts is None or isinstance(experts, tuple):
        low = experts[0] if experts else 0
        return lambda e: e - low
    places = np.asarray(experts).tolist()
    return lambda e: places[e] if 0 <= e < len(places) else -1


def fused_moe(
    x: Array,
    w13: Array,
    w2: Array,
    *,
    topk_weights: Array,
    topk_ids: Array,
    b13: Array | None = None,
    b2: Array | None = None,
    activation: Any = "swiglu",
    gate_up: str = "concatenated",
    transposed: bool = False,
    weight_on: str = "output",
    experts: Any = None,
    shared: tuple[Array, ...] | None = None,
    work: Any = np.float64,
    rounded: Callable[[Any], Any] = _as_it_is,
) -> Array:
    """flashfit.fused_moe, token by token, in the precision `work`; `rounded` is applied after every step, as the layers
    of a framework round to their dtype. ids of experts that are not in `experts`, or that are none, add 0."""
    x, w13, w2 = (np.asarray(each).astype(work) for each in (x, w13, w2))
    if transposed:
        w13, w2 = w13.swapaxes(1, 2), w2.swapaxes(1, 2)
    name = activation if isinstance(activation, str) else "swiglu"
    gated = name not in ("silu", "relu2")
    alpha, limit, shift = _SWIGLUS.get(name, (1.0, None, 0.0)) if isinstance(activation, str) else activation
    place = _place_of(experts)

    def mlp(row: Array, first: Array, second: Array, bias: Any, last: Any) -> Array:
        z = rounded(first @ row)
        z = z if bias is None else rounded(z + bias)
        if name == "silu":
            h = z * _sigmoid(z)
        elif name == "relu2":
            h = np.square(np.maximum(z, 0))
        else:
            g, u = (z[0::2], z[1::2]) if gate_up == "interleaved" else np.split(z, 2)
            if limit is not None:
                g, u = np.minimum(g, work(limit)), np.clip(u, work(-limit), work(limit))
            h = rounded(_gate(g, name, alpha)) * rounded(u + work(shift) if gated else u)
        y: Array = rounded(second @ rounded(h))
        return y if last is None else rounded(y + last)

    out = np.zeros(x.shape, work)
    for t, row in enumerate(x):
        for e, weight in zip(np.asarray(topk_ids)[t].tolist(), np.asarray(topk_weights)[t].astype(work)):
            at = place(e)
            if not 0 <= at < len(w13):
                continue
            own = tuple(None if b is None else np.asarray(b)[at].astype(work) for b in (b13, b2))
            on_input = weight_on == "input"
            y = mlp(rounded(row * weight) if on_input else row, w13[at], w2[at], *own)
            out[t] += y if on_input else y * weight
        if shared is not None:
            first, second, *gate = (np.asarray(each).astype(work) for each in shared)
            y = mlp(row, first.T if transposed else first, second.T if transposed else second, None, None)
            out[t] += y * _sigmoid(gate[0] @ row) if gate else y
    found: Array = rounded(out)
    return found
