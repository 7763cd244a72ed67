"""CuPy arrays."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from .dlpack_arrays import DLPack


class CuPy(DLPack):
    """How CuPy arrays are read, by DLPack, and made."""

    kind = "a CuPy array"
    allocates = True

    def owns(self, x: Any) -> bool:
        cupy: Any = sys.modules.get("cupy")
        return cupy is not None and isinstance(x, cupy.ndarray)

    def stream(self, q: Any, arrays: dict[str, Any]) -> int:
        with q.device:
            return int(sys.modules["cupy"].cuda.get_current_stream().ptr)

    def allocating_on(self, q: Any, stream: int) -> AbstractContextManager[Any]:
        external: AbstractContextManager[Any] = sys.modules["cupy"].cuda.ExternalStream(stream, q.device.id)
        return external

    def like(self, q: Any) -> Any:
        with q.device:
            return sys.modules["cupy"].empty(q.shape, q.dtype)

    def empty(self, q: Any, shape: tuple[int, ...], dtype: str | None = None) -> Any:
        with q.device:
            return sys.modules["cupy"].empty(shape, dtype or q.dtype)

    def array(self, name: str, q: Any, values: Any, dtype: str) -> Any:
        with q.device:
            return sys.modules["cupy"].array(values, dtype)

    def scratch(self, q: Any, count: int) -> Any:
        with q.device:
            return sys.modules["cupy"].empty((count,), "uint8")
