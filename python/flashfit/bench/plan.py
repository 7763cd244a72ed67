"""What flashfit's plan says of a case on the GPU that is here, and which other kernels fit."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

from .. import images
from .._library import ExplainArgs, library
from .._reports import _document
from .cases import Case

_CAUSAL, _VARIABLE_LENGTH = 1, 4  # FLASHFIT_CAUSAL, FLASHFIT_VARIABLE_LENGTH


class _Args(ExplainArgs):
    """flashfit_explain_args with what version 0.2 added."""

    _fields_: ClassVar[Any] = (
        ("variant", ctypes.c_char_p),
        ("total_q", ctypes.c_int64),
        ("total_k", ctypes.c_int64),
        ("tile", ctypes.c_int32 * 4),
    )


def plan_of(case: Case, index: int = 0, variant: str | None = None, gpu: str | None = None) -> dict[str, Any]:
    """The object that docs/plan.md describes, for this machine's GPU of that index or a named one; `variant` forces a
    row of `flashfit images`."""
    args = _Args(
        struct_size=ctypes.sizeof(_Args),
        flags=(_CAUSAL if case.causal else 0) | (_VARIABLE_LENGTH if case.ragged else 0),
        gpu=None if gpu is None else gpu.encode(),
        dtype=case.dtype.encode(),
        batch=len(case.sequences()),
        heads_q=case.heads_q,
        heads_kv=case.heads_kv,
        head_dim=case.head_dim,
        variant=None if variant is None else variant.encode(),
    )
    if case.ragged:
        args.total_q, args.total_k = (sum(lengths) for lengths in (case.lengths_q or (), case.lengths_k or ()))
    else:
        args.seqlen_q, args.seqlen_k = case.seqlen_q, case.seqlen_k
    c = library().c
    answers: list[dict[str, Any]] = _document(lambda text: int(c.flashfit_explain_json(ctypes.byref(args), text)))
    return answers[index if gpu is None else 0]


def variants_that_fit(case: Case, index: int = 0, gpu: str | None = None) -> list[str]:
    """Every carried kernel that can run the case on that GPU, the plan's choice first."""
    choice = plan_of(case, index, gpu=gpu)
    if not choice["fits"]:
        return []
    marks = f"_{case.dtype}_d{case.head_dim}_"
    names = dict.fromkeys(image["variant"] for image in images() if marks in image["variant"])
    fit = [name for name in names if plan_of(case, index, name, gpu)["fits"]]
    return [choice["variant"], *(name for name in fit if name != choice["variant"])]
