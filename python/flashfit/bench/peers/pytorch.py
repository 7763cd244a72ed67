"""PyTorch's own: scaled_dot_product_attention by each of its backends, and varlen_attn."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
from typing import Any

from ..arrays import Inputs
from ..cases import Case
from .base import Call, CannotError, ModulePeer, Peer, longest, only

#: The part of a device's memory that one tensor of SDPA's math backend may have; it makes several.
MATH_SHARE = 16
#: What a mask says, as Case.options names it.
MASKED = ("a window", "ALiBi", "a bias", "seqused_k")


def mask_of(case: Case, inputs: Inputs) -> Any:
    """All that hides keys and all that is added to scores in one tensor, as callers of PyTorch make it: of bool where
    nothing is added, else of q's dtype."""
    torch: Any = importlib.import_module("torch")
    device = inputs.q.device
    used = torch.tensor(sorted(set(case.used_keys())) if case.seqused_k is None else case.used_keys(), device=device)
    used = used[:, None, None, None]
    at = torch.arange(case.seqlen_q, device=device)[:, None] + used - case.seqlen_q
    key = torch.arange(case.seqlen_k, device=device)
    seen = key < used
    right = 0 if case.causal else case.window_right
    if case.window_left >= 0:
        seen = seen & (key >= at - case.window_left)
    if right >= 0:
        seen = seen & (key <= at + right)
    added = None
    if inputs.alibi_slopes is not None:
        added = -inputs.alibi_slopes[:, None, None] * (at - key).abs()
    if inputs.bias is not None and inputs.bias.dtype == torch.bool:
        seen = seen & inputs.bias
    elif inputs.bias is not None:
        added = inputs.bias if added is None else added + inputs.bias
    rows = (case.seqlen_q, case.seqlen_k)
    if added is None:
        return seen.expand(*seen.shape[:2], *rows)
    return added.to(inputs.q.dtype).expand(*added.shape[:2], *rows).masked_fill(~seen, float("-inf"))


def memory_of(x: Any) -> int:
    """Bytes of the device on which a tensor lies."""
    if not x.is_cuda:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    torch: Any = importlib.import_module("torch")
    return int(torch.cuda.get_device_properties(x.device).total_memory)


class Sdpa(Peer):
    """scaled_dot_product_attention held to one backend."""

    package = "torch"

    def __init__(self, name: str, backend: str, takes_mask: bool, on_cpu: bool) -> None:
        self.name = name
        self._backend = backend
        self._takes_mask = takes_mask
        self._on_cpu = on_cpu

    def missing(self, device: str) -> str:
        if not importlib.util.find_spec("torch"):
            return "PyTorch is not installed"
        return "" if self._on_cpu else super().missing(device)

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        if case.ragged:
            raise CannotError("scaled_dot_product_attention does not take variable length")
        torch: Any = importlib.import_module("torch")
        attention: Any = importlib.import_module("torch.nn.attention")
        backend = getattr(attention.SDPBackend, self._backend, None)
        if backend is None:
            raise CannotError(f"this PyTorch has no {self._backend}")
        only(case, "another head_dim of v", *(MASKED if self._takes_mask else ()))
        if self._backend == "FLASH_ATTENTION" and case.memory == "unaligned" and inputs.q.is_cuda:
            # Seen with PyTorch 2.11 on an H200. No other peer could be measured after it.
            raise CannotError("faults with a misaligned address where rows do not begin at 16 bytes")
        scores = 4 * case.batch * case.heads_q * case.seqlen_q * case.seqlen_k
        if self._backend == "MATH" and scores > memory_of(inputs.q) // MATH_SHARE:
            # A graph keeps them. At 16,384 keys, where they are 17 GB, FlashAttention-3 ended the whole run in its own
            # capture after this one's (seen on an H200; that memory was the reason is a guess).
            raise CannotError(
                f"its scores take {scores / 1e9:.3g} GB, several times: no memory would be left for others"
            )
        q, k, v = (x.transpose(1, 2) for x in (inputs.q, inputs.k, inputs.v))
        options: dict[str, Any] = {"scale": case.softmax_scale, "enable_gqa": case.heads_q != case.heads_kv}
        # Its causal mask is aligned at the top left; of one query, ours hides nothing.
        misaligned = case.causal and case.seqlen_q != case.seqlen_k and case.seqlen_q != 1
        if misaligned and not self._takes_mask:
            raise CannotError("its causal mask is aligned at the top left, and it takes no other")
        if misaligned or set(case.options()) & set(MASKED):
            options["attn_mask"] = mask_of(case, inputs)
        else:
            options["is_causal"] = case.causal and case.seqlen_q != 1
        attend = torch.nn.functional.scaled_dot_product_attention

        def call() -> Any:
            with attention.sdpa_kernel(backend):
                return attend(q, k, v, **options).transpose(1, 2)

        return call


class Varlen(ModulePeer):
    """torch.nn.attention.varlen, FlashAttention-2's code within PyTorch, for variable length alone."""

    name = "torch-varlen"
    package = "torch"
    modules = ("torch.nn.attention.varlen",)
    function = "varlen_attn"

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        if not case.ragged:
            raise CannotError("for variable length alone")
        only(case)
        attend = self.module().varlen_attn
        positions = (inputs.q, inputs.k, inputs.v, inputs.cu_seqlens_q, inputs.cu_seqlens_k, *longest(case))
        options: dict[str, Any] = {"scale": case.softmax_scale}
        if case.causal:
            if case.lengths_q != case.lengths_k:
                raise CannotError("its causal mask is not said to be aligned at the bottom right")
            # PyTorch 2.11 takes a window in place of the flag that came before it.
            flagged = "is_causal" in inspect.signature(attend).parameters
            options |= {"is_causal": True} if flagged else {"window_size": (-1, 0)}
        return lambda: attend(*positions, **options)
