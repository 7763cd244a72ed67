"""Which of FlashAttention-2's options flashfit computes. Those that it does not are refused here and nowhere else."""

from __future__ import annotations

from numbers import Real
from typing import Any, Callable

from .._errors import InvalidArgument, InvalidType, Unsupported
from .._tensors import shown


def _is_zero(value: Any) -> bool:
    # Asking Real costs more than the rest of the call's checks.
    return (type(value) is float or isinstance(value, Real)) and value == 0


def _is_none(value: Any) -> bool:
    return value is None


# Name, whether a value asks for nothing, and what is accepted. An option that flashfit learns loses its line.
_UNSUPPORTED: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("dropout_p", _is_zero, "0.0 (no dropout)"),
    ("k", _is_none, "None (keys that are in k_cache already)"),
    ("v", _is_none, "None (values that are in v_cache already)"),
    ("rotary_cos", _is_none, "None (q and k_cache rotated already)"),
    ("rotary_sin", _is_none, "None (q and k_cache rotated already)"),
    ("cache_batch_idx", _is_none, "None (sequence b of q reads sequence b of the cache)"),
    ("cache_leftpad", _is_none, "None (sequences begin at the cache's first key)"),
    ("block_table", _is_none, "None (no paged keys and values)"),
)


def refuse_unsupported(options: dict[str, Any]) -> None:
    """Raises Unsupported for the first of a call's options that flashfit does not compute."""
    for name, asks_nothing, accepted in _UNSUPPORTED:
        if name in options and not asks_nothing(options[name]):
            raise Unsupported(f"{name}: {shown(options[name])} is not in flashfit yet; accepted: {accepted}")


def check_max_seqlen(name: str, value: Any) -> None:
    """flashfit does not need it; a tensor is taken as it is, since reading one may wait for a GPU."""
    if isinstance(value, int):
        if value < 0:
            raise InvalidArgument(f"{name}: {value}; accepted: 0 or more")
    elif not hasattr(value, "__index__"):
        raise InvalidType(f"{name}: {shown(value)}; accepted: an integer")


def check_cu_seqlens(name: str, value: Any) -> None:
    """None, which flashfit.attention takes for a dense problem, is not an answer here."""
    if value is None:
        raise InvalidType(f"{name}: None; accepted: int32 offsets, [batch + 1]")
