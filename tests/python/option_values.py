"""Generated options of flashfit.attention beyond a plain call, in every form that is taken."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from hypothesis import strategies as st

_LIMITS = st.one_of(st.none(), st.integers(-1, 12), st.sampled_from([63, 64, 65, 2**62]))


def _in_package(package: str, x: Any) -> Any:
    """A contiguous array as the package's; torch's bf16 comes by its bits."""
    if package == "numpy":
        return x
    torch: Any = sys.modules["torch"]
    if x.dtype.name == "bfloat16":
        return torch.from_numpy(np.ascontiguousarray(x).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(x))


def _numbers(draw: st.DrawFn, package: str, x: Any) -> Any:
    """fp32 numbers: as the package's array, as NumPy's of another type, or as lists."""
    # Lists have no shape (0, heads).
    form = draw(st.sampled_from(["package", "numpy", "list"] if x.size else ["package", "numpy"]))
    if form == "list":
        return x.tolist()
    return x.astype(np.float64) if form == "numpy" else _in_package(package, x)


def _bias(draw: st.DrawFn, random: Any, whole: tuple[int, ...], dtype: Any) -> Any:
    """As NumPy's: of q's dtype, fp32 or bool; any of its sizes 1, leading ones left out; some keys hidden."""
    shape = [size if draw(st.booleans()) else 1 for size in whole]
    kind = np.dtype(draw(st.sampled_from([dtype, np.float32, np.bool_])))
    values = random.standard_normal(shape)
    hidden = random.random(shape) < draw(st.sampled_from([0, 0.2, 0.9]))
    x = ~hidden if kind == np.bool_ else np.where(hidden, -np.inf, values).astype(kind)
    while x.ndim > 1 and x.shape[0] == 1 and draw(st.booleans()):
        x = x[0]
    return x


@st.composite
def options(
    draw: st.DrawFn, package: str, heads: int, lengths: list[tuple[int, int]], dtype: Any, *, ragged: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(arguments, what the reference takes) for sequences of these numbers of queries and keys."""
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    arguments: dict[str, Any] = {}
    known: dict[str, Any] = {}

    def asks() -> bool:
        return draw(st.integers(0, 3)) == 0

    if asks():
        window = (draw(_LIMITS), draw(_LIMITS))
        arguments["window"] = list(window) if draw(st.booleans()) else window
        known["window"] = window
    if asks():
        arguments["softcap"] = known["softcap"] = draw(st.sampled_from([0, 0.5, np.float32(2), 30]))
    if asks():
        shape = (heads,) if draw(st.booleans()) else (len(lengths), heads)
        known["alibi_slopes"] = random.random(shape).astype(np.float32)
        arguments["alibi_slopes"] = _numbers(draw, package, known["alibi_slopes"])
    if asks():
        known["sinks"] = random.standard_normal(heads).astype(np.float32)
        arguments["sinks"] = _numbers(draw, package, known["sinks"])
    if asks() and not ragged and lengths:
        known["bias"] = _bias(draw, random, (len(lengths), heads, *lengths[0]), dtype)
        arguments["bias"] = _in_package(package, known["bias"])
    if asks():
        used = [draw(st.integers(0, keys)) for _, keys in lengths]
        known["seqused_k"] = used
        arguments["seqused_k"] = used if draw(st.booleans()) else _in_package(package, np.array(used, np.int32))
    if asks():
        arguments["batch_invariant"] = True
    return arguments, known
