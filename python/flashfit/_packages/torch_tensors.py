"""torch tensors, read with care: every odd one is refused in words. `_torch.py` has the quick way for plain ones."""

from __future__ import annotations

import ctypes
import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from .._errors import InvalidArgument
from .._tensors import BFLOAT, BOOL, COMPLEX, CPU, CUDA, FLOAT, INT, UINT, Memory
from .base import DTYPES, Package

_NAMES = (
    (FLOAT, "float16 float32 float64"),
    (BFLOAT, "bfloat16"),
    (INT, "int8 int16 int32 int64"),
    (UINT, "uint8"),
    (COMPLEX, "complex64 complex128"),
    (BOOL, "bool"),
)

#: What a tensor that requires grad is told where nothing differentiates.
NO_GRADIENT = (
    "requires grad, and flashfit has no gradient of it; accepted: tensors without, or a call under torch.no_grad()"
)

#: What is accepted of arguments whose dtypes are more than one, and not those of q, k, v and out.
_ACCEPTED = {
    "bias": "q's, torch.float32, torch.bool",
    "logits": "torch.float16, torch.bfloat16, torch.float32",
}


def _accepted(name: str) -> str:
    """The dtypes of an argument, as torch calls them."""
    if name in DTYPES:
        return ", ".join(f"torch.{each}" for each in DTYPES[name])
    return _ACCEPTED.get(name, "torch.float16, torch.bfloat16, on the CPU also torch.float32")


def torch_dtypes() -> dict[Any, tuple[int, int]]:
    """torch.dtype -> DLPack code and bits."""
    torch: Any = sys.modules["torch"]
    dtypes = [(code, getattr(torch, each)) for code, names in _NAMES for each in names.split()]
    return {dtype: (code, dtype.itemsize * 8) for code, dtype in dtypes}


def _check(tensors: tuple[Any, ...], of_sizes: bool) -> Any:
    any_sizes = [[None] * x.dim() for x in tensors]
    sizes = [list(x.shape) for x in tensors] if of_sizes else any_sizes
    guards = sys.modules["torch"]._C._dynamo.guards.TensorGuards
    return guards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=any_sizes).check


def _check_like(*tensors: Any) -> Any:
    """torch.compile's guard of such tensors: a function that is True of tensors of the same types, dtypes, devices,
    dimensions and requires_grad, for which the dispatcher would do the same as it does now."""
    return _check(tensors, of_sizes=False)


def check_of_sizes(*tensors: Any) -> Any:
    """The same guard of the sizes, too. None where torch has none that tells calls apart. It is never True of a tensor
    that is given twice."""
    return _check(tensors, of_sizes=True) if _check_tells_apart() else None


@cache
def _check_tells_apart() -> bool:
    """Whether that guard, which is private to torch, sees what a call's guards must."""
    torch: Any = sys.modules["torch"]
    c = torch._C
    try:
        with torch.inference_mode(False), torch.no_grad():
            x = torch.zeros(1, device="cpu")  # whatever a program's default is
            check = _check_like(x)
            negated = check(torch.zeros(1, dtype=torch.complex64, device="cpu").conj().imag)
            with torch.autocast("cpu", enabled=not c._is_any_autocast_enabled()):
                autocast = check(x)
            with c._IncludeDispatchKeyGuard(c.DispatchKey.FuncTorchDynamicLayerFrontMode):
                included = check(x)
            with torch.enable_grad():
                gradient = check(torch.zeros(1, device="cpu", requires_grad=True))
            return check(x) is True and not (negated or autocast or included or gradient)
    except Exception:  # a release without it, or with another
        return False


#: As the linker has it.
_MODE_STACK_LEN = "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv"


def mode_counter() -> int:
    """The address of c10::impl::TorchDispatchModeTLS::stack_len(), how many modes there are; 0 where torch has none."""
    try:
        found = getattr(ctypes.PyDLL(sys.modules["torch"]._C.__file__), _MODE_STACK_LEN)
    except (AttributeError, OSError):
        return 0
    return ctypes.cast(found, ctypes.c_void_p).value or 0


def module_connection() -> tuple[Any, ...]:
    """What `_flashfit_native.connect_torch` takes: how tensors are read, and what says that eager mode is plain."""
    torch: Any = sys.modules["torch"]
    c = torch._C
    dtypes = {dtype: code << 8 | bits for dtype, (code, bits) in torch_dtypes().items()}
    # Modes, such as fake tensors' or a profiler's. Python's way to their number takes as long as a tensor's reading.
    count_modes = mode_counter()
    always = () if count_modes else ((c._len_torch_dispatch_stack, 0),)
    quiet = (
        (c._functorch.peek_interpreter_stack, None),  # vmap, grad, functionalize
        (c._is_tracing, False),  # torch.jit.trace
        (c._is_any_autocast_enabled, False),
    )
    dual = vars(torch.autograd.forward_ad)
    # The stream's function is private, but Inductor's generated code calls it too; builds without CUDA lack it.
    stream = getattr(c, "_cuda_getCurrentRawStream", None)
    plain = (torch.is_grad_enabled, torch.empty_like, _check_like if _check_tells_apart() else None)

    empty, uint8 = torch.empty, torch.uint8

    def scratch(count: int, device: int) -> Any:
        return empty(count, dtype=uint8, device=device)  # an integer is a GPU

    return torch.Tensor, dtypes, stream, always, quiet, dual, *plain, count_modes, scratch


