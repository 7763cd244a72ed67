"""Who may compute a stack's attention and experts: what PyTorch has, what is installed beside it, and flashfit."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import flashfit
from flashfit.integrations import sdpa
from torch.nn.attention import SDPBackend, sdpa_kernel

from tools.gpu.stacks import Experts, by_a_loop, by_grouped_products, by_pytorch

#: What models run that nobody changed.
DEFAULT = "PyTorch's choice"


@dataclass(frozen=True)
class Side:
    name: str
    attention: Callable[..., Any] = by_pytorch
    experts: Callable[..., Any] = by_grouped_products
    within: Callable[[], AbstractContextManager[Any]] = nullcontext
    of_experts: bool = False  # it differs from another side in its experts
    captures: bool = True  # into a CUDA graph


def by_flashfit(x: Any, layer: Experts, weights: Any, ids: Any) -> Any:
    return flashfit.fused_moe(x, layer.w13, layer.w2, topk_weights=weights, topk_ids=ids)


def _by_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    """Attention by a function of FlashAttention's: [batch, rows, heads, head_dim]."""

    def attention(q: Any, k: Any, v: Any, causal: bool) -> Any:
        found = function(*(x.transpose(1, 2) for x in (q, k, v)), causal=causal)
        out = found[0] if isinstance(found, tuple) else found  # some releases return the LSE, too
        return out.transpose(1, 2)

    return attention


def _installed() -> Iterator[Side]:
    for name, module in (
        ("FlashAttention-2", "flash_attn"),
        ("FlashAttention-3", "flash_attn_interface"),
        ("FlashAttention-3 (vLLM)", "fa3_fwd_interface"),
    ):
        try:
            there = importlib.util.find_spec(module) is not None
            function = getattr(importlib.import_module(module), "flash_attn_func", None) if there else None
        except Exception as error:  # one that does not load is not there
            print(f"without {name}: {error}")
            continue
        if function is not None and not function.__module__.startswith("flashfit"):
            yield Side(name, _by_rows(function))


def there(device: str) -> list[Side]:
    """The default first, flashfit last."""
    found = [Side(DEFAULT)]
    if device == "cuda":
        for name, backend in (("flash", "FLASH_ATTENTION"), ("cuDNN", "CUDNN_ATTENTION")):
            one = getattr(SDPBackend, backend, None)
            if one is not None:
                found.append(Side(f"PyTorch's {name}", within=lambda one=one: sdpa_kernel([one])))  # type: ignore[misc]
        found += _installed()
    found.append(Side("its experts in a loop", experts=by_a_loop, of_experts=True, captures=False))
    found.append(Side("flashfit", within=sdpa.installed))
    found.append(Side("flashfit's experts", experts=by_flashfit, of_experts=True))
    found.append(Side("flashfit, both", experts=by_flashfit, within=sdpa.installed, of_experts=True))
    return found
