"""FlashAttention-2, -3 and -4: functions of the same names, of their own options and answers."""

from __future__ import annotations

from typing import Any

from ..arrays import Inputs
from ..cases import Case
from .base import Call, ModulePeer, first, longest


class FlashAttention(ModulePeer):
    """A generation of FlashAttention. Their causal masks are aligned at the bottom right, as ours."""

    function = "flash_attn_func"

    def __init__(self, name: str, package: str, *modules: str) -> None:
        self.name, self.package, self.modules = name, package, modules

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        options: dict[str, Any] = {"causal": case.causal, "softmax_scale": case.softmax_scale}
        q, k, v = inputs.q, inputs.k, inputs.v
        if not case.ragged:
            dense = self.module().flash_attn_func
            return lambda: first(dense(q, k, v, **options))
        longest_q, longest_k = longest(case)
        options.update(cu_seqlens_q=inputs.cu_seqlens_q, cu_seqlens_k=inputs.cu_seqlens_k)
        options.update(max_seqlen_q=longest_q, max_seqlen_k=longest_k)
        ragged = self.module().flash_attn_varlen_func
        return lambda: first(ragged(q, k, v, **options))
