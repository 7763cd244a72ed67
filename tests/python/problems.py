"""Generated calls of flashfit.attention: any valid shape, dtype, package and memory."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from tests.python.option_values import options

DTYPES: dict[str, Any] = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
INPUTS = ("q", "k", "v")
_SENTINEL = 0xA5  # a byte; four of them are no value that a test draws


@dataclass
class Memory:
    """Where a tensor lies: in which order its dimensions follow one another, with which gaps, in a larger array."""

    order: list[int]  # of all dimensions but the last, innermost first
    gaps: list[int]  # elements left out after each dimension
    still: list[bool]  # dimensions of stride 0
    odd: list[int]  # strides of dimensions of size 1, which mean nothing
    before: int  # elements

    def strides(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
        """Strides in elements, and how many elements that spans."""
        strides, reach = [1] * len(shape), max(shape[-1], 1) + self.gaps[-1]
        for d in self.order:
            strides[d] = 0 if self.still[d] else reach
            reach = reach if self.still[d] else reach * max(shape[d], 1) + self.gaps[d]
        for d, size in enumerate(shape):
            if size == 1:
                strides[d] = self.odd[d]
        return tuple(strides), self.before + reach


@dataclass
class Array:
    """A tensor inside a larger array that is full of sentinels."""

    view: Any  # NumPy's
    whole: Any  # bytes
    strides: tuple[int, ...]
    before: int

    def as_torch(self) -> Any:
        """The same memory as a torch tensor."""
        torch: Any = sys.modules["torch"]
        dtype = {2: torch.float16, 4: torch.float32}[self.view.dtype.itemsize]
        if self.view.dtype == ml_dtypes.bfloat16:
            dtype = torch.bfloat16
        flat = torch.from_numpy(self.whole).view(dtype)
        return flat.as_strided(self.view.shape, [max(s, 0) for s in self.strides], self.before)

    def is_untouched(self) -> bool:
        """Whether every byte is still a sentinel."""
        return bool((self.whole == _SENTINEL).all())

    def only_view_was_written(self) -> bool:
        """Whether every byte but the view's is still a sentinel."""
        copy = self.whole.copy()
        _view(copy, self.view, self.strides, self.before)[...] = np.frombuffer(
            bytes([_SENTINEL] * self.view.itemsize), self.view.dtype
        )[0]
        return bool((copy == _SENTINEL).all())


def _view(whole: Any, like: Any, strides: tuple[int, ...], before: int) -> Any:
    flat = whole.view(like.dtype)[before:]
    return np.lib.stride_tricks.as_strided(flat, like.shape, [s * like.itemsize for s in strides])


def array(shape: tuple[int, ...], dtype: Any, memory: Memory) -> Array:
    """A tensor whose elements are sentinels."""
    strides, elements = memory.strides(shape)
    whole = np.full(elements * np.dtype(dtype).itemsize, _SENTINEL, np.uint8)
    return Array(_view(whole, np.empty(shape, dtype), strides, memory.before), whole, strides, memory.before)


@st.composite
def memories(draw: st.DrawFn, ndim: int, *, written: bool) -> Memory:
    small = st.integers(0, 3)
    each: Any = {"min_size": ndim, "max_size": ndim}
    plain = draw(st.booleans())
    return Memory(
        order=list(reversed(range(ndim - 1))) if plain else draw(st.permutations(range(ndim - 1))),
        gaps=[0] * ndim if plain else draw(st.lists(small, **each)),
        still=[False] * ndim if plain or written else draw(st.lists(st.integers(0, 4).map(lambda n: n == 4), **each)),
        odd=[1] * ndim if plain else draw(st.lists(st.sampled_from([0, 1, 3, 1 << 20, -5]), **each)),
        before=0 if plain else draw(small),
    )


@dataclass
class Problem:
    """A valid call. `arguments` has what the package takes; `arrays` the memory behind q, k, v and out."""

    package: str
    arrays: dict[str, Array]
    arguments: dict[str, Any]
    offsets: dict[str, list[int]]
    options: dict[str, Any] = field(default_factory=dict)  # as the reference takes them

    def reference(self) -> tuple[Any, Any, Any, dict[str, Any]]:
        """What compare.expect_right takes."""
        options = {name: self.arguments[name] for name in ("causal", "softmax_scale", "layout")}
        q, k, v = (self.arrays[name].view for name in INPUTS)
        return q, k, v, {**options, **self.offsets, **self.options}


