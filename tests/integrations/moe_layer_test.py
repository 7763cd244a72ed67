"""flashfit.nn.MoeLayer with the weights of Transformers' own models, as their checkpoints name them: logits against the
models' own eager experts. Skipped without Transformers."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers", minversion="5.0")
safetensors: Any = pytest.importorskip("safetensors")
from flashfit.nn import MoeLayer  # noqa: E402

from tests.integrations.tiny_models import TOKENS, model_of  # noqa: E402

#: Model -> how its checkpoint names the layer that takes the place of `mlp`.
BLOCKS = {"Mixtral": "block_sparse_moe", "Qwen3Moe": "mlp", "GptOss": "mlp", "DeepseekV3": "mlp"}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class WithScores(torch.nn.Module):  # type: ignore[misc]
    """GPT-OSS's block gives its router's scores, too, which its model looks at in training alone."""

    def __init__(self, layer: MoeLayer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        return self.layer(x), None


def put_in(model: Any, name: str, tensors: Any, **options: Any) -> list[MoeLayer]:
    """Takes flashfit's layers for a model's."""
    layers = []
    for i, block in enumerate(model.model.layers):
        if hasattr(block.mlp, "experts"):
            prefix = f"model.layers.{i}.{BLOCKS[name]}"
            layers.append(MoeLayer.from_checkpoint(model.config, tensors, prefix, **options))
            block.mlp = WithScores(layers[-1]) if name == "GptOss" else layers[-1]
    return layers


@pytest.fixture
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, str, Path]:
    """A model and the folder of its checkpoint, as Transformers writes them."""
    name = request.param
    model = model_of(name, torch.float32)
    model.set_experts_implementation("eager")
    if name == "DeepseekV3":  # so that it chooses otherwise than the scores alone
        for module in model.modules():
            if hasattr(module, "e_score_correction_bias"):
                module.e_score_correction_bias.normal_(generator=torch.Generator().manual_seed(1))
    model.save_pretrained(tmp_path)
    return model, name, tmp_path


def opened(folder: Path) -> Any:
    return safetensors.safe_open(folder / "model.safetensors", "pt")


@pytest.mark.parametrize("saved", BLOCKS, indirect=True)
def test_logits_are_as_near_to_fp64_as_the_models_own(saved: tuple[Any, str, Path]) -> None:
    own, name, folder = saved
    mine = copy.deepcopy(own)
    with opened(folder) as tensors:
        keys = set(tensors.keys())
        layers = put_in(mine, name, tensors)
    assert any(".experts.0." in key for key in keys) == (name != "GptOss")  # as checkpoints have it, not the modules
    assert len(layers) == (1 if name == "DeepseekV3" else 2)
    with torch.no_grad():
        ours, theirs = mine(TOKENS).logits, own(TOKENS).logits
        exact = own.double()(TOKENS).logits
    error, its = ((x.double() - exact).abs().max() for x in (ours, theirs))
    assert error <= 2 * its, f"{error:.3g} against the model's own {its:.3g}"


@pytest.mark.parametrize("saved", BLOCKS, indirect=True)
def test_tensors_of_all_experts_give_the_same(saved: tuple[Any, str, Path]) -> None:
    """As Transformers' modules name them, where a model is in memory already."""
    own, name, folder = saved
    with opened(folder) as tensors:
        layers = put_in(copy.deepcopy(own), name, tensors)
    packed = own.state_dict()
    which = [i for i, block in enumerate(own.model.layers) if hasattr(block.mlp, "experts")]
    for i, layer in zip(which, layers):
        again = MoeLayer.from_checkpoint(own.config, packed, f"model.layers.{i}.mlp")
        for key, x in layer.state_dict().items():
            assert torch.equal(x, again.state_dict()[key]), key


@pytest.mark.parametrize("saved", ["Mixtral", "GptOss"], indirect=True)
def test_config_json_serves_as_the_config_does(saved: tuple[Any, str, Path]) -> None:
    own, name, folder = saved
    written = transformers.PretrainedConfig.get_config_dict(folder)[0]
    with opened(folder) as tensors:
        prefix = f"model.layers.0.{BLOCKS[name]}"
        layers = [MoeLayer.from_checkpoint(config, tensors, prefix) for config in (own.config, written)]
    assert repr(layers[0]) == repr(layers[1])


def random_bytes(*shape: int, low: int = 0, high: int = 256) -> Any:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(len(shape)), dtype=torch.uint8)


def test_mxfp4_is_unpacked_as_transformers_unpacks_it() -> None:
    mxfp4 = pytest.importorskip("transformers.integrations.mxfp4")
    sizes = {"hidden_size": 96, "intermediate_size": 64, "num_local_experts": 4, "num_experts_per_tok": 2}
    tensors = {"mlp.router.weight": torch.randn(4, 96), "mlp.router.bias": torch.randn(4)}
    exact = {}
    for name, outputs, depth in (("gate_up_proj", 128, 96), ("down_proj", 96, 64)):
        blocks = random_bytes(4, outputs, depth // 32, 16)
        scales = random_bytes(4, outputs, depth // 32, low=100, high=140)
        key = f"mlp.experts.{name}"
        tensors.update({f"{key}_blocks": blocks, f"{key}_scales": scales, f"{key}_bias": torch.randn(4, outputs)})
        exact[name] = mxfp4.convert_moe_packed_tensors(blocks, scales, dtype=torch.bfloat16)
    layer = MoeLayer.from_checkpoint({"model_type": "gpt_oss", **sizes}, tensors, "mlp", unpack=True)
    assert layer.w13.dtype == torch.bfloat16
    assert torch.equal(layer.w13, exact["gate_up_proj"].mT)
    assert torch.equal(layer.w2, exact["down_proj"].mT)


def test_fp8_is_unpacked_as_transformers_unpacks_it() -> None:
    fp8 = pytest.importorskip("transformers.integrations.finegrained_fp8")
    own = model_of("DeepseekV3", torch.float32)
    prefix = "model.layers.1.mlp"
    config = {**own.config.to_dict(), "quantization_config": {"weight_block_size": [16, 8]}}
    tensors, exact = dict[str, Any](), dict[str, Any]()
    for name, x in own.model.layers[1].mlp.gate.state_dict().items():
        tensors[f"{prefix}.gate.{name}"] = x
    experts = [f"experts.{e}" for e in range(8)]
    for owner in (*experts, "shared_experts"):
        for which, rows, columns in (("gate_proj", 48, 64), ("up_proj", 48, 64), ("down_proj", 64, 48)):
            weight = torch.randn(rows, columns).to(torch.float8_e4m3fn)
            scale = torch.rand(rows // 16, columns // 8)
            name = f"{owner}.{which}"
            tensors.update({f"{prefix}.{name}.weight": weight, f"{prefix}.{name}.weight_scale_inv": scale})
            exact[name] = fp8.Fp8Dequantize(None)._dequantize_one(weight, scale, torch.bfloat16)
    layer = MoeLayer.from_checkpoint(config, tensors, prefix, unpack=True)
    for e, owner in enumerate(experts):
        assert torch.equal(layer.w13[e], torch.cat([exact[f"{owner}.gate_proj"], exact[f"{owner}.up_proj"]]))
        assert torch.equal(layer.w2[e], exact[f"{owner}.down_proj"])
    assert torch.equal(layer.shared_w2, exact["shared_experts.down_proj"])
    assert layer.gate.dtype == torch.float32
