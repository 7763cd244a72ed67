"""The options of attention() beyond a plain call, from what callers give to what the C API takes."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._errors import InvalidArgument, InvalidType
from ._tensors import Memory, index_of, number_of, shown, truth_of

_CAUSAL, WINDOW, _BATCH_INVARIANT = 1, 8, 16  # FLASHFIT_CAUSAL and so on
#: Those of flashfit_explain_args alone.
VARIABLE_LENGTH, SOFTCAP, ALIBI, UNALIGNED, SINKS = 4, 32, 64, 128, 1024
_LARGEST = 2**63 - 1
_LARGEST_FP32 = 3.4028234663852886e38
#: The options that are tensors, in the order that the binding takes them.
TENSORS = ("alibi_slopes", "sinks", "bias", "seqused_k")


class Asked(NamedTuple):
    """Options as attention() was given them; None stands for all of them left alone."""

    window: Any = None
    softcap: Any = None
    alibi_slopes: Any = None
    sinks: Any = None
    bias: Any = None
    seqused_k: Any = None
    batch_invariant: Any = False
    workspace: Any = None

    def tensors(self) -> tuple[Any, Any, Any, Any]:
        """Those of TENSORS."""
        return self.alibi_slopes, self.sinks, self.bias, self.seqused_k


def flags_of(causal: Any) -> int:
    """The C API's flag of a causal mask."""
    if causal is True:
        return _CAUSAL
    if causal is False:
        return 0
    raise InvalidType(f"causal: {shown(causal)}; accepted: True, False")


def _limit(side: str, value: Any) -> int:
    """One side of a window; -1 for no limit."""
    if value is None:
        return -1
    limit: int = value
    if type(value) is not int:  # torch.compile follows integers no further than this
        try:
            limit = index_of(value)
        except TypeError:
            raise InvalidType(
                f"window: its {side} is {shown(value)}; accepted: an integer, -1 or None for no limit"
            ) from None
    if not -1 <= limit <= _LARGEST:
        accepted = "0 or more" if limit < 0 else "below 2**63"
        raise InvalidArgument(f"window: its {side} is {shown(limit)}; accepted: {accepted}, -1 or None for no limit")
    return limit


def window_of(window: Any) -> tuple[int, int]:
    """(left, right), -1 for no limit."""
    if window is None:
        return -1, -1
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise InvalidType(f"window: {shown(window)}; accepted: (left, right), or None for no window")
    return _limit("left", window[0]), _limit("right", window[1])


def softcap_of(softcap: Any) -> float:
    """0 for none."""
    if softcap is None:
        return 0.0
    cap = number_of("softcap", softcap, "a number above 0, or None for none")
    if not 0 <= cap <= _LARGEST_FP32 or 0 < cap <= 2.0**-150:  # which fp32 rounds to 0, for none
        raise InvalidArgument(f"softcap: {cap:g}; accepted: above 0 and finite in fp32, or None for none")
    return cap


def numbers_of(asked: Asked) -> tuple[int, int, int, float]:
    """What is no tensor: flags, window_left, window_right, softcap. Without a window its sides are 0."""
    left, right = window_of(asked.window)
    flags = _BATCH_INVARIANT if truth_of("batch_invariant", asked.batch_invariant) else 0
    if left == right == -1:
        return flags, 0, 0, softcap_of(asked.softcap)
    return flags | WINDOW, left, right, softcap_of(asked.softcap)


def four_dimensions(bias: Memory) -> Memory:
    """A bias of fewer dimensions as [batch, heads_q, seqlen_q, seqlen_k]: the first are 1, as broadcasting has it.

    The caller keeps the Memory given alive: what it borrowed goes with it.
    """
    missing = 4 - len(bias.shape)
    if missing <= 0:
        return bias  # more are refused by their number
    # The strides of ones are not looked at.
    return bias._replace(shape=(1,) * missing + bias.shape, strides=(0,) * missing + bias.strides)