def _offsets(draw: st.DrawFn, package: str, lengths: list[int]) -> tuple[list[int], Any]:
    """cu_seqlens, and in a type that is taken."""
    values = [0, *np.cumsum(lengths, dtype=int).tolist()]
    kind = draw(st.sampled_from(["list", "tuple", "int32", "int64", "strided", package]))
    if kind == "torch":
        torch: Any = sys.modules["torch"]
        return values, torch.tensor(values, dtype=torch.int32)
    if kind in ("list", "tuple"):
        return values, values if kind == "list" else tuple(values)
    if kind == "strided":
        return values, np.repeat(np.array(values, np.int32), 2)[::2]
    return values, np.array(values, "int32" if kind == "numpy" else kind)


#: Mostly few; also none, and one more or less than the blocks of 64 that the CPU backend works in.
ROWS = st.one_of(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0, 1, 63, 64, 65, 130]))
HEAD_DIM = st.one_of(st.integers(1, 40), st.sampled_from([1, 64, 128]))


@st.composite
def problems(draw: st.DrawFn, packages: list[str], *, ragged: bool | None = None, empty: bool = True) -> Problem:
    """empty=False: no dimension is 0 and no option given, so that every defect is one."""
    package = draw(st.sampled_from(packages))
    least = 0 if empty else 2
    dtype = np.dtype(DTYPES[draw(st.sampled_from(sorted(DTYPES)))])
    layout = draw(st.sampled_from(["bshd", "bhsd"]))
    kv = draw(st.integers(min(least, 1), 3))
    heads, dim = kv * draw(st.integers(1, 3)), draw(HEAD_DIM if empty else st.integers(2, 24))
    is_ragged = draw(st.booleans()) if ragged is None else ragged
    rows = ROWS if empty else st.integers(2, 9)
    batch = draw(st.integers(least, 3))
    arguments: dict[str, Any] = {
        "causal": draw(st.booleans()),
        "softmax_scale": draw(st.sampled_from([None, 0.05, 1, np.float32(0.5)])),
        "layout": layout,
        "return_lse": draw(st.booleans()),
    }
    offsets: dict[str, list[int]] = {}
    if is_ragged:
        totals = []
        for name in ("cu_seqlens_q", "cu_seqlens_k"):
            offsets[name], arguments[name] = _offsets(
                draw, package, draw(st.lists(rows, min_size=batch, max_size=batch))
            )
            totals.append(offsets[name][-1])
        per_sequence = [np.diff(offsets[name]).tolist() for name in ("cu_seqlens_q", "cu_seqlens_k")]
    else:
        totals = [draw(rows), draw(rows)]
        per_sequence = [[total] * batch for total in totals]
    dim_v = draw(HEAD_DIM) if empty and draw(st.integers(0, 3)) == 0 else dim
    known: dict[str, Any] = {}
    if empty:
        of = options(package, heads, list(zip(*per_sequence)), dtype, ragged=is_ragged)
        more, known = draw(of)
        arguments.update(more)

    def shape(total: int, of_heads: int, of_dim: int) -> tuple[int, ...]:
        middle = (total, of_heads) if layout == "bshd" else (of_heads, total)
        return (*middle, of_dim) if is_ragged else (batch, *middle, of_dim)

    shapes = {"q": shape(totals[0], heads, dim), "k": shape(totals[1], kv, dim), "v": shape(totals[1], kv, dim_v)}
    if draw(st.booleans()) or not empty:
        shapes["out"] = shape(totals[0], heads, dim_v)
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    size = draw(st.sampled_from([1.0, 0.1, 4.0]))
    arrays = {}
    for name, its_shape in shapes.items():
        memory = draw(memories(len(its_shape), written=name == "out"))
        arrays[name] = array(its_shape, dtype, memory)
        if name != "out":
            arrays[name].view[...] = (size * random.standard_normal(its_shape)).astype(dtype)
        arguments[name] = arrays[name].as_torch() if package == "torch" else arrays[name].view
    return Problem(package, arrays, arguments, offsets, known)
