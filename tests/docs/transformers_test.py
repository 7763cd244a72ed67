"""docs/transformers.md: its adapters give what the libraries' own attention gives. Skipped without the libraries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
PAGE = (Path(__file__).resolve().parents[2] / "docs/transformers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
#: Of each model's configuration; all are tiny and random.
SIZES: dict[str, float] = {
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 99,
    "initializer_range": 0.3,  # logits of some size, so that a softcap matters
}
MODELS: dict[str, dict[str, float]] = {
    "Llama": {},
    "Mistral": {"sliding_window": 16},
    "Gemma2": {"sliding_window": 16, "attn_logit_softcapping": 1.0, "query_pre_attn_scalar": 16},
    "GptOss": {"sliding_window": 16, "num_local_experts": 4, "num_experts_per_tok": 2},
}


def test_the_page_has_both_adapters() -> None:
    assert len(BLOCKS) == 2
    for block in BLOCKS:
        compile(block, "docs/transformers.md", "exec")


@pytest.mark.parametrize("name", MODELS)
def test_models_of_transformers(name: str) -> None:
    transformers = pytest.importorskip("transformers", minversion="5.0")
    exec(BLOCKS[0], {})
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**SIZES, **MODELS[name])
    model = getattr(transformers, f"{name}ForCausalLM")(config).eval()
    ids = torch.randint(2, 98, (2, 40))
    mask = torch.ones_like(ids)
    mask[1, :7] = 0

    def answers(attention: str) -> Any:
        model.set_attn_implementation(attention)
        with torch.no_grad():
            logits = model(ids).logits, model(ids, attention_mask=mask).logits[mask.bool()]
        return *logits, model.generate(ids, attention_mask=mask, max_new_tokens=8, do_sample=False)

    for ours, theirs in zip(answers("fit"), answers("eager")):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_a_unet_of_diffusers() -> None:
    diffusers = pytest.importorskip("diffusers")
    adapter: dict[str, Any] = {}
    exec(BLOCKS[1], adapter)
    torch.manual_seed(0)
    unet = diffusers.UNet2DConditionModel(
        sample_size=16,
        block_out_channels=(32, 64),
        layers_per_block=1,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=48,
        norm_num_groups=8,
    ).eval()
    image, text, mask = torch.randn(2, 4, 16, 16), torch.randn(2, 9, 48), torch.ones(2, 9, dtype=torch.bool)
    mask[1, 5:] = False

    def answers() -> Any:
        with torch.no_grad():
            return unet(image, 3, text).sample, unet(image, 3, text, encoder_attention_mask=mask).sample

    theirs = answers()
    adapter["use_flashfit"](unet)
    assert {type(processor).__name__ for processor in unet.attn_processors.values()} == {"FlashfitProcessor"}
    for ours, of_torch in zip(answers(), theirs):
        torch.testing.assert_close(ours, of_torch, rtol=1e-4, atol=1e-5)
