"""Run by a Python of its own, 3.12 or newer, without torch: what answer_first() of the compiled module does to a
function, with tensors of a class that has as much of torch's as the module reads.

    python answered_first.py LIBRARY COMPILED_MODULE
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import inspect
import pickle
import sys
from collections.abc import Callable
from typing import Any

LIBRARY, MODULE = sys.argv[1:]
FP32 = "fp32"


class Tensor:
    """[batch, seqlen, heads, head_dim] fp32 on the CPU."""

    dtype, is_cpu, is_cuda, requires_grad = FP32, True, False, False

    def __init__(self, *shape: int) -> None:
        self.shape = shape
        count = 1
        for size in shape:
            count *= size
        self.values = (ctypes.c_float * count)()

    def data_ptr(self) -> int:
        return ctypes.addressof(self.values)

    def stride(self) -> tuple[int, ...]:
        _, seqlen, heads, head_dim = self.shape
        return (seqlen * heads * head_dim, heads * head_dim, head_dim, 1)

    def get_device(self) -> int:
        return -1

    def is_neg(self) -> bool:
        return False


class Parameter(Tensor):
    requires_grad = True


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: Any = False,
    softmax_scale: Any = None,
    layout: Any = "bshd",
    out: Any = None,
    **others: Any,
) -> Any:
    """Says that Python ran, and with what."""
    return "python", causal, softmax_scale, layout, out is not None, others


def compiled() -> Any:
    loader = importlib.machinery.ExtensionFileLoader("_flashfit_native", MODULE)
    spec = importlib.util.spec_from_file_location("_flashfit_native", MODULE, loader=loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    module.connect(ctypes.cast(ctypes.CDLL(LIBRARY).flashfit_attention_run, ctypes.c_void_p).value)
    return module


def address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def refusal(function: Callable[..., Any], *arguments: Any) -> str:
    """The text of the TypeError that it raises."""
    try:
        function(*arguments)
    except TypeError as error:
        return str(error)
    return "no TypeError"


def main() -> None:
    native = compiled()
    changed: list[tuple[Any]] = []
    ours = (ctypes.pythonapi.PyFunction_SetVectorcall, ctypes.pythonapi.PyVectorcall_Function)
    arguments = (attention, *map(address, ours), changed.append)
    # Before connect_torch() it would read tensors of which it knows nothing.
    assert "answer_first: 4 arguments, not connected" in refusal(lambda: native.answer_first(*arguments))

    dtypes, alone = {FP32: 2 << 8 | 32}, {"_current_level": -1}
    modes = {"grad": False}
    grad: Callable[[], bool] = lambda: modes["grad"]  # noqa: E731
    like: Callable[[Tensor], Tensor] = lambda x: Tensor(*x.shape)  # noqa: E731
    native.connect_torch(Tensor, dtypes, None, (), (), alone, grad, like, None, 0, None)
    q, k, v, out = (Tensor(1, 3, 1, 8) for _ in range(4))
    v.values[:] = list(map(float, range(24)))
    means = [sum(range(i, 24, 8)) / 3 for i in range(8)]
    assert attention(q, k, v)[0] == "python"
    looked = inspect.signature(attention), attention.__doc__, pickle.dumps(attention), attention.__code__
    assert native.answer_first(*arguments) is True
    assert native.answer_first(*arguments) is False  # a second function of the process would take the first one's state

    found = attention(q, k, v)
    assert type(found) is Tensor
    assert list(found.values[:8]) == means
    assert not changed
    assert attention(q, k, v, out=out) is out
    assert list(out.values[16:]) == means
    assert changed == [(out,)]
    first = attention(q, k, v, causal=True, layout="bshd")
    assert list(first.values[:8]) == list(range(8))
    heads = attention(q, k, v, layout="bhsd")  # three heads of one token each
    assert list(heads.values) == list(range(24))
    assert attention(*(q, k, v), **{"out": out}) is out
    assert len(changed) == 2
    for _ in range(100):  # by then the interpreter has specialised this call
        assert type(attention(q, k, v)) is Tensor

    def by_python(*given: Any, **named: Any) -> bool:
        said = attention(*given, **named)
        return isinstance(said, tuple) and said[0] == "python"

    assert by_python(q, k, v, softmax_scale=0.5)
    assert by_python(q, k, v, causal=1)
    assert by_python(q, k, v, layout="sbhd")
    assert by_python(q, k, v, is_causal=True)
    assert by_python(Parameter(1, 3, 1, 8), k, v)
    for needing in (q, k):  # each twice: the second call after one that asks for gradients is told apart sooner
        needing.requires_grad = True
        assert not by_python(q, k, v)
        modes["grad"] = True
        assert by_python(q, k, v)
        assert by_python(q, k, v)
        needing.requires_grad = False
        assert not by_python(q, k, v)
        modes["grad"] = False
    assert by_python(q, k, v=v)  # by name
    assert by_python(q, k, "v")
    assert by_python(q, k, Tensor(1, 3, 1, 16))
    assert by_python(q, Tensor(1, 3, 2, 8), v)  # what the C API refuses, Python words
    for given in ((q, k), (q, k, v, out), ()):
        assert "attention()" in refusal(attention, *given)
    assert attention(q, k, v, causal=True, softmax_scale=2.0, x=1) == ("python", True, 2.0, "bshd", False, {"x": 1})
    assert looked == (inspect.signature(attention), attention.__doc__, pickle.dumps(attention), attention.__code__)

    assert len(changed) == 2
    print("answered first")


main()
