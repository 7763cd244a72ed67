"""JAX arrays, outside of jit: inside it there is no memory yet."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from .._errors import CudaError, InvalidArgument
from .._tensors import Memory
from .dlpack_arrays import DLPack


def _wait(device: int, stream: int) -> None:
    """Waits for a stream. JAX orders its work by streams that it does not show, so nothing else says that a result is
    there."""
    cuda = ctypes.CDLL("libcuda.so.1")  # open already: work was queued through it
    context = ctypes.c_void_p()
    status = cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    if not status:
        status = cuda.cuCtxPushCurrent_v2(context)
        if not status:
            status = cuda.cuStreamSynchronize(ctypes.c_void_p(stream))
            cuda.cuCtxPopCurrent_v2(ctypes.byref(context))
        cuda.cuDevicePrimaryCtxRelease_v2(device)
    if status:
        raise CudaError(f"cuStreamSynchronize: error {status}; the result of this or of earlier work is lost")


class Jax(DLPack):
    """How JAX arrays are read, by DLPack, and made. JAX's arrays never change, so each result is a new array that
    nobody else has seen."""

    kind = "a JAX array"
    allocates = True

    def owns(self, x: Any) -> bool:
        jax: Any = sys.modules.get("jax")
        return jax is not None and isinstance(x, jax.Array)

    def read(self, name: str, x: Any, stream: int) -> Memory:
        jax: Any = sys.modules["jax"]
        if isinstance(x, jax.core.Tracer):
            raise InvalidArgument(f"{name}: traced by JAX, without memory; accepted: arrays outside of jit, grad, vmap")
        return super().read(name, jax.block_until_ready(x), stream)

    def like(self, q: Any) -> Any:
        return self.empty(q, q.shape)

    def empty(self, q: Any, shape: tuple[int, ...], dtype: str | None = None) -> Any:
        jax: Any = sys.modules["jax"]
        return jax.block_until_ready(jax.numpy.zeros(shape, dtype or q.dtype, device=q.sharding))

    def array(self, name: str, q: Any, values: Any, dtype: str) -> Any:
        jax: Any = sys.modules["jax"]
        return jax.block_until_ready(jax.numpy.array(values, dtype, device=q.sharding))

    def scratch(self, q: Any, count: int) -> Any:
        return self.empty(q, (count,), "uint8")  # nobody else sees it change; and the call is waited for

    def check_writable(self, name: str, x: Any, memory: Memory) -> None:
        raise InvalidArgument(f"{name}: a JAX array, which never changes; accepted: None")

    def written(self, device: int, stream: int) -> None:
        _wait(device, stream)
