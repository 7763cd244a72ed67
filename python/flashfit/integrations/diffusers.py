"""Attention of diffusers' transformers (Flux, Wan, Qwen-Image and others), which call its `dispatch_attention_fn`.

Its list of backends is closed, so the one that is on unless another is asked for, `native`, is taken: that of PyTorch's
scaled_dot_product_attention. Backends that are asked for by name stay. Models of its class `Attention` call PyTorch's
function themselves, which is flashfit.integrations.sdpa's to take.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ._host import Host


def _put_in() -> Callable[[], None]:
    import torch
    from diffusers.models.attention_dispatch import AttentionBackendName, _AttentionBackendRegistry

    from .. import torch_ops  # noqa: F401 - registers the operators, before anything traces
    from ._known_calls import LeftCalls
    from ._torch_take import taker

    backends = _AttentionBackendRegistry._backends
    native = backends[AttentionBackendName.NATIVE]
    known = LeftCalls(HOST.notes)
    take = taker(HOST.notes, known.knower)
    is_compiling = torch.compiler.is_dynamo_compiling
    in_autocast = torch._C._is_any_autocast_enabled

    def turned(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any,
        dropout_p: float,
        is_causal: bool,
        scale: Any,
        enable_gqa: bool,
        left: str = "",
    ) -> Any:
        """The call with heads before rows; NotImplemented for what is left."""
        mask = attn_mask
        if mask is not None and mask.dim() == 2 and mask.shape[0] == query.shape[0] and mask.shape[1] == key.shape[1]:
            mask = mask[:, None, None]
        turn = (query, key, value)
        if query.dim() == key.dim() == value.dim() == 4:
            turn = (query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2))
        elif not left:
            left = f"query, key and value: {query.dim()}, {key.dim()} and {value.dim()} dimensions"
        out = take(*turn, mask, dropout_p, is_causal, scale, enable_gqa, left)
        return out if out is NotImplemented else out.transpose(1, 2)

    left_or_turned = known.left_or(turned)

    def fit_native(
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: Any = None,
        enable_gqa: bool = False,
        return_lse: bool = False,
        _parallel_config: Any = None,
        **others: Any,
    ) -> Any:
        """As diffusers calls it: query [batch, rows, heads, head_dim], key and value [batch, keys, heads_kv, head_dim];
        attn_mask [batch, keys], or what PyTorch's function takes."""
        left = ""
        if _parallel_config is not None:
            left = "_parallel_config: context parallelism"
        elif return_lse:
            left = "return_lse: True"
        elif others:
            left = f"{next(iter(others))}: not an argument of the backend when this was written"
        if left or is_compiling() or in_autocast():  # whose dtype the memory does not know
            out = turned(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, left)
        else:
            out = left_or_turned(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        if out is not NotImplemented:
            return out
        ask = partial(native, return_lse=return_lse, _parallel_config=_parallel_config, **others) if left else native
        return ask(
            query,
            key,
            value,
            attn_mask=attn_mask,
            dropout_p=dropout_p,
            is_causal=is_causal,
            scale=scale,
            enable_gqa=enable_gqa,
        )

    backends[AttentionBackendName.NATIVE] = fit_native

    def take_out() -> None:
        if backends.get(AttentionBackendName.NATIVE) is fit_native:
            backends[AttentionBackendName.NATIVE] = native
        known.settle()

    return take_out


HOST = Host("diffusers", _put_in)
install, uninstall, installed, log = HOST.install, HOST.uninstall, HOST.installed, HOST.log
