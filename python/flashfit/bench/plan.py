"""What flashfit's plan says of a case on the GPU that is here, and which other kernels fit."""

from __future__ import annotations

import ctypes
from typing import Any

from .. import images
from .._errors import InvalidArgument
from .._library import ExplainArgs, library
from .._options import ALIBI, SINKS, SOFTCAP, UNALIGNED, VARIABLE_LENGTH, WINDOW, flags_of
from .._reports import _document
from .cases import Case


def _flags(case: Case) -> int:
    asked = {
        VARIABLE_LENGTH: case.ragged,
        WINDOW: case.windowed,
        SOFTCAP: case.softcap,
        ALIBI: case.alibi,
        SINKS: case.sinks,
        UNALIGNED: case.memory == "unaligned" or case.head_dim % 8 or case.values_dim % 8,
    }
    return flags_of(case.causal) | sum(flag for flag, is_asked in asked.items() if is_asked)


def plan_of(case: Case, index: int = 0, variant: str | None = None, gpu: str | None = None) -> dict[str, Any]:
    """The object that docs/plan.md describes, for this machine's GPU of that index or a named one; `variant` forces
    one of `flashfit images`."""
    args = ExplainArgs(
        struct_size=ctypes.sizeof(ExplainArgs),
        flags=_flags(case),
        gpu=None if gpu is None else gpu.encode(),
        dtype=case.dtype.encode(),
        batch=len(case.sequences()),
        heads_q=case.heads_q,
        heads_kv=case.heads_kv,
        head_dim=case.head_dim,
        head_dim_v=case.values_dim,
        window_left=case.window_left if case.windowed else 0,
        window_right=case.window_right if case.windowed else 0,
        bias=None if case.bias is None else case.bias.encode(),
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
    """Every carried kernel of the case's dtype that can run it on that GPU, of each family those of the narrowest
    head_dim, the plan's choice first; plain ones beside plain ones alone, as others are for what these do not take."""
    choice = plan_of(case, index, gpu=gpu)
    if not choice["fits"]:
        return []
    fit: dict[str, dict[int, list[str]]] = {}
    for name, image in {image["variant"]: image for image in images()}.items():
        asked = ("attention.forward", case.dtype, choice["kind"] == "plain")
        if (image.get("operation"), image.get("dtype"), image.get("kind") == "plain") != asked:
            continue
        head_dim, head_dim_v = image["head_dim"], image["head_dim_v"]
        if head_dim < case.head_dim or head_dim_v < case.values_dim:
            continue
        try:
            fits = plan_of(case, index, name, gpu)["fits"]
        except InvalidArgument:  # it is for other problems, as a kernel that packs grouped heads is
            continue
        if not fits:
            continue
        fit.setdefault(image["family"], {}).setdefault(head_dim + head_dim_v, []).append(name)
    narrowest = [name for widths in fit.values() for name in widths[min(widths)]]
    return [choice["variant"], *(name for name in narrowest if name != choice["variant"])]
