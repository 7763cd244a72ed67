"""FlashAttention-2, -3 and -4: functions of the same names, of their own options and answers."""

from __future__ import annotations

from typing import Any

from ..arrays import Inputs
from ..cases import Case
from .base import Call, ModulePeer, first, longest, only, only_aligned

#: What a generation takes beyond a causal mask, as Case.options names it.
ABLE = {
    "flash-attn-2": ("a window", "softcap", "ALiBi"),
    "flash-attn-3": ("a window", "softcap", "another head_dim of v"),
    "flash-attn-4": ("a window", "softcap", "sinks", "another head_dim of v"),
}


class FlashAttention(ModulePeer):
    """A generation of FlashAttention. Their masks are aligned at the bottom right, as ours, and so is ALiBi."""

    function = "flash_attn_func"

    def __init__(self, name: str, package: str, *modules: str) -> None:
        self.name, self.package, self.modules = name, package, modules

    def _options(self, case: Case, inputs: Inputs) -> dict[str, Any]:
        able = ABLE[self.name]
        only(case, *able, *(("seqused_k",) if self._has_cache_function(case) else ()))
        options: dict[str, Any] = {"causal": case.causal, "softmax_scale": case.softmax_scale}
        if case.windowed:
            none = None if self.name == "flash-attn-4" else -1
            sides = (case.window_left, 0 if case.causal else case.window_right)
            options["window_size"] = tuple(none if side < 0 else side for side in sides)
        if case.softcap:
            options["softcap"] = case.softcap
        if case.alibi:
            options["alibi_slopes"] = inputs.alibi_slopes
        if inputs.sinks is not None:
            options["learnable_sink"] = inputs.sinks.bfloat16()  # it takes no other type
        return options

    def _has_cache_function(self, case: Case) -> bool:
        """Whether its users decode by flash_attn_with_kvcache. It cuts keys in parts, which flash_attn_func of
        FlashAttention-3 does not unless it is told to."""
        return case.decodes and self.name != "flash-attn-4"

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        options = self._options(case, inputs)
        q, k, v = inputs.q, inputs.k, inputs.v
        if self.name == "flash-attn-2" and case.head_dim % 8 == 0:  # others it copies
            only_aligned(q, k, v)
        if not case.ragged:
            dense = self.module().flash_attn_func
            if self._has_cache_function(case):
                dense = self.module().flash_attn_with_kvcache
                if inputs.seqused_k is not None:
                    options["cache_seqlens"] = inputs.seqused_k
            elif case.decodes:
                options["num_splits"] = 0  # it chooses
            return lambda: first(dense(q, k, v, **options))
        longest_q, longest_k = longest(case)
        options.update(cu_seqlens_q=inputs.cu_seqlens_q, cu_seqlens_k=inputs.cu_seqlens_k)
        options.update(max_seqlen_q=longest_q, max_seqlen_k=longest_k)
        ragged = self.module().flash_attn_varlen_func
        return lambda: first(ragged(q, k, v, **options))
