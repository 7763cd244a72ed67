"""What flashfit asks of an array package. One class a package, one file a class."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._errors import InvalidArgument, InvalidType
from .._tensors import Memory, offsets_list


class Package:
    """An array package. The methods below are those of one whose memory flashfit cannot allocate."""

    kind: str  #: "a NumPy array"

    def owns(self, x: Any) -> bool:
        """Whether x is an array of this package."""
        raise NotImplementedError

    def read(self, name: str, x: Any, stream: int) -> Memory:
        """The memory of x; work on it is queued on the CUstream `stream` if it lies on a GPU. Refuses what bare memory
        misrepresents."""
        raise NotImplementedError

    def stream(self, q: Any, arrays: dict[str, Any]) -> int:
        """The CUstream that the arrays are ready on where the caller names none; 0, the legacy default stream."""
        return 0

    def allocating_on(self, q: Any, stream: int) -> AbstractContextManager[Any]:
        """Within it, memory is allocated for work on `stream`."""
        return nullcontext()

    def like(self, q: Any) -> Any:
        """A new array of q's shape, dtype and device."""
        raise InvalidArgument(f"out: None; accepted: {self.kind}, as q, since flashfit allocates no memory for it")

    def lse(self, q: Any, shape: tuple[int, ...]) -> Any:
        """A new fp32 array where q is."""
        raise InvalidArgument(
            f"return_lse: True; accepted: False where q is {self.kind}, since flashfit allocates no memory for it"
        )

    def offsets(self, name: str, q: Any, cu_seqlens: Any, rows: int) -> Any:
        """cu_seqlens as an int32 array where q is: such an array as it is, anything else read, checked and copied."""
        if self.owns(cu_seqlens):
            return cu_seqlens
        return self.integers(name, q, offsets_list(name, cu_seqlens, rows))

    def integers(self, name: str, q: Any, values: list[int]) -> Any:
        """A new int32 array where q is."""
        raise InvalidType(f"{name}: {type(values).__name__}; accepted: {self.kind} of int32, as q")

    def check_writable(self, out: Any, memory: Memory) -> None:
        """Refuses a caller's `out` that its package does not let anyone write to."""

    def written(self, device: int, stream: int) -> None:
        """Called after work was queued on a GPU: for packages that do not order their work by that stream."""
