"""What flashfit asks of an array package. One class a package, one file a class."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._errors import InvalidType
from .._tensors import Memory, lengths_list, numbers_list, offsets_list

#: The dtypes of arguments that are not of fp16, bf16 or fp32, by argument; each package has words of its own for them.
DTYPES: dict[str, tuple[str, ...]] = {
    "cu_seqlens_q": ("int32",),
    "cu_seqlens_k": ("int32",),
    "seqused_k": ("int32",),
    "alibi_slopes": ("float32",),
    "sinks": ("float32",),
    "workspace": ("uint8",),
    "weights": ("float32",),
    "ids": ("int32",),
    "topk_ids": ("int32", "int64"),
    "topk_weights": ("float16", "bfloat16", "float32"),
    "offsets": ("int32", "int64"),
    "experts": ("int32", "int64"),
    "expert_map": ("int32", "int64"),
    "router_bias": ("float32",),
}


class Package:
    """An array package. The methods below are those of one whose memory flashfit cannot allocate."""

    kind: str  #: "a NumPy array"
    allocates = False  #: whether like(), empty(), array() and scratch() make arrays

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
        """A new array of q's shape, dtype and device; of a package that allocates."""
        raise NotImplementedError

    def empty(self, q: Any, shape: tuple[int, ...], dtype: str | None = None) -> Any:
        """A new array, row-major, where q is, of q's dtype or of another, such as "float32"; of a package that
        allocates."""
        raise NotImplementedError

    def keeps(self, name: str, x: Any) -> bool:
        """Whether x is given to the C API as it is: an array of this package. All else is read, checked and copied."""
        return self.owns(x)

    def offsets(self, name: str, q: Any, cu_seqlens: Any, rows: int) -> Any:
        """cu_seqlens as an int32 array where q is."""
        if self.keeps(name, cu_seqlens):
            return cu_seqlens
        return self.array(name, q, offsets_list(name, cu_seqlens, rows), "int32")

    def lengths(self, name: str, q: Any, x: Any) -> Any:
        """seqused_k as an int32 array where q is."""
        return x if self.keeps(name, x) else self.array(name, q, lengths_list(name, x), "int32")

    def numbers(self, name: str, q: Any, x: Any) -> Any:
        """Slopes or sinks as an fp32 array where q is."""
        return x if self.keeps(name, x) else self.array(name, q, numbers_list(name, x), "float32")

    def whole(self, name: str, x: Any) -> Any:
        """x, or of int64 its int32: what does not fit there becomes -1, which is no expert's id."""
        return x

    def single(self, name: str, x: Any) -> Any:
        """x, or of fp16 or bf16 its fp32."""
        return x

    def array(self, name: str, q: Any, values: Any, dtype: str) -> Any:
        """A new array of these values where q is."""
        raise InvalidType(f"{name}: {type(values).__name__}; accepted: {self.kind} of {dtype}, as q")

    def scratch(self, q: Any, count: int) -> Any:
        """A new array of `count` bytes where q is, for work that is queued at once: when it goes, its memory serves
        only what is queued later; of a package that allocates."""
        raise NotImplementedError

    def check_writable(self, name: str, x: Any, memory: Memory) -> None:
        """Refuses a caller's array that is to be written, if its package does not let anyone write to it."""

    def written(self, device: int, stream: int) -> None:
        """Called after work was queued on a GPU: for packages that do not order their work by that stream."""
