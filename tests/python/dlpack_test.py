"""flashfit.attention on objects that only have __dlpack__ and __dlpack_device__."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import flashfit
import numpy as np
import pytest

Q = np.random.default_rng(1).standard_normal((2, 3, 4, 8)).astype(np.float16)
K = np.random.default_rng(2).standard_normal((2, 5, 2, 8)).astype(np.float16)


class Exported:
    """An array of some package that flashfit does not know."""

    def __init__(self, array: Any, device: Any = None, versioned: bool = True) -> None:
        self.array, self.device, self.versioned = array, device, versioned
        self.asked: list[dict[str, Any]] = []

    def __dlpack__(self, **wanted: Any) -> Any:
        self.asked.append(wanted)
        if not self.versioned and "max_version" in wanted:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**wanted)

    def __dlpack_device__(self) -> tuple[int, int]:
        found: tuple[int, int] = self.device or self.array.__dlpack_device__()
        return found


def test_any_such_object_is_read_and_written() -> None:
    out = Exported(np.zeros_like(Q))
    assert flashfit.attention(Exported(Q), Exported(K), Exported(K), causal=True, out=out) is out
    np.testing.assert_array_equal(out.array, flashfit.attention(Q, K, K, causal=True))
    assert out.asked == [{"max_version": (1, 0)}]


def test_packages_older_than_dlpack_1() -> None:
    q, out = Exported(Q, versioned=False), Exported(np.zeros_like(Q), versioned=False)
    flashfit.attention(q, Exported(K), Exported(K), out=out)
    np.testing.assert_array_equal(out.array, flashfit.attention(Q, K, K))
    assert q.asked == [{"max_version": (1, 0)}, {}]


def test_strides_offsets_and_variable_length() -> None:
    rows = np.zeros((7, 3, 4, 8), np.float16)
    q = rows[1:, 1]
    q[:] = np.random.default_rng(3).standard_normal(q.shape)
    k, offsets = K.reshape(10, 2, 8), np.array([0, 2, 6], np.int32)
    out = Exported(np.zeros((6, 4, 8), np.float16))
    offsets_k = np.array([0, 4, 10], np.int32)
    flashfit.attention(
        Exported(q),
        Exported(k),
        Exported(k),
        cu_seqlens_q=Exported(offsets),
        cu_seqlens_k=Exported(offsets_k),
        out=out,
    )
    expected = flashfit.attention(q, k, k, cu_seqlens_q=offsets, cu_seqlens_k=offsets_k)
    np.testing.assert_array_equal(out.array, expected)


def test_the_memory_is_given_back() -> None:
    class Watched(np.ndarray):  # plain arrays take no weak references
        pass

    array = Q.copy().view(Watched)
    gone = weakref.ref(array)
    out = Exported(np.zeros_like(Q))
    flashfit.attention(Exported(array), Exported(K), Exported(K), out=out)
    del array
    gc.collect()
    assert gone() is None


def read_only() -> Any:
    array = np.zeros_like(Q)
    array.flags.writeable = False
    return array


class NoCapsule(Exported):
    def __dlpack__(self, **wanted: Any) -> Any:
        return 3


KIND = "an object with __dlpack__"
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"out": None}, ValueError, f"out: None; accepted: {KIND}, as q, since flashfit allocates no memory for it"),
    ({"return_lse": True}, ValueError, f"return_lse: True; accepted: False where q is {KIND}, since"),
    ({"out": Exported(read_only())}, ValueError, "out: read-only; accepted: a writable array"),
    ({"k": [1.0]}, TypeError, f"k: builtins.list; accepted: {KIND}, as q"),
    ({"q": Exported(Q, (7, 0))}, ValueError, "q: device is DLPack device type 7; accepted: cpu, cuda"),
    ({"q": NoCapsule(Q)}, TypeError, "q: __dlpack__ gives no DLPack capsule; accepted: an unused one"),
    ({"q": Exported(Q.astype(">f2"))}, ValueError, "q: __dlpack__ refuses it ("),
    ({"q": Exported(Q.astype(np.int16))}, ValueError, "q: dtype is int16 on cpu; accepted: fp16, bf16"),
    ({"q": Exported(Q[..., ::2])}, ValueError, "k: shape is (2, 5, 2, 8); accepted: head_dim 4, as q"),
    ({"stream": 5}, ValueError, "stream: 5 with tensors on the CPU; accepted there: None"),
]


@pytest.mark.parametrize(("bent", "kind", "words"), WRONG, ids=[w[2][:40] for w in WRONG])
def test_refusals(bent: dict[str, Any], kind: type[Exception], words: str) -> None:
    out = Exported(np.full_like(Q, 7))
    given = {"q": Exported(Q), "k": Exported(K), "v": Exported(K), "out": out}
    with pytest.raises(kind) as caught:
        flashfit.attention(**{**given, **bent})
    assert isinstance(caught.value, flashfit.FlashfitError)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)
    assert (out.array == 7).all()


def test_cu_seqlens_must_be_such_objects() -> None:
    q, k = Exported(Q.reshape(6, 4, 8)), Exported(K.reshape(10, 2, 8))
    with pytest.raises(flashfit.InvalidType, match=f"cu_seqlens_q: builtins.list; accepted: {KIND}, as q"):
        flashfit.attention(q, k, k, cu_seqlens_q=[0, 6], cu_seqlens_k=[0, 10], out=Exported(np.zeros((6, 4, 8), "f2")))
