"""The same by Transformers' own models where that is installed: Llama 8B's and Qwen3-30B-A3B's sizes, few layers."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from tools.gpu.model_job import Job, timed
from tools.gpu.sides import DEFAULT, Side


def _llama(tiny: bool) -> dict[str, Any]:
    sizes = {"hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8}
    return {k: n // 64 if "size" in k else n // 8 for k, n in sizes.items()} if tiny else sizes


def _qwen(tiny: bool) -> dict[str, Any]:
    if tiny:
        heads = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
        return {**heads, "moe_intermediate_size": 32, "num_experts": 8, "num_experts_per_tok": 2}
    heads = {"hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128}
    return {**heads, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8}


def _model(name: str, sizes: dict[str, Any], device: str) -> Any:
    import transformers

    config = getattr(transformers, f"{name}Config")(
        vocab_size=1024, num_hidden_layers=4, max_position_embeddings=32768, pad_token_id=0, **sizes
    )
    torch.manual_seed(0)
    with torch.device(device):
        model = getattr(transformers, f"{name}ForCausalLM")(config)
    return model.to(torch.bfloat16).eval()


def _prefill(name: str, sizes: dict[str, Any], job: Job) -> dict[str, Any]:
    from flashfit.integrations import transformers as attention
    from flashfit.integrations import transformers_experts as experts

    rows = 32 if job.tiny else 8192
    model = _model(name, sizes, job.device)
    prompt = torch.randint(1, 1024, (1, rows), device=job.device)
    default = getattr(model.config, "_experts_implementation", None) if "num_experts" in sizes else None
    ways: list[tuple[str, str, str | None]] = [(DEFAULT, "sdpa", default)]
    if importlib.util.find_spec("flash_attn"):
        ways.append(("FlashAttention-2", "flash_attention_2", default))
    ways.append(("flashfit", "fit_attention", default))
    if default:
        ways.append(("flashfit, both", "fit_attention", "fit_experts"))

    @contextmanager
    def within(of_attention: str, of_experts: str | None) -> Iterator[None]:
        model.set_attn_implementation(of_attention)
        if of_experts:
            model.set_experts_implementation(of_experts)
        yield

    def step() -> Any:
        with torch.no_grad():
            return model(prompt, use_cache=False, logits_to_keep=1).logits

    with attention.installed(), experts.installed():
        sides = [Side(side, within=partial(within, attends, routes)) for side, attends, routes in ways]
        found = timed(job, sides, lambda _: step, "tokens/s", rows, capture=False)
        return {**found, "hosts": attention.log() + experts.log()}


def run(job: Job) -> None:
    """The parts; one that says so where there is no Transformers."""
    if not importlib.util.find_spec("transformers"):
        job.part("Transformers", lambda: {"not_run": "Transformers is not installed"})
        return
    for name, sizes in (("Llama", _llama(job.tiny)), ("Qwen3Moe", _qwen(job.tiny))):
        job.part(f"Transformers: {name}", partial(_prefill, name, sizes, job))
