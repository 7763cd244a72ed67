"""Transformers' models with mixtures of experts, small and of random weights."""

from __future__ import annotations

from typing import Any

import torch
import transformers

SIZES: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 48,
    "moe_intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 16,
    "num_experts": 8,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
    "initializer_range": 0.3,
}
LATENT: dict[str, Any] = {
    "n_routed_experts": 8,
    "n_group": 4,
    "topk_group": 2,
    "first_k_dense_replace": 1,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
    "head_dim": 8,
}
#: Model -> its options, and what its gate is found to be.
MODELS: dict[str, tuple[dict[str, Any], str]] = {
    "Mixtral": ({}, "swiglu"),
    "Qwen3Moe": ({"norm_topk_prob": True}, "swiglu"),
    "Olmoe": ({}, "swiglu"),
    "GptOss": ({}, "Swiglu(alpha=1.702, limit=7.0, shift=1.0)"),
    "DeepseekV3": (LATENT, "swiglu"),
}

TOKENS = torch.arange(40).reshape(2, 20) % 97 + 2


def model_of(name: str, dtype: Any) -> Any:
    """The same weights at each call."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**{**SIZES, **MODELS[name][0]})
    config._attn_implementation = "eager"
    return getattr(transformers, f"{name}ForCausalLM")(config).to(dtype).eval()
