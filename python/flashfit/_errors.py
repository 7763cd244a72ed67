"""What calls raise: one class a status of the C API, all of them FlashfitError."""

from __future__ import annotations


class FlashfitError(RuntimeError):
    """Any failure of flashfit; raised itself only for a library that does not load and for defects of flashfit."""


class InvalidArgument(FlashfitError, ValueError):  # noqa: N818 - named for what it says
    """An argument's value is wrong; the message names it, its value and what is accepted. Nothing was written."""


class InvalidType(FlashfitError, TypeError):  # noqa: N818 - named for what it says
    """An argument is of a type that is not taken."""


class Unsupported(FlashfitError, NotImplementedError):  # noqa: N818 - named for what it says
    """An option of another library's interface that flashfit does not compute; the message says what it does."""


class Misfit(FlashfitError):  # noqa: N818 - named for what it says
    """The call is sound, but nothing carried fits this GPU or driver; the message says what binds."""


class NoGpu(FlashfitError):  # noqa: N818 - named for what it says
    """GPU tensors were given, but there is no driver or no usable GPU."""


class CudaError(FlashfitError):
    """The driver refused a call."""


class OutOfMemory(FlashfitError, MemoryError):  # noqa: N818 - named for what it says
    """Host memory ran out."""


class Disabled(FlashfitError):  # noqa: N818 - named for what it says
    """FLASHFIT_DISABLE in the environment refuses the call; nothing was launched or written."""


#: By flashfit_status.
BY_STATUS: dict[int, type[FlashfitError]] = {
    1: InvalidArgument,
    2: Misfit,
    3: NoGpu,
    4: CudaError,
    5: OutOfMemory,
    7: Disabled,
}
