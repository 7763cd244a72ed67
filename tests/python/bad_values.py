"""Values that are wrong in any call of flashfit.attention, by argument."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def _torch() -> Any:
    return sys.modules["torch"]


def _freed(x: Any) -> Any:
    x = x.clone()
    x.untyped_storage().resize_(0)
    return x


class Odd:
    """An object with what an array has, or something else of that name."""

    def __init__(self, **said: Any) -> None:
        self.__dict__.update(said)


#: What is no array, and looks more or less like one.
STRANGERS: list[Any] = [
    *(
        None,
        True,
        3,
        2.5,
        1j,
        "q",
        b"q",
        [],
        [1.0],
        (),
        {},
        {1},
        object(),
        np.ndarray,
        np,
        len,
        np.float16(1),
        range(3),
    ),
    *(memoryview(b"12"), np.ma.ones((2, 2, 2, 2), np.float16), Odd(), Odd(shape=(2, 2, 2, 2))),
    *(Odd(__array_interface__={}), Odd(__cuda_array_interface__=None), Odd(__cuda_array_interface__={"version": 3})),
    *(Odd(__dlpack__=3), Odd(__dlpack__=lambda: None), Odd(__dlpack__=len, __dlpack_device__=lambda: None)),
    *(Odd(__dlpack__=lambda **_: 3, __dlpack_device__=lambda: (1, 0)), Odd(requires_grad="x", dtype=3, ndim="x")),
]


#: From offsets that are right.
BAD_OFFSETS: list[tuple[str, Callable[[list[int]], Any]]] = [
    ("start", lambda cu: [1, *cu[1:]]),
    ("negative", lambda cu: [-1, *cu[1:]]),
    ("end", lambda cu: [*cu[:-1], cu[-1] + 1]),
    ("short", lambda cu: [*cu[:-1], max(cu[-1] - 1, 0)] if cu[-1] else [0] * (len(cu) - 1) + [5]),
    ("fall", lambda cu: [0, cu[-1] + 1, *cu[2:]]),
    ("length", lambda cu: [*cu, cu[-1]]),
    ("huge", lambda cu: [*cu[:-1], 2**70]),
    ("long", lambda cu: [*cu[:-1], 2**32 + cu[-1]]),
    ("empty", lambda cu: []),
    ("floats", lambda cu: [float(c) for c in cu]),
    ("strings", lambda cu: [str(c) for c in cu]),
    ("nested", lambda cu: [cu, cu]),
    ("holes", lambda cu: [None] * len(cu)),
    ("array of floats", lambda cu: np.array(cu, np.float32)),
    ("2-D", lambda cu: np.array([cu, cu], np.int32)),
    ("0-D", lambda cu: np.array(3, np.int32)),
    ("objects", lambda cu: np.array([None] * len(cu), object)),
    ("masked", lambda cu: np.ma.array([*cu[:-1], cu[-1] + 1], mask=False)),
    ("integer", lambda cu: 7),
    ("string", lambda cu: "0123"),
    ("bytes", lambda cu: bytes(len(cu))),
    ("dict", lambda cu: dict.fromkeys(cu)),
    ("set", lambda cu: set(cu)),
    ("generator", lambda cu: iter(cu)),
    ("type", lambda cu: list),
    ("None", lambda cu: None),
]
BAD_TORCH_OFFSETS: list[tuple[str, Callable[[Any], Any]]] = [
    ("int64", lambda cu: cu.long()),
    ("float", lambda cu: cu.float()),
    ("bool", lambda cu: cu.bool()),
    ("2-D", lambda cu: cu[None]),
    ("0-D", lambda cu: cu[0]),
    ("strided", lambda cu: cu.repeat_interleave(2)[::2]),
    ("meta", lambda cu: cu.to("meta")),
    ("sparse", lambda cu: cu.to_sparse()),
    ("empty", lambda cu: cu[:0]),
    ("start", lambda cu: cu + 1),
    ("end", lambda cu: cu * 2 + (cu > 0)),
]


#: For each option that is not an array.
BAD_OPTIONS: dict[str, list[Any]] = {
    "softmax_scale": [
        *(0, 0.0, -1, float("nan"), float("inf"), -float("inf"), 1e39, 1e-60, 10**400, -(10**400), True < 0),
        *("big", 1j, [1.0], {}, object(), np.ones(2), np.ones((0,)), np.array([-1.0]), len),
        *("1", b"1", bytearray(b"1"), memoryview(b"1"), np.str_("1"), np.bytes_(b"1"), np.array("1")),  # float() reads
    ],
    "causal": [None, np.ones((3, 3)), "no\nno", 0, 1, "no", [], 1.0, np.ones(2), object()],
    "layout": [None, "sbhd", "", "BSHD", b"bshd", 3, [], ["bshd"], {}, np.array(["bshd", "x"])],
    "return_lse": [np.ones(2), "yes", None, 2],
    "stream": [0, 1, -1, 2**70, True, "5", object(), Odd(cuda_stream="x"), Odd(__cuda_stream__=3), Odd(ptr=3)],
    "variant": ["", "x", "fwd\n", b"x", 3, [], object()],
}


#: From a tensor that is right: its memory is not its value, or not all of it.
TORCH_ONLY: list[tuple[str, Callable[[Any], Any]]] = [
    ("grad", lambda x: x.clone().requires_grad_()),
    ("meta", lambda x: x.to("meta")),
    ("sparse", lambda x: x.float().to_sparse()),
    ("negated", lambda x: _torch().complex(x.float(), x.float()).conj().imag),
    ("nested", lambda x: _torch().nested.nested_tensor([x[0]])),
    ("quantised", lambda x: _torch().quantize_per_tensor(x.float(), 1.0, 0, _torch().qint8)),
    ("freed", _freed),
]
