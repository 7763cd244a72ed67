"""flashfit.attention on objects with __cuda_array_interface__: how they are read, and what is refused. Nothing is
launched here: what would go to the C API is looked at instead."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import flashfit
import numpy as np
import pytest
from flashfit import _attention

Q_SHAPE, K_SHAPE = (2, 3, 4, 8), (2, 5, 2, 8)


def array(shape: Any, typestr: str = "<f2", data: Any = (0x7000, False), device: Any = None, **interface: Any) -> Any:
    """An object with the interface; its memory does not exist."""
    whole = {"shape": shape, "typestr": typestr, "data": data, "version": 3, **interface}
    found = SimpleNamespace(__cuda_array_interface__={key: x for key, x in whole.items() if x != "absent"})
    if device is not None:
        found.device = device
    return found


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, int]]:
    """(memories, stream) of every call that would have gone to the C API."""
    seen: list[tuple[Any, int]] = []

    def record(*arguments: Any) -> int:
        *memories, _, _, stream, _, _, _ = arguments
        seen.append((tuple(memories), stream))
        return 0

    monkeypatch.setattr(_attention, "binding", lambda: SimpleNamespace(attend=record))
    return seen


def call(**bent: Any) -> Any:
    given = {"q": array(Q_SHAPE), "k": array(K_SHAPE), "v": array(K_SHAPE), "out": array(Q_SHAPE)}
    return flashfit.attention(**{**given, **bent})


def test_memory_is_read_without_being_touched(calls: list[Any]) -> None:
    out = array(Q_SHAPE, data=(0x9000, False))
    assert call(out=out) is out
    memories, stream = calls[0]
    # data, CUDA, device, float, 16 bits, shape, strides in elements
    assert memories[0] == (0x7000, 2, 0, 2, 16, Q_SHAPE, (96, 32, 8, 1))
    assert memories[3].data == 0x9000
    assert memories[4:] == (None, None, None)
    assert stream == 0


def test_strides_are_bytes(calls: list[Any]) -> None:
    call(q=array(Q_SHAPE, strides=(4000, 16, 160, 2)), layout="bshd")
    assert calls[0][0][0].strides == (2000, 8, 80, 1)


@pytest.mark.parametrize(
    ("device", "index"), [(None, 0), (SimpleNamespace(id=3), 3), (2, 2), ("cuda:1", 0), (SimpleNamespace(id="1"), 0)]
)
def test_devices(calls: list[Any], device: Any, index: int) -> None:
    call(q=array(Q_SHAPE, device=device))
    assert calls[0][0][0].device_id == index


@pytest.mark.parametrize(("stream", "raw"), [("absent", 0), (None, 0), (1, 1), (2, 2), (0x5000, 0x5000)])
def test_the_stream_of_the_interface(calls: list[Any], stream: Any, raw: int) -> None:
    call(q=array(Q_SHAPE, stream=stream), out=array(Q_SHAPE, stream=stream))
    assert calls[0][1] == raw


def test_a_stream_that_is_given_wins(calls: list[Any]) -> None:
    call(q=array(Q_SHAPE, stream=7), k=array(K_SHAPE, stream=8), stream=9)
    assert calls[0][1] == 9
    call(stream=SimpleNamespace(__cuda_stream__=lambda: (0, 11)))
    assert calls[1][1] == 11


def test_version_2_has_no_stream(calls: list[Any]) -> None:
    call(q=array(Q_SHAPE, version=2, stream="absent", strides="absent"))
    assert calls[0][1] == 0


def test_cu_seqlens(calls: list[Any]) -> None:
    offsets = array((3,), "<i4")
    ragged = {"q": array((6, 4, 8)), "k": array((7, 2, 8)), "v": array((7, 2, 8)), "out": array((6, 4, 8))}
    call(**ragged, cu_seqlens_q=offsets, cu_seqlens_k=offsets)
    memories, _ = calls[0]
    assert memories[5] == (0x7000, 2, 0, 0, 32, (3,), (1,))


MINE = "an object with __cuda_array_interface__"
NO_MEMORY = f"accepted: {MINE}, as q, since flashfit allocates no memory for it"
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"out": None}, ValueError, f"out: None; {NO_MEMORY}"),
    (
        {"return_lse": True},
        ValueError,
        f"return_lse: True; accepted: False where q is {MINE}, since flashfit allocates",
    ),
    ({"k": np.ones(K_SHAPE, np.float16)}, TypeError, f"k: numpy.ndarray; accepted: {MINE}, as q"),
    ({"q": np.ones(Q_SHAPE, np.float16)}, TypeError, "k: types.SimpleNamespace; accepted: a NumPy array, as q"),
    ({"out": array(Q_SHAPE, data=(0x7000, True))}, ValueError, "out: read-only; accepted: a writable array"),
    ({"q": array(Q_SHAPE, version=1)}, ValueError, "q: __cuda_array_interface__ is of version 1; accepted: 2, 3"),
    ({"q": array(Q_SHAPE, version=4)}, ValueError, "q: __cuda_array_interface__ is of version 4; accepted: 2, 3"),
    (
        {"q": SimpleNamespace(__cuda_array_interface__=3)},
        TypeError,
        "q: __cuda_array_interface__ is a int; accepted: a",
    ),
    ({"q": array(Q_SHAPE, data="absent")}, TypeError, "q: __cuda_array_interface__ is malformed (KeyError: 'data')"),
    ({"q": array(3)}, TypeError, "q: __cuda_array_interface__ is malformed (TypeError: "),
    ({"q": array(Q_SHAPE, "|V2")}, ValueError, "q: typestr is '|V2'; accepted: '<f2' (this interface has no bf16)"),
    ({"q": array(Q_SHAPE, ">f2")}, ValueError, "q: typestr is '>f2'; accepted: '<f2'"),
    ({"q": array(Q_SHAPE, mask=array(Q_SHAPE))}, ValueError, "q: an array with a mask, which would be ignored"),
    ({"q": array(Q_SHAPE, strides=(192, 64, 16))}, ValueError, "q: 3 strides; accepted: 4, as its shape has"),
    ({"q": array(Q_SHAPE, strides=(288, 96, 24, 3))}, ValueError, "q: strides are (288, 96, 24, 3) bytes; accepted: "),
    ({"q": array(Q_SHAPE, stream=0)}, ValueError, "q: stream is 0 in __cuda_array_interface__; accepted: None, 1"),
    (
        {"q": array(Q_SHAPE, stream=2**70)},
        ValueError,
        "q: stream is 1180591620717411303424 in __cuda_array_interface__",
    ),
    ({"q": array((2**70, 1, 1, 1))}, ValueError, "q: shape is (1180591620717411303424, 1, 1, 1); accepted: sizes"),
    ({"q": array((1, 2**62, 4, 1))}, ValueError, "q: strides are (18446744073709551616, 4, 1, 1); accepted: below"),
    ({"q": array(Q_SHAPE, data=(2**64, False))}, ValueError, "q: its address is 18446744073709551616; accepted: "),
    ({"q": array(Q_SHAPE, data=(-1, False))}, ValueError, "q: its address is -1; accepted: one of 64 bits"),
    ({"q": array(Q_SHAPE, device=2**31)}, ValueError, "q: device is 2147483648; accepted: a GPU's index"),
    ({"q": array(Q_SHAPE, stream=5), "v": array(K_SHAPE, stream=6)}, ValueError, "v: stream is 6; accepted: 5, as q"),
    ({"stream": "5"}, TypeError, "stream: str; accepted: None, "),
]


@pytest.mark.parametrize(("bent", "kind", "words"), WRONG, ids=[w[2][:40] for w in WRONG])
def test_refusals(calls: list[Any], bent: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        call(**bent)
    assert isinstance(caught.value, flashfit.FlashfitError)
    assert str(caught.value).startswith(words)
    assert not calls


@pytest.mark.parametrize("offsets", [[0, 6], np.array([0, 6], np.int32)], ids=["list", "NumPy"])
def test_cu_seqlens_are_not_copied_to_the_gpu(calls: list[Any], offsets: Any) -> None:
    ragged = {"q": array((6, 4, 8)), "k": array((7, 2, 8)), "v": array((7, 2, 8)), "out": array((6, 4, 8))}
    with pytest.raises(flashfit.InvalidType, match=f"cu_seqlens_q: .*; accepted: {MINE}, as q"):
        call(**ragged, cu_seqlens_q=offsets, cu_seqlens_k=offsets)


def test_the_c_api_checks_them_as_others() -> None:
    for bent, words in (
        ({"q": array(Q_SHAPE, "<f4")}, "q: dtype is fp32 on cuda"),
        ({"k": array((2, 5, 3, 8))}, "k: 3 heads; accepted: a divisor of q's 4"),
        ({"k": array(K_SHAPE, device=1)}, "k: device is cuda:1; accepted: cuda:0, where q is"),
    ):
        with pytest.raises(flashfit.InvalidArgument) as caught:
            call(**bent)
        assert str(caught.value).startswith(words)
