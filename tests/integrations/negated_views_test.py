"""Negated views in each tensor of each function that computes torch tensors. sdpa_test.py and comfyui_test.py have
those of their hosts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import flash_attn, torch_ops  # noqa: E402
from flashfit.integrations import flash_provider, sageattention  # noqa: E402

from tests.integrations.negated_views import Case, expect_its_own_sign, normal, parameters  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

B, N, H, D = 2, 9, 4, 16
SHARED = H // 2  # heads of k and v
CU = torch.tensor([0, N, B * N], dtype=torch.int32)
IDS = torch.arange(24, dtype=torch.int32).view(12, 2) % 4


def dense(heads: int = SHARED) -> tuple[Any, ...]:
    return normal(B, N, H, D), normal(B, N, heads, D) * 2, normal(B, N, heads, D) + 1


def heads_first(heads: int = SHARED) -> tuple[Any, ...]:
    return tuple(x.transpose(1, 2) for x in dense(heads))


def ragged() -> tuple[Any, ...]:
    return tuple(x.flatten(0, 1) for x in dense())


def layer() -> tuple[Any, ...]:
    return normal(12, 32), normal(4, 48, 32) / 5, normal(4, 32, 24) / 5


CASES: dict[str, Case] = {
    "attention": (lambda q, k, v: flashfit.attention(q, k, v, causal=True), dense(), 3),
    "attention, bias": (lambda q, k, v, x: flashfit.attention(q, k, v, bias=x), (*dense(), normal(N, N)), 3),
    "attention, sinks": (lambda q, k, v, x: flashfit.attention(q, k, v, sinks=x), (*dense(), normal(H)), 4),
    "attention, alibi": (lambda q, k, v, x: flashfit.attention(q, k, v, alibi_slopes=x), (*dense(), normal(H)), 3),
    "torch_ops": (lambda q, k, v: torch_ops.call(q, k, v), dense(), 3),
    "flash_attn_func": (lambda q, k, v: flash_attn.flash_attn_func(q, k, v, causal=True), dense(), 3),
    "deterministic": (lambda q, k, v: flash_attn.flash_attn_func(q, k, v, deterministic=True), dense(), 3),
    "strided": (
        lambda q, k, v: flash_attn.flash_attn_func(q, k, v),
        tuple(x.transpose(1, 3).contiguous().transpose(1, 3) for x in dense()),
        3,
    ),
    "alibi": (lambda q, k, v, x: flash_attn.flash_attn_func(q, k, v, alibi_slopes=x), (*dense(), normal(H)), 3),
    "qkvpacked": (flash_attn.flash_attn_qkvpacked_func, (normal(B, N, 3, H, D),), 1),
    "kvpacked": (flash_attn.flash_attn_kvpacked_func, (normal(B, N, H, D), normal(B, N, 2, SHARED, D)), 2),
    "varlen": (lambda q, k, v: flash_attn.flash_attn_varlen_func(q, k, v, CU, CU, N, N, causal=True), ragged(), 3),
    "varlen qkvpacked": (
        lambda qkv: flash_attn.flash_attn_varlen_qkvpacked_func(qkv, CU, N),
        (normal(B * N, 3, H, D),),
        1,
    ),
    "varlen kvpacked": (
        lambda q, kv: flash_attn.flash_attn_varlen_kvpacked_func(q, kv, CU, CU, N, N),
        (normal(B * N, H, D), normal(B * N, 2, SHARED, D)),
        2,
    ),
    "kvcache": (
        lambda q, k, v: flash_attn.flash_attn_with_kvcache(q, k, v, cache_seqlens=N - 2, causal=True),
        dense(),
        0,
    ),
    "sageattn": (lambda q, k, v: sageattention.sageattn(q, k, v, is_causal=True), heads_first(), 3),
    "sageattn_varlen": (lambda q, k, v: sageattention.sageattn_varlen(q, k, v, CU, CU, N, N), ragged(), 3),
    "provider": (lambda q, k, v: flash_provider.dense(q, k, v, 0.0, True, False), heads_first(H), 0),
    "provider, any lengths": (
        lambda q, k, v: flash_provider.of_any_lengths(q, k, v, CU, CU, N, N, 0.0, False, False),
        ragged(),
        0,
    ),
    "fused_moe": (
        lambda x, a, b, w, c, d: flashfit.fused_moe(x, a, b, topk_weights=w, topk_ids=IDS, b13=c, b2=d),
        (*layer(), normal(12, 2).abs(), normal(4, 48), normal(4, 32)),
        6,
    ),
    "fused_moe, router": (
        lambda x, a, b, c, d: flashfit.fused_moe(
            x, a, b, router_logits=c, top_k=2, router="sigmoid", router_bias=d.detach()
        ),
        (*layer(), normal(12, 4), normal(4)),
        4,
    ),
    "moe_route": (
        lambda x, b: flashfit.moe_route(x, 2, router="sigmoid", router_bias=b),
        (normal(12, 8), normal(8)),
        0,
    ),
}


@pytest.mark.parametrize(("name", "which", "gradients"), parameters(CASES))
def test_our_own_functions(name: str, which: int, gradients: bool) -> None:
    expect_its_own_sign(CASES[name], which, gradients)


def of_transformers() -> tuple[Any, dict[str, Case]]:
    pytest.importorskip("transformers", minversion="5.0")
    modeling = pytest.importorskip("transformers.modeling_utils")
    from flashfit.integrations import transformers as fit

    def attend(*given: Any, **options: Any) -> Any:
        return modeling.ALL_ATTENTION_FUNCTIONS[fit.NAME](torch.nn.Module(), *given, **options)[0]

    of_all, of_head = normal(B, 1, N, N), normal(1, H, N, N)
    return fit, {
        "plain": (lambda q, k, v: attend(q, k, v, None), heads_first(), 3),
        "mask": (attend, (*heads_first(), of_all), 3),
        "position_bias": (lambda q, k, v, x: attend(q, k, v, None, position_bias=x), (*heads_first(), of_head), 3),
        "both": (lambda q, k, v, x, y: attend(q, k, v, x, position_bias=y), (*heads_first(), of_all, of_head), 3),
        "sinks": (lambda q, k, v, x: attend(q, k, v, None, s_aux=x), (*heads_first(), normal(H)), 4),
    }


def of_xformers() -> tuple[Any, dict[str, Case]]:
    ops = pytest.importorskip("xformers.ops")
    from flashfit.integrations import xformers as fit

    return fit, {
        "plain": (ops.memory_efficient_attention, dense(H), 3),
        "bias": (
            lambda q, k, v, x: ops.memory_efficient_attention(q, k, v, attn_bias=x),
            (*dense(H), normal(B, H, N, N)),
            0,
        ),
    }


def of_diffusers() -> tuple[Any, dict[str, Case]]:
    dispatch = pytest.importorskip("diffusers.models.attention_dispatch")
    from flashfit.integrations import diffusers as fit

    attend = dispatch.dispatch_attention_fn
    return fit, {
        "plain": (attend, dense(H), 3),
        "mask": (lambda q, k, v, x: attend(q, k, v, attn_mask=x), (*dense(H), normal(B, 1, N, N)), 3),
    }


@pytest.mark.parametrize("host", [of_transformers, of_xformers, of_diffusers])
def test_functions_of_hosts(host: Callable[[], tuple[Any, dict[str, Case]]]) -> None:
    fit, cases = host()
    fit.HOST.notes.clear()
    with fit.installed() as taken:
        assert taken
        for parameter in parameters(cases):
            name, which, gradients = parameter.values
            expect_its_own_sign(cases[name], which, gradients)
        assert any(": took: " in line for line in fit.log())
        assert [line for line in fit.log() if ": left: " in line] == []
    fit.HOST.notes.clear()
