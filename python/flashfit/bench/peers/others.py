"""xformers, SageAttention and FlashInfer."""

from __future__ import annotations

import importlib
from itertools import accumulate
from typing import Any

from ..arrays import Inputs
from ..cases import Case
from .base import Call, CannotError, ModulePeer, longest, only, only_aligned

FLASHINFER_WORKSPACE = 128 << 20  # bytes, what its documentation recommends
FLASHINFER_PAGE = 16  # keys, what it is mostly used with
FLASHINFER_DIMS = (64, 64), (128, 128), (256, 256), (192, 128)  # of q and v, what its wheels of kernels hold


def why_not(said: str) -> str:
    """Of xformers' refusal the reasons, which follow a first line that has none."""
    lines = [line.strip() for line in said.splitlines()]
    begin = next((i for i, line in enumerate(lines) if "is not supported" in line), 0)
    return " ".join(lines[begin:])


class Xformers(ModulePeer):
    """memory_efficient_attention by whichever of its kernels it chooses: FlashAttention-2's where that package is
    there, else PyTorch's."""

    name = "xformers"
    package = "xformers"
    modules = ("xformers.ops",)
    function = "memory_efficient_attention"

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        only(case)
        ops = self.module()
        biases = ops.fmha.attn_bias
        q, k, v = inputs.q, inputs.k, inputs.v
        bias: Any = None
        if case.ragged:
            # One batch of all rows, and the lengths in the mask.
            q, k, v = (x[None] for x in (q, k, v))
            bias = biases.BlockDiagonalMask.from_seqlens(case.lengths_q, case.lengths_k)
            if case.causal:
                bias = bias.make_causal_from_bottomright()
        elif case.causal:
            bias = biases.LowerTriangularFromBottomRightMask()
        if case.heads_q != case.heads_kv:
            groups = case.heads_kv, case.heads_q // case.heads_kv
            q = q.unflatten(2, groups)
            k, v = (x.unsqueeze(3).expand(*x.shape[:3], groups[1], x.shape[3]) for x in (k, v))
        shape = inputs.q.shape

        def call() -> Any:
            try:
                return ops.memory_efficient_attention(q, k, v, attn_bias=bias, scale=case.softmax_scale).reshape(shape)
            except NotImplementedError as error:
                raise CannotError(why_not(str(error))) from error

        return call


class SageAttention(ModulePeer):
    """Scores in INT8. Held to the same bound as all. It takes the keys' mean off in place, so it is given a copy of k
    in each call: k is every peer's."""

    name = "sageattention"
    package = "sageattention"
    modules = ("sageattention",)
    function = "sageattn"

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        only(case)
        if case.decodes:
            raise CannotError("is not for decoding: it turns all keys to INT8 in each call")
        module = self.module()
        if case.causal and any(q != k for q, k in case.sequences()):
            raise CannotError("its causal mask is not said to be aligned at the bottom right")
        q, k, v = inputs.q, inputs.k, inputs.v
        options: dict[str, Any] = {"is_causal": case.causal, "sm_scale": case.softmax_scale}
        if not case.ragged:
            return lambda: module.sageattn(q, k.clone(), v, tensor_layout="NHD", **options)
        offsets = inputs.cu_seqlens_q, inputs.cu_seqlens_k
        return lambda: module.sageattn_varlen(q, k.clone(), v, *offsets, *longest(case), **options)


class FlashInfer(ModulePeer):
    """Its ragged prefill, or its decoding over pages of keys for one new token; planned once, as its users do, and
    run."""

    name = "flashinfer"
    package = "flashinfer-python"
    modules = ("flashinfer",)
    function = "BatchPrefillWithRaggedKVCacheWrapper"

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        able = ("seqused_k",) if case.decodes and case.seqlen_q == 1 else ()
        only(case, "a window", "softcap", "another head_dim of v", *able)
        if case.windowed and not (case.causal or case.window_right == 0):
            raise CannotError("its window has a left side alone")
        if (case.head_dim, case.values_dim) not in FLASHINFER_DIMS:
            raise CannotError("its kernels are of head_dim 64, 128 and 256, and of 192 with 128 of v")
        given = inputs.q, inputs.k, inputs.v
        q, k, v = (x.reshape(-1, *x.shape[-2:]) for x in given)
        if any(x.data_ptr() != original.data_ptr() for x, original in zip((q, k, v), given)):
            raise CannotError(f"does not take a {case.memory} batch without a copy")
        only_aligned(q, k, v)
        torch: Any = importlib.import_module("torch")
        options: dict[str, Any] = {"sm_scale": case.softmax_scale, "q_data_type": q.dtype}
        if case.windowed:
            options["window_left"] = case.window_left
        if case.softcap:
            options["logits_soft_cap"] = case.softcap
        if case.decodes and case.seqlen_q == 1 and case.values_dim == case.head_dim:
            return self._decode(torch, case, inputs, q, options)
        offsets = [
            torch.tensor([0, *accumulate(lengths)], dtype=torch.int32, device=q.device)
            for lengths in zip(*case.sequences())
        ]
        wrapper = self.module().BatchPrefillWithRaggedKVCacheWrapper(self._workspace(torch, q), "NHD")
        sizes = (case.heads_q, case.heads_kv, case.head_dim)
        options["causal"] = case.causal or case.window_right == 0
        if case.values_dim != case.head_dim:
            options["head_dim_vo"] = case.values_dim
        wrapper.plan(*offsets, *sizes, **options)
        shape = (*inputs.q.shape[:-1], case.values_dim)
        return lambda: wrapper.run(q, k, v).reshape(shape)

    @staticmethod
    def _workspace(torch: Any, q: Any) -> Any:
        return torch.empty(FLASHINFER_WORKSPACE, dtype=torch.uint8, device=q.device)

    def _decode(self, torch: Any, case: Case, inputs: Inputs, q: Any, options: dict[str, Any]) -> Call:
        """q: [batch, heads_q, head_dim]. The keys' own memory is the pages, one after another."""
        if case.seqlen_k % FLASHINFER_PAGE != 0:
            raise CannotError(f"its pages have {FLASHINFER_PAGE} keys, and a sequence here ends inside of one")
        pages = [x.reshape(-1, FLASHINFER_PAGE, *x.shape[-2:]) for x in (inputs.k, inputs.v)]
        used, held = case.used_keys(), case.seqlen_k // FLASHINFER_PAGE  # keys; pages of a sequence
        filled = [-(-keys // FLASHINFER_PAGE) for keys in used]
        at = [b * held + page for b, count in enumerate(filled) for page in range(count)]
        last = [keys - (count - 1) * FLASHINFER_PAGE for keys, count in zip(used, filled)]
        lists = ([0, *accumulate(filled)], at, last)
        wrapper = self.module().BatchDecodeWithPagedKVCacheWrapper(
            self._workspace(torch, q), "NHD", use_tensor_cores=case.heads_q >= 4 * case.heads_kv
        )  # tensor cores from groups of 4 on, as vLLM asks for them
        wrapper.plan(
            *(torch.tensor(numbers, dtype=torch.int32, device=q.device) for numbers in lists),
            *(case.heads_q, case.heads_kv, case.head_dim, FLASHINFER_PAGE),
            kv_data_type=q.dtype,
            **options,
        )
        return lambda: wrapper.run(q, tuple(pages)).reshape(inputs.q.shape)
