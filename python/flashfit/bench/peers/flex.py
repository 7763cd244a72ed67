"""PyTorch's FlexAttention: the options as functions that torch.compile makes a kernel of."""

from __future__ import annotations

import importlib
from typing import Any, Callable

from ..arrays import Inputs
from ..cases import Case
from .base import Call, CannotError, ModulePeer, only


class Flex(ModulePeer):
    """Compiled anew for each case, which takes seconds; so for those alone whose options ask for it."""

    name = "torch-flex"
    package = "torch"
    modules = ("torch.nn.attention.flex_attention",)
    function = "flex_attention"

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        if case.ragged or not case.options():
            raise CannotError("measured on dense cases with options alone")
        only(case, "a window", "softcap", "ALiBi", "a bias", "seqused_k", "another head_dim of v")
        torch: Any = importlib.import_module("torch")
        torch.compiler.reset()  # or it stops to compile after a few cases
        flex = self.module()
        q, k, v = (x.transpose(1, 2) for x in (inputs.q, inputs.k, inputs.v))
        sizes = (case.batch, case.heads_q, case.seqlen_q, case.seqlen_k)
        seen = seen_by(case, inputs)
        mask = flex.create_block_mask(seen, *sizes, device=q.device) if seen else None
        options: dict[str, Any] = {"scale": case.softmax_scale, "block_mask": mask, "score_mod": score_by(case, inputs)}
        options["enable_gqa"] = case.heads_q != case.heads_kv
        attend = torch.compile(flex.flex_attention, dynamic=False)
        return lambda: attend(q, k, v, **options).transpose(1, 2)


def bias_at(bias: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
    """An element; of an axis of length 1 the only one."""
    at = [0 if size == 1 else index for size, index in zip(bias.shape, (b, h, i, j))]
    return bias[tuple(at)]


def seen_by(case: Case, inputs: Inputs) -> Callable[..., Any] | None:
    """Whether query i of head h of sequence b sees key j; None where it always does."""
    hides = inputs.bias is not None and case.bias == "bool"
    if not (case.causal or case.windowed or case.seqused_k is not None or hides):
        return None
    right = 0 if case.causal else case.window_right
    left, used, queries, keys = case.window_left, inputs.seqused_k, case.seqlen_q, case.seqlen_k

    def seen(b: Any, h: Any, i: Any, j: Any) -> Any:
        there = keys if used is None else used[b]
        at = i + there - queries
        found = j < there
        if left >= 0:
            found = found & (j >= at - left)
        if right >= 0:
            found = found & (j <= at + right)
        return found & bias_at(inputs.bias, b, h, i, j) if hides else found

    return seen


def score_by(case: Case, inputs: Inputs) -> Callable[..., Any] | None:
    """The score after softcap, ALiBi and bias; None where there is none."""
    added = inputs.bias if case.bias not in (None, "bool") else None
    if not case.softcap and not case.alibi and added is None:
        return None
    torch: Any = importlib.import_module("torch")
    slopes, used, queries, keys = inputs.alibi_slopes, inputs.seqused_k, case.seqlen_q, case.seqlen_k

    def modified(score: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        if case.softcap:
            score = case.softcap * torch.tanh(score / case.softcap)
        if slopes is not None:
            there = keys if used is None else used[b]
            score = score - slopes[h] * (i + there - queries - j).abs()
        return score if added is None else score + bias_at(added, b, h, i, j)

    return modified
