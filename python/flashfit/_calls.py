"""What every operation asks of the arrays that a caller gives, whatever their package."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ._errors import InvalidArgument, InvalidType
from ._packages import Package
from ._tensors import CUDA, Memory, bytes_of, full_name, raw_stream, shown


class Call:
    """One call: an array says by its package and its device where the others have to be.

    Raises InvalidType or InvalidArgument, in one line, for a stream or a variant that cannot be.
    """

    def __init__(
        self,
        package: Package,
        name: str,
        first: Any,
        given: dict[str, Any],
        stream: Any,
        variant: Any,
        workspace: Any = None,
    ):
        """first: the argument `name`. given: all arrays of the caller's, by argument, None where there is none.
        workspace: an array, a function of a number of bytes that makes one, or None: the package makes it."""
        if variant is not None and not isinstance(variant, str):
            raise InvalidType(f"variant: {type(variant).__name__}; accepted: a name from images(), or None")
        self.package, self.name, self._first = package, name, first
        arrays = {key: x for key, x in given.items() if x is not None}
        self._workspace = workspace
        self._asks_caller = callable(workspace) and not package.owns(workspace)
        if workspace is not None and not self._asks_caller:
            arrays["workspace"] = workspace
        self._scratch: list[Any] = []  # until the call is queued: only work queued later may have its memory
        self.queue: int = package.stream(first, arrays) if stream is None else raw_stream(stream)
        self._follows = stream is None  # the stream on which the package allocates
        self.memory = self.read(name, first)
        self.on_gpu = self.memory.device_type == CUDA
        if not self.on_gpu and (stream is not None or variant is not None):
            said = f"stream: {shown(stream)}" if stream is not None else f"variant: {shown(variant)}"
            raise InvalidArgument(f"{said} with tensors on the CPU; accepted there: None")
        self.variant = None if variant is None else variant.encode()

    def read(self, name: str, x: Any) -> Memory:
        """The memory of an array that has to be of the first one's package."""
        if not self.package.owns(x):
            raise InvalidType(f"{name}: {full_name(x)}; accepted: {self.package.kind}, as {self.name}")
        return self.package.read(name, x, self.queue)

    def read_result(self, name: str, x: Any, of_caller: bool) -> Memory:
        """read() of an array that is written."""
        memory = self.read(name, x)
        if of_caller:
            self.package.check_writable(name, x, memory)
        return memory

    def allocating(self) -> AbstractContextManager[Any]:
        """Within it, memory is allocated for work on this call's stream."""
        if self._follows or not self.on_gpu:
            return nullcontext()
        return self.package.allocating_on(self._first, self.queue)

    def expect_allocator(self, given: str, accepted: str) -> None:
        """Refuses to leave to a package that allocates nothing what the caller has to give."""
        if not self.package.allocates:
            raise InvalidArgument(f"{given}; accepted: {accepted}, since flashfit allocates no memory for it")

    def empty(self, name: str, shape: tuple[int, ...], dtype: str) -> Any:
        """A new array for the argument `name`, which the caller left out."""
        self.expect_allocator(f"{name}: None", f"{self.package.kind}, as {self.name}")
        return self.package.empty(self._first, shape, dtype)

    def workspace(self) -> tuple[int, int, Callable[[int], int] | None]:
        """(address, bytes, allocate), as attend() and moe() of a Binding have them last: allocate is asked where the
        address is 0 and the call needs memory."""
        if self._workspace is None or self._asks_caller:
            return 0, 0, self._allocate
        return *self._scratch_memory(self._workspace, True), None

    def _allocate(self, count: int) -> int:
        """The address of `count` bytes, which live as long as this call."""
        if self._asks_caller:
            scratch = self._workspace(count)
        else:
            accepted = f"{self.package.kind} of {count} bytes, as {self.name}, or a function that makes one"
            self.expect_allocator("workspace: None", accepted)
            with self.allocating():
                scratch = self.package.scratch(self._first, count)
        address, size = self._scratch_memory(scratch, self._asks_caller)
        if size < count:
            raise InvalidArgument(f"workspace: {size} bytes; accepted: {count} or more")
        self._scratch.append(scratch)
        return address

    def _scratch_memory(self, x: Any, of_caller: bool) -> tuple[int, int]:
        memory = self.read_result("workspace", x, of_caller)
        mine = self.memory
        if (memory.device_type, memory.device_id) != (mine.device_type, mine.device_id):
            raise InvalidArgument(
                f"workspace: device is {memory.device}; accepted: {mine.device}, where {self.name} is"
            )
        return memory.data, bytes_of("workspace", memory)

    def queued(self) -> None:
        """To be called when the C API has taken the call."""
        if self.on_gpu:
            self.package.written(self.memory.device_id, self.queue)
