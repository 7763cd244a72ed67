"""One defect for a valid call of flashfit.attention: each function bends the call and names what may be blamed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from tests.python.problems import INPUTS, Problem

Names = tuple[str, ...]
Maker = Callable[[st.DrawFn, Problem, dict[str, Any]], Names]

TENSORS = (*INPUTS, "out")
OFFSETS = ("cu_seqlens_q", "cu_seqlens_k")


def _torch() -> Any:
    return sys.modules["torch"]


def _fresh(problem: Problem, shape: tuple[int, ...]) -> Any:
    """A new array of the problem's package and dtype."""
    made = _torch() if problem.package == "torch" else np
    return made.ones(shape, dtype=problem.arguments["q"].dtype)


def _axis(problem: Problem, what: str) -> int:
    """Which dimension of q is the batch, the tokens or the heads."""
    heads_first = problem.arguments["layout"] == "bhsd"
    return {"batch": -4, "tokens": -2 if heads_first else -3, "heads": -3 if heads_first else -2, "dim": -1}[what]


def a_size(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    name = draw(st.sampled_from(TENSORS))
    what = draw(st.sampled_from(["batch", "tokens", "heads", "dim"]))
    ragged = bool(problem.offsets)
    assume(not (what == "batch" and ragged))
    shape = list(call[name].shape)
    shape[_axis(problem, what)] += draw(st.sampled_from([1, 1, 2, 1000]))
    call[name] = _fresh(problem, tuple(shape))
    if what == "heads" and name == "q":
        assume(shape[_axis(problem, what)] % call["k"].shape[_axis(problem, what)])
    # One that defines a size is right by itself: those that follow it are blamed.
    followers = {"q": ("q", "k", "out", "cu_seqlens_q"), "k": ("k", "v", "cu_seqlens_k"), "v": ("v", "out")}
    return followers.get(name, (name,))


def no_head_dim(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    for name in TENSORS:
        call[name] = call[name][..., :0]
    return ("q",)


def dimensions(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    name = draw(st.sampled_from(TENSORS))
    shape = tuple(call[name].shape)
    few = draw(st.integers(0, len(shape) - 1))
    many = (1,) * draw(st.integers(1, 30)) + shape
    call[name] = _fresh(problem, draw(st.sampled_from([shape[:few], many])))
    return (name,)


NUMPY_DTYPES = [
    *("float64", "longdouble", "int8", "int16", "int32", "int64", "uint16", "bool", "complex64", "clongdouble"),
    *(">f2", ">f4", "object", "U3", "S2", "V2", "M8[s]", "m8[s]", "f2,f2"),
    *(np.dtype(getattr(ml_dtypes, name)) for name in ("float8_e4m3fn", "float8_e5m2", "int4")),
]
TORCH_DTYPES = ["float64", "int16", "int64", "bool", "uint8", "complex64", "float8_e4m3fn", "uint16"]


def a_dtype(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    name = draw(st.sampled_from(TENSORS))
    x = call[name]
    if problem.package == "numpy":
        call[name] = np.zeros(x.shape, draw(st.sampled_from(NUMPY_DTYPES)))
    else:
        call[name] = _torch().empty(x.shape, dtype=getattr(_torch(), draw(st.sampled_from(TORCH_DTYPES))))
    return (name,)


def another_good_dtype(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    name = draw(st.sampled_from(TENSORS))
    x = call[name]
    call[name] = x.astype(np.float32) if problem.package == "numpy" else x.float()
    assume(call[name].dtype != x.dtype)
    return ("k",) if name == "q" else (name,)


def a_strided_last_dimension(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    name = draw(st.sampled_from(TENSORS))
    shape = tuple(call[name].shape)
    call[name] = _fresh(problem, (*shape[:-1], 2 * shape[-1]))[..., ::2]
    return (name,)


def backwards(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    assume(problem.package == "numpy")
    name = draw(st.sampled_from(TENSORS))
    axis = draw(st.integers(0, call[name].ndim - 1))
    assume(call[name].shape[axis] > 1)
    call[name] = np.flip(np.array(call[name]), axis)
    return (name,)


def between_elements(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    """An address, or strides, that are no multiples of an element."""
    assume(problem.package == "numpy")
    name = draw(st.sampled_from(TENSORS))
    x = call[name]
    if draw(st.booleans()):
        call[name] = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    else:
        call[name] = np.zeros(x.shape, [("x", x.dtype), ("y", np.int8)])["x"]
    return (name,)


def out_on_an_input(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    name = draw(st.sampled_from(INPUTS))
    shape = tuple(call["q"].shape)
    its = tuple(call[name].shape)
    room = _fresh(problem, (max(np.prod(shape), np.prod(its)).item() + 1,))
    at = draw(st.integers(0, 1))
    call[name] = room[: np.prod(its).item()].reshape(its)
    call["out"] = room[at : at + np.prod(shape).item()].reshape(shape)
    return ("out",)


def out_on_itself(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    shape = tuple(call["q"].shape)
    axis = draw(st.integers(0, len(shape) - 2))
    assume(shape[axis] > 1)
    one = _fresh(problem, tuple(1 if i == axis else n for i, n in enumerate(shape)))
    if problem.package == "numpy":
        call["out"] = np.broadcast_to(one, shape)
        call["out"].flags.writeable = True
    else:
        call["out"] = one.expand(shape)
    return ("out",)


def read_only_out(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    assume(problem.package == "numpy")
    call["out"] = call["out"].view()
    call["out"].flags.writeable = False
    return ("out",)


def offsets_of_a_dense_call(draw: st.DrawFn, problem: Problem, call: dict[str, Any]) -> Names:
    assume(not problem.offsets)
    tokens = _axis(problem, "tokens")
    for name, of in zip(OFFSETS, ("q", "k")):
        call[name] = [0, call[of].shape[tokens]]
    if draw(st.booleans()):
        del call[draw(st.sampled_from(OFFSETS))]
        return OFFSETS
    return ("q", *OFFSETS)


#: By package: what can be wrong with its arrays.
_BOTH = (
    a_size,
    no_head_dim,
    dimensions,
    a_dtype,
    another_good_dtype,
    a_strided_last_dimension,
    out_on_an_input,
    out_on_itself,
    offsets_of_a_dense_call,
)
DEFECTS: dict[str, tuple[Maker, ...]] = {
    "numpy": (*_BOTH, backwards, between_elements, read_only_out),
    "torch": _BOTH,
}