class Torch(Package):
    """How torch tensors are read and made."""

    kind = "a torch tensor"
    allocates = True

    def __init__(self) -> None:
        self._dtypes: dict[Any, tuple[int, int]] = {}

    def owns(self, x: Any) -> bool:
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(x, torch.Tensor)

    def _dtype(self, name: str, dtype: Any) -> tuple[int, int]:
        if not self._dtypes:
            self._dtypes = torch_dtypes()
        found = self._dtypes.get(dtype)
        if found is None:
            raise InvalidArgument(f"{name}: dtype is {dtype}; accepted: {_accepted(name)}")
        return found

    def read(self, name: str, x: Any, stream: int) -> Memory:
        torch: Any = sys.modules["torch"]
        if x.requires_grad and torch.is_grad_enabled():
            raise InvalidArgument(f"{name}: {NO_GRADIENT}")
        if x.layout is not torch.strided:
            raise InvalidArgument(f"{name}: layout is {x.layout}; accepted: torch.strided")
        if x.is_nested:
            raise InvalidArgument(f"{name}: a nested tensor, which has no shape; accepted: plain tensors")
        if x.is_neg():  # only complex tensors are lazily conjugated, and their dtype is refused
            raise InvalidArgument(f"{name}: a lazily negated view; accepted: {name}.resolve_neg()")
        if x.is_cpu:  # device.type makes a new string each time
            device_type, device_id = CPU, 0
        elif x.is_cuda:
            device_type, device_id = CUDA, x.get_device()
            if torch.version.hip:
                raise InvalidArgument(f"{name}: device is an AMD GPU; accepted: cpu, NVIDIA GPUs")
        else:
            raise InvalidArgument(f"{name}: device is {x.device}; accepted: cpu, cuda")
        code, bits = self._dtype(name, x.dtype)
        try:
            data = x.data_ptr()
        except RuntimeError as error:
            said = str(error).splitlines()[0]
            raise InvalidArgument(
                f"{name}: a {type(x).__name__} without memory of its own ({said}); accepted: plain tensors"
            ) from None
        return Memory(data, device_type, device_id, code, bits, tuple(x.shape), x.stride())

    def stream(self, q: Any, arrays: dict[str, Any]) -> int:
        return int(sys.modules["torch"].cuda.current_stream(q.device).cuda_stream) if q.is_cuda else 0

    def allocating_on(self, q: Any, stream: int) -> AbstractContextManager[Any]:
        # torch's allocator hands freed memory only to work ordered after this call on that stream.
        torch: Any = sys.modules["torch"]
        on: AbstractContextManager[Any] = torch.cuda.stream(torch.cuda.ExternalStream(stream, device=q.device))
        return on

    def like(self, q: Any) -> Any:
        return sys.modules["torch"].empty_like(q)

    def empty(self, q: Any, shape: tuple[int, ...], dtype: str | None = None) -> Any:
        return q.new_empty(shape, dtype=None if dtype is None else getattr(sys.modules["torch"], dtype))

    def _may_be_copied(self, x: Any) -> bool:
        """Whether contiguous() and to() know x: sparse and nested tensors are read()'s to refuse, in words."""
        return self.owns(x) and x.layout is sys.modules["torch"].strided and not x.is_nested

    def whole(self, name: str, x: Any) -> Any:
        torch: Any = sys.modules["torch"]
        if not self._may_be_copied(x):
            return x
        if x.dtype == torch.int64:
            return torch.where((x >= -(2**31)) & (x < 2**31), x, -1).to(torch.int32).contiguous()
        return x.contiguous()

    def single(self, name: str, x: Any) -> Any:
        torch: Any = sys.modules["torch"]
        if not self._may_be_copied(x):
            return x
        return (x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x).contiguous()

    def array(self, name: str, q: Any, values: Any, dtype: str) -> Any:
        torch: Any = sys.modules["torch"]
        return torch.tensor(values, dtype=getattr(torch, dtype), device=q.device)

    def scratch(self, q: Any, count: int) -> Any:
        torch: Any = sys.modules["torch"]
        return torch.empty(count, dtype=torch.uint8, device=q.device)
