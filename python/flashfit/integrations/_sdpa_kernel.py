"""The compiled module's kernel of aten::scaled_dot_product_attention, before the one of Python.

It knows calls that were left to PyTorch, and answers those by PyTorch's own function without Python, which would cost
more than a small call does. All others go on to the kernel of Python, but for plain ones that were taken before, which
the compiled module computes in its place. Both that function and that kernel are reached by a redispatch with keys that
no tensor has: PyTorch's own function answers PrivateUse2, the kernel of Python is registered for PrivateUse3. The
redispatch is a function of C++ that torch exports, found by its full name, which holds the types of its arguments.
Where it is missing, or a call does not go these ways, the kernel of Python is registered alone.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, partial
from threading import Lock, get_ident
from typing import Any

import torch

from .._binding import binding
from .._packages.torch_tensors import mode_counter
from .._torch_shim import Registration, Shim, shim
from ._known_calls import KnownCalls
from ._log import Log

NAME = "scaled_dot_product_attention"
_REDISPATCH = (
    "_ZN2at4_ops28scaled_dot_product_attention10redispatchEN3c1014DispatchKeySetERKNS_6TensorES6_S6_"
    "RKSt8optionalIS4_EdbS7_IdEb"
)
_OWN, _PYTHONS = "PrivateUse2", "PrivateUse3"
_MOST_WAYS = 4096

#: Of (query, key, value): the result of a call that needs gradients, or NotImplemented where it is not like the one for
#: which this was made.
Way = Callable[[Any, Any, Any], Any]
#: A kernel of Python, with the operator's arguments.
Kernel = Callable[..., Any]


def _register_python(kernel: Kernel, keys: tuple[str, ...]) -> Callable[[], None]:
    """Returns what takes it out again."""
    library = torch.library.Library("aten", "IMPL")
    for key in keys:
        library.impl(NAME, kernel, key)
    return library._destroy  # type: ignore[no-any-return]


def _connect() -> int:
    """The address of the compiled module's kernel; 0 where it cannot be used."""
    found, count_modes = shim(), mode_counter()
    names = f"aten::{NAME}"
    if found is None or any(torch._C._dispatch_has_kernel_for_dispatch_key(names, key) for key in (_OWN, _PYTHONS)):
        return 0
    if not count_modes:
        return 0
    try:
        redispatch = ctypes.cast(getattr(found.c, _REDISPATCH), ctypes.c_void_p).value
        keys = [torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, x)).raw_repr() for x in (_OWN, _PYTHONS)]
    except AttributeError:
        return 0
    return binding().native.connect_sdpa(redispatch, count_modes, *keys) or 0  # type: ignore[union-attr]


def _register(of: Shim, kernel: int, python: Kernel, keys: tuple[str, ...]) -> Callable[[], None]:
    """Registers both kernels; returns what takes them out again. Raises RuntimeError if torch refuses one."""
    with ExitStack() as stack:
        stack.callback(_register_python(python, (_PYTHONS,)))
        for key in keys:
            stack.callback(Registration(of, NAME, key, kernel).take_out)
        return stack.pop_all().close


@cache
def _address() -> int:
    """_connect()'s, tried: a call comes to Python once, and those like it go to PyTorch's own function."""
    kernel, found = _connect(), shim()
    if not kernel or found is None:
        return 0
    native: Any = binding().native
    calls_known = native.sdpa_calls()
    own = getattr(torch.ops.aten, NAME).default
    asked: list[int] = []  # from which threads

    def leave(*given: Any, **options: Any) -> Any:
        asked.append(get_ident())
        native.know_call(calls_known, 0)
        return own._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *given, **options)

    with torch.inference_mode(False), torch.no_grad():
        v = torch.full((1, 1, 1, 8), 0.5, dtype=torch.float64, device="cpu")
        seen = torch.ones((1, 1), dtype=torch.bool, device="cpu")
        calls: tuple[dict[str, Any], ...] = ({}, {"attn_mask": seen, "scale": 0.5})
        try:
            out = _register(found, kernel, leave, ("CPU", "AutogradCPU"))
            try:  # of one key the result is its value
                right = all(bool((own(v, v, v, **options) == v).all()) for options in calls for _ in range(3))
            finally:
                out()
        except Exception:  # of a release that does this otherwise
            return 0
        finally:
            native.forget_calls(calls_known)
    return kernel if right and asked.count(get_ident()) == len(calls) else 0


class Front:
    """The kernels of the integration, from when this is made until take_out()."""

    def __init__(self, kernel: Kernel, keys: tuple[str, ...], notes: Log) -> None:
        """kernel: of Python, for these dispatch keys; what it leaves is noted in `notes`."""
        self._ways: dict[int, Way] = {}
        self._numbers = itertools.count()  # none is given twice: a call may be on its way to what was forgotten
        self._lock = Lock()
        native: Any = binding().native
        address, found = _address(), shim()
        # Without the address nothing is before the kernel of Python.
        self._known = KnownCalls(native.sdpa_calls() if address else None, notes)
        if address and found is not None:
            self._take_out = _register(found, address, partial(native.sdpa_or, kernel, self._ways), keys)
        else:
            self._take_out = _register_python(kernel, keys)

    def take_out(self) -> None:
        """PyTorch's own function is called as if neither kernel had been there."""
        self._take_out()
        self._known.settle()

    def knower(self, call: str, reason: str, way: Way | None = None) -> Callable[[], Any]:
        """Of a call that is left for what its signature says (CallSignature) or, with "" for the reason, taken: by a
        way, or if it is plain. What counts one more in its line, for the kernel of Python, after which calls alike do
        not come to it."""
        if reason:
            return self._known.knower(call, reason)
        return self._known.knower(call, "", -1 if way is None else self._number(way))

    def _number(self, way: Way) -> int:
        with self._lock:
            if len(self._ways) >= _MOST_WAYS:
                self._ways.clear()
            number = next(self._numbers)
            self._ways[number] = way
        return number
