"""SageAttention's functions by flashfit, with exact kernels: there are none of eight bits here yet.

`sageattn` and `sageattn_varlen` have that package's parameters. install() puts them into the package, or stands in for
it where it is not installed or cannot be imported, so that a host's `from sageattention import sageattn` finds them; a
host that has imported the package's own function before keeps that one. The default layout is SageAttention's, "HND":
heads before rows.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections.abc import Callable
from typing import Any

from .._errors import FlashfitError, InvalidArgument, InvalidType
from .._tensors import full_name, shown
from ._host import Host
from ._modules import put

_logger = logging.getLogger("flashfit.integrations")
_LAYOUTS = {"HND": "bhsd", "NHD": "bshd"}
#: Of its quantisation, which exact kernels have not: they change no meaning.
_OF_QUANTISATION = frozenset(
    (
        "smooth_k",
        "smooth_v",
        "qk_quant_gran",
        "pv_accum_dtype",
        "quantization_backend",
    )
)


#: What both functions take beside their tensors, and what each has of its own.
_BOTH = ("is_causal", "sm_scale", *sorted(_OF_QUANTISATION))
_OPTIONS = {"sageattn": ("tensor_layout", "return_lse", *_BOTH), "sageattn_varlen": _BOTH}


def _check_others(function: str, others: dict[str, Any]) -> None:
    for name in others:
        if name not in _OF_QUANTISATION:
            raise InvalidType(f"{name}: not an argument of {function}; accepted: {', '.join(_OPTIONS[function])}")


def _check_tensors(**tensors: Any) -> None:
    import torch

    for name, x in tensors.items():
        if not isinstance(x, torch.Tensor):
            raise InvalidType(f"{name}: {full_name(x)}; accepted: a torch tensor")


def _check_causal(rows: int, keys: int) -> None:
    if rows != keys:
        raise InvalidArgument(
            f"is_causal: True with {rows} queries and {keys} keys, of which SageAttention says nothing; accepted: as "
            "many keys as queries"
        )


def _attention(q: Any, k: Any, v: Any, sm_scale: Any, **options: Any) -> Any:
    """attention(), whose errors have the name of the argument here."""
    from .._operations import attention

    try:
        return attention(q, k, v, softmax_scale=sm_scale, **options)
    except FlashfitError as error:
        words = str(error)
        if not words.startswith("softmax_scale:"):
            raise
        raise type(error)(words.replace("softmax_scale:", "sm_scale:", 1)) from None


def sageattn(
    q: Any,
    k: Any,
    v: Any,
    tensor_layout: str = "HND",
    is_causal: bool = False,
    sm_scale: float | None = None,
    return_lse: bool = False,
    **others: Any,
) -> Any:
    """softmax(sm_scale q k^T) v, exactly.

    q: [batch, heads_q, rows, head_dim] in tensor_layout "HND", [batch, rows, heads_q, head_dim] in "NHD"; k and v alike
        with heads_kv and keys: torch tensors, fp16 or bf16, on the CPU fp32 too. heads_q is a multiple of heads_kv.
    is_causal: with as many keys as rows. sm_scale: None for 1 / sqrt(head_dim).
    others: options of the quantisation, such as smooth_k, which change nothing here.

    Returns out, as q; with return_lse=True (out, lse), lse fp32 [batch, heads_q, rows], the natural logarithm of each
    softmax's denominator. Raises InvalidArgument, InvalidType and what flashfit.attention raises.
    """
    _check_others("sageattn", others)
    _check_tensors(q=q, k=k, v=v)
    layout: Any = _LAYOUTS.get(tensor_layout) if isinstance(tensor_layout, str) else None
    if layout is None:
        raise InvalidArgument(f'tensor_layout: {shown(tensor_layout)}; accepted: "HND", "NHD"')
    if is_causal and q.dim() == 4 and k.dim() == 4:
        rows = 2 if layout == "bhsd" else 1
        _check_causal(q.shape[rows], k.shape[rows])
    options = {"layout": layout, "causal": bool(is_causal), "return_lse": bool(return_lse)}
    result = _attention(q, k, v, sm_scale, **options)
    out = result[0] if return_lse else result
    _note(q, k, v, layout, is_causal)
    return (out, result[1]) if return_lse else out


def sageattn_varlen(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    is_causal: bool = False,
    sm_scale: float | None = None,
    **others: Any,
) -> Any:
    """sageattn of sequences of any lengths, one after another.

    q: [total_q, heads_q, head_dim]; k, v: [total_k, heads_kv, head_dim]; cu_seqlens: int32 or int64 [batch + 1]; the
    longest lengths are not needed. is_causal: of sequences with as many keys as queries, which cannot be seen without
    waiting for a GPU: with others the mask ends with the last key. Returns out, as q.
    """
    _check_others("sageattn_varlen", others)
    _check_tensors(q=q, k=k, v=v, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
    offsets = {"cu_seqlens_q": cu_seqlens_q.int(), "cu_seqlens_k": cu_seqlens_k.int()}
    out = _attention(q, k, v, sm_scale, causal=bool(is_causal), **offsets)
    _note(q, k, v, "bshd", is_causal, "variable lengths")
    return out


#: Notes a call in the log, in traced code too; made where torch is there.
_log: Callable[..., None] | None = None


def _note(q: Any, k: Any, v: Any, layout: str, is_causal: Any, *more: str) -> None:
    global _log
    from ._torch_take import noting, wants_gradients
    from ._torch_words import GRADIENTS

    if _log is None:
        _log = noting(HOST.notes.note)
    said = (*more, *((GRADIENTS,) if wants_gradients(q, k, v) else ()))
    _log(q, k, 1 if layout == "bhsd" else -2, bool(is_causal), None, ", ".join(said))


def _put_in() -> Callable[[], None]:
    global _log
    from .. import torch_ops  # noqa: F401 - registers the operators, before anything traces
    from ._torch_take import noting

    _log = noting(HOST.notes.note)
    name, ours = "sageattention", {"sageattn": sageattn, "sageattn_varlen": sageattn_varlen}
    if name not in sys.modules and importlib.util.find_spec(name) is not None:
        try:
            importlib.import_module(name)
        except Exception as error:  # no Triton here, or a library for another PyTorch or GPU
            said = f"{type(error).__name__}: {error}"
            _logger.warning("%s cannot be imported (%s): flashfit stands in for it", name, said)
    return put(name, ours, "SageAttention's functions by flashfit: flashfit.integrations.sageattention.")


HOST = Host("sageattention", _put_in)
install, uninstall, installed, log = HOST.install, HOST.uninstall, HOST.installed, HOST.log
