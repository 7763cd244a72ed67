"""flashfit.nn.MoeLayer: what it computes, under autograd, autocast, torch.compile and opcheck, and what it refuses to
load. With Transformers' models: tests/integrations/moe_layer_test.py."""

from __future__ import annotations

import copy
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit.nn import MoeLayer  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0")

SIZES: dict[str, Any] = {"hidden": 64, "intermediate": 48, "experts": 8, "top_k": 2}
LAYERS: dict[str, dict[str, Any]] = {
    "Mixtral": {},
    "GPT-OSS": {
        "router": "topk_softmax",
        "activation": flashfit.Swiglu(1.702, 7.0, 1.0),
        "gate_up": "interleaved",
        "transposed": True,
        "gate_bias": True,
        "biases": True,
    },
    "DeepSeek-V3": {
        "router": "sigmoid",
        "groups": (4, 2),
        "scale": 2.5,
        "gate_dtype": torch.float32,
        "router_bias": True,
        "shared_intermediate": 32,
    },
    "relu2": {"activation": "relu2", "router": "sigmoid", "renormalize": False},
    "transposed, shared": {"transposed": True, "router": "sigmoid", "shared_intermediate": 40},
}


def made(name: str, dtype: Any = torch.float32) -> tuple[MoeLayer, Any]:
    """A layer without zeros, and x."""
    torch.manual_seed(0)
    layer = MoeLayer(**SIZES, **LAYERS[name], dtype=dtype)
    with torch.no_grad():
        for x in (layer.gate_bias, layer.b13, layer.b2, layer.router_bias):
            if x is not None:
                x.normal_()
    return layer, torch.randn(2, 20, 64, dtype=dtype)


def by_fused_moe(layer: MoeLayer, x: Any, **more: Any) -> Any:
    logits = torch.nn.functional.linear(x.reshape(-1, 64).to(layer.gate.dtype), layer.gate, layer.gate_bias)
    for name in ("b13", "b2", "router_bias"):
        if getattr(layer, name) is not None:
            more[name] = getattr(layer, name)
    if layer.shared_w13 is not None:
        more["shared"] = layer.shared_w13, layer.shared_w2
    return flashfit.fused_moe(x.reshape(-1, 64), layer.w13, layer.w2, router_logits=logits, top_k=2, **more)


@pytest.mark.parametrize("name", LAYERS)
def test_it_is_fused_moe_of_its_parameters(name: str) -> None:
    layer, x = made(name)
    names = ("router", "activation", "gate_up", "transposed", "groups", "scale", "renormalize")
    options = {key: value for key, value in LAYERS[name].items() if key in names}
    with torch.no_grad():
        found = layer(x)
        assert torch.equal(found.reshape(-1, 64), by_fused_moe(layer, x, **options))
        assert torch.equal(layer(x[1]), found[1])
        torch.testing.assert_close(layer(x[0, 3]), found[0, 3])  # torch adds up a row's logits otherwise
    again = MoeLayer(**SIZES, **LAYERS[name])
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(x), found)


@pytest.mark.parametrize("transposed", [False, True])
def test_new_weights_have_variance_1_over_the_depth(transposed: bool) -> None:
    layer = MoeLayer(hidden=64, intermediate=400, experts=4, top_k=2, shared_intermediate=900, transposed=transposed)
    depths: dict[str, int] = {"w13": 64, "w2": 400, "shared_w13": 64, "shared_w2": 900}
    for name, depth in depths.items():
        weights: Any = getattr(layer, name)
        assert weights.shape[-2 if transposed else -1] == depth
        assert weights.detach().std().item() * depth**0.5 == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("name", LAYERS)
def test_every_parameter_learns(name: str) -> None:
    layer, x = made(name)
    x.requires_grad_()
    layer(x).square().sum().backward()
    for key, parameter in layer.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.abs().max() > 0, key
    assert x.grad.abs().max() > 0
    assert [key for key, _ in layer.named_buffers()] == (["router_bias"] if layer.router_bias is not None else [])


@pytest.mark.parametrize("name", LAYERS)
def test_compiled_it_has_one_graph_the_same_bits_and_gradients(name: str) -> None:
    torch._dynamo.reset()
    layer, x = made(name)
    mine = copy.deepcopy(layer)
    compiled = torch.compile(mine, fullgraph=True, backend="aot_eager")
    for each in (layer, compiled):
        each(x).square().sum().backward()
    assert torch.equal(compiled(x), layer(x))
    for (key, a), (_, b) in zip(mine.named_parameters(), layer.named_parameters()):
        assert torch.equal(a.grad, b.grad), key


@pytest.mark.parametrize("name", ["Mixtral", "DeepSeek-V3"])
def test_autocast_rounds_products_and_leaves_an_fp32_gate(name: str) -> None:
    layer, x = made(name)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(x)
    assert found.dtype == torch.bfloat16
    half = copy.deepcopy(layer).bfloat16()
    logits = torch.nn.functional.linear(x.reshape(-1, 64), layer.gate)
    given = {key: value for key, value in LAYERS[name].items() if key in ("router", "groups", "scale")}
    shared = None if half.shared_w13 is None else (half.shared_w13, half.shared_w2)
    want = flashfit.fused_moe(
        x.reshape(-1, 64).bfloat16(), half.w13, half.w2, router_logits=logits, top_k=2,
        router_bias=layer.router_bias, shared=shared, **given,
    )  # fmt: skip
    assert torch.equal(found.reshape(-1, 64), want)


def test_opcheck_of_its_call() -> None:
    layer, x = made("DeepSeek-V3")
    rows = x.reshape(-1, 64).requires_grad_()
    logits = torch.nn.functional.linear(rows, layer.gate).detach().requires_grad_()
    shared = (layer.shared_w13, layer.shared_w2)
    given = (rows, layer.w13, layer.w2, logits, *(None,) * 5, layer.router_bias, None, *shared)
    options = {"top_k": 2, "router": "sigmoid", "groups": 4, "groups_kept": 2, "scale": 2.5}
    torch.library.opcheck(torch.ops.flashfit.fused_moe.default, given, options)


QWEN: dict[str, Any] = {
    "model_type": "qwen3_moe",
    "hidden_size": 32,
    "moe_intermediate_size": 16,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "norm_topk_prob": True,
    "hidden_act": "silu",
}


def checkpoint() -> dict[str, Any]:
    found = {"mlp.gate.weight": torch.randn(4, 32)}
    for e in range(4):
        for name, *shape in (("gate_proj", 16, 32), ("up_proj", 16, 32), ("down_proj", 32, 16)):
            found[f"mlp.experts.{e}.{name}.weight"] = torch.randn(*shape)
    return found


def test_packing_reads_each_tensor_once_and_keeps_its_dtype() -> None:
    tensors, read = checkpoint(), list[str]()

    class File:
        """As an opened safetensors file is."""

        def keys(self) -> Any:
            return [*tensors, "mlp2.gate.weight", "lm_head.weight"]

        def get_tensor(self, name: str) -> Any:
            read.append(name)
            return tensors[name].bfloat16()

    layer = MoeLayer.from_checkpoint(QWEN, File(), "mlp")
    assert layer.w13.dtype == torch.bfloat16
    first = "mlp.experts.0.gate_proj.weight"  # whose dtype is looked at beforehand
    assert sorted(read) == sorted([first, *tensors])
    for e in range(4):
        gate, up = (tensors[f"mlp.experts.{e}.{name}_proj.weight"].bfloat16() for name in ("gate", "up"))
        assert torch.equal(layer.w13[e], torch.cat([gate, up]))
    assert MoeLayer.from_checkpoint(QWEN, tensors, "mlp.", dtype=torch.float16).w2.dtype == torch.float16


def test_what_it_does_not_load_is_refused_by_name() -> None:
    tensors = checkpoint()
    first, last = "mlp.experts.0.gate_proj.weight", "mlp.experts.3.down_proj.weight"
    second = "mlp.experts.0.up_proj.weight"
    fp8 = {name: x.to(torch.float8_e4m3fn) if "experts" in name else x for name, x in tensors.items()}
    scaled = {**fp8, **{f"{name}_scale_inv": torch.ones(1, 1) for name in fp8 if "experts" in name}}
    few = {name: x for name, x in tensors.items() if name != last}
    wrong: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({**QWEN, "model_type": "llama"}, tensors, "config: its model_type is 'llama'; accepted: 'mixtral', "),
        ({**QWEN, "hidden_act": "relu"}, tensors, "config: its hidden_act is 'relu'; accepted: 'silu', "),
        ({**QWEN, "hidden_size": None}, tensors, "config: it has no hidden_size; accepted: what"),
        (QWEN, few, f"tensors: there is no {last}; accepted: a checkpoint that has it"),
        (QWEN, {}, f"tensors: there is no {first}; accepted: "),
        (QWEN, {**tensors, last: torch.randn(16, 32)}, f"{last}: shape is (16, 32); accepted: (32, 16)"),
        (QWEN, {**tensors, "mlp.gate.bias": torch.randn(4)}, "tensors: mlp.gate.bias is no weight of such a layer; "),
        (QWEN, {**tensors, last: tensors[last].to(torch.int8)}, f"{last}: dtype is torch.int8; accepted: "),
        (QWEN, fp8, f"{first}: dtype is torch.float8_e4m3fn without weight_scale_inv; accepted: "),
        (QWEN, {**scaled, f"{last}_scale_inv": torch.ones(1, 2)}, ""),
        (QWEN, scaled, f"unpack: False, and {first} is stored as torch.float8_e4m3fn; accepted: True, which unpacks "
                       "the experts to 12,288 bytes of torch.bfloat16"),
        (QWEN, {**scaled, first: tensors[first]}, f"unpack: False, and {second} is stored as torch.float8_e4m3fn; "
                                                  "accepted: True, which unpacks it to torch.float32"),
    ]  # fmt: skip
    for config, given, words in wrong:
        with pytest.raises(flashfit.InvalidArgument) as caught:
            MoeLayer.from_checkpoint(config, given, "mlp", unpack=not words)
        said = words or f"{last}_scale_inv: shape is (1, 2); accepted: (1, 1)"
        assert str(caught.value).startswith(said), str(caught.value)
        assert "\n" not in str(caught.value)
    assert MoeLayer.from_checkpoint(QWEN, scaled, "mlp", unpack=True).w2.dtype == torch.bfloat16
    blocks = {"mlp.experts.gate_up_proj_blocks": torch.zeros(1, dtype=torch.uint8)}
    config = {"model_type": "gpt_oss", "hidden_size": 64, "intermediate_size": 32, "num_local_experts": 2}
    with pytest.raises(flashfit.InvalidArgument, match=r"is stored as mxfp4; .* 24,576 bytes of torch.bfloat16"):
        MoeLayer.from_checkpoint({**config, "num_experts_per_tok": 2}, blocks, "mlp")


DEEPSEEK: dict[str, Any] = {
    **{key: value for key, value in QWEN.items() if key != "num_experts"},
    "model_type": "deepseek_v3",
    "n_routed_experts": 4,
    "n_group": 1,
    "topk_group": 1,
    "routed_scaling_factor": 2.5,
    "n_shared_experts": 1,
}
OTHER_VALUES: list[tuple[dict[str, Any], str]] = [
    ({**QWEN, "model_type": ["qwen3_moe"]}, "config: its model_type is ['qwen3_moe']; accepted: 'mixtral', "),
    ({**QWEN, "hidden_act": ["silu"]}, "config: its hidden_act is ['silu']; accepted: 'silu', "),
    ({**QWEN, "norm_topk_prob": "false"}, "config: its norm_topk_prob is 'false'; accepted: True, False"),
    ({**DEEPSEEK, "routed_scaling_factor": "2.5"}, "config: its routed_scaling_factor is '2.5'; accepted: a number"),
    ({**DEEPSEEK, "scoring_func": "softmax"}, "config: its scoring_func is 'softmax'; accepted: 'sigmoid'"),
    ({**DEEPSEEK, "topk_method": "greedy"}, "config: its topk_method is 'greedy'; accepted: 'noaux_tc'"),
    ({**DEEPSEEK, "n_shared_experts": "1"}, "config: its n_shared_experts is '1'; accepted: an integer from 0"),
    *(
        (
            {**QWEN, "quantization_config": {"weight_block_size": block}},
            f"config: its weight_block_size is {block}; accepted: two integers from 1",
        )
        for block in ([128], [0, 128], [64.0, 64.0], 128, [None, None])
    ),
]


@pytest.mark.parametrize(("config", "words"), OTHER_VALUES, ids=[words[12:50] for _, words in OTHER_VALUES])
def test_a_config_of_other_values_is_refused_in_one_line(config: dict[str, Any], words: str) -> None:
    with pytest.raises(flashfit.InvalidArgument) as caught:
        MoeLayer.from_checkpoint(config, checkpoint(), "mlp")
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


def test_what_is_no_checkpoint_is_refused_in_one_line() -> None:
    given: dict[str, Any] = {"config": QWEN, "tensors": checkpoint(), "prefix": "mlp"}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"tensors": None}, "tensors: builtins.NoneType; accepted: a mapping, an opened safetensors file, or"),
        (
            {"tensors": ["mlp.gate.weight"]},
            "tensors: builtins.str; accepted: a mapping, an opened safetensors file",
        ),
        (
            {"tensors": "model.safetensors"},
            "tensors: builtins.str; accepted: a mapping, an opened safetensors file",
        ),
        (
            {"tensors": {**checkpoint(), "mlp.gate.weight": None}},
            "mlp.gate.weight: builtins.NoneType; accepted: ",
        ),
        ({"dtype": "bfloat16"}, "dtype: 'bfloat16'; accepted: torch.float16, "),
        ({"dtype": torch.float64, "tensors": {}}, "dtype: torch.float64; accepted: torch.float16, "),
        ({"prefix": 3}, "prefix: 3; accepted: what the layer's names begin with"),
        ({"unpack": "no"}, "unpack: 'no'; accepted: True, False"),
    ]
    for bent, words in wrong:
        with pytest.raises(flashfit.InvalidType) as caught:
            MoeLayer.from_checkpoint(**{**given, **bent})
        assert str(caught.value).startswith(words)


def test_a_layer_may_lie_in_several_files() -> None:
    tensors = checkpoint()
    names = list(tensors)
    files = [{name: tensors[name] for name in names[i::3]} for i in range(3)]
    files[0].update({"mlp2.gate.weight": torch.zeros(1), 3: None})  # type: ignore[dict-item]
    layer, want = (MoeLayer.from_checkpoint(QWEN, each, "mlp") for each in (files, tensors))
    assert all(torch.equal(x, want.state_dict()[name]) for name, x in layer.state_dict().items())
    words = r"^tensors: mlp\.gate\.weight is in two of them; accepted: each tensor in one$"
    with pytest.raises(flashfit.InvalidArgument, match=words):
        MoeLayer.from_checkpoint(QWEN, (*files, {"mlp.gate.weight": tensors["mlp.gate.weight"]}), "mlp")


@pytest.mark.parametrize("block", [(16, 8), (5, 7)])
def test_fp8_of_all_experts_is_unpacked(block: tuple[int, int]) -> None:
    tensors, exact = {"mlp.gate.weight": torch.randn(4, 32)}, dict[str, Any]()
    for name, *shape in (("gate_up_proj", 32, 32), ("down_proj", 32, 16)):
        rows, columns = (torch.arange(size) // one for size, one in zip(shape, block))
        numbers = torch.randn(4, *shape).to(torch.float8_e4m3fn)
        scales = torch.rand(4, int(rows[-1]) + 1, int(columns[-1]) + 1)
        tensors.update({f"mlp.experts.{name}": numbers, f"mlp.experts.{name}_scale_inv": scales})
        exact[name] = (numbers.float() * scales[:, rows][:, :, columns]).bfloat16()
    config = {**QWEN, "quantization_config": {"weight_block_size": block}}
    layer = MoeLayer.from_checkpoint(config, tensors, "mlp", unpack=True)
    assert torch.equal(layer.w13, exact["gate_up_proj"])
    assert torch.equal(layer.w2, exact["down_proj"])


def test_a_block_s_own_state_has_no_prefix() -> None:
    own = {name[len("mlp.") :]: x for name, x in checkpoint().items()}
    assert torch.equal(MoeLayer.from_checkpoint(QWEN, own, "").gate, own["gate.weight"])


def test_a_deepseek_layer_may_have_no_shared_expert() -> None:
    tensors = {**checkpoint(), "mlp.gate.e_score_correction_bias": torch.randn(4)}
    layer = MoeLayer.from_checkpoint({**DEEPSEEK, "n_shared_experts": 0}, tensors, "mlp")
    assert layer.shared_w13 is None
    assert torch.equal(layer.router_bias, tensors["mlp.gate.e_score_correction_bias"])


def mxfp4() -> tuple[dict[str, Any], dict[str, Any]]:
    """A config of GPT-OSS and its layer, whose experts are of mxfp4."""
    config = {"model_type": "gpt_oss", "hidden_size": 64, "intermediate_size": 32, "num_local_experts": 4}
    tensors = {"mlp.router.weight": torch.randn(4, 64), "mlp.router.bias": torch.randn(4)}
    for name, depth, outputs in (("gate_up_proj", 64, 64), ("down_proj", 32, 64)):
        tensors[f"mlp.experts.{name}_blocks"] = torch.randint(0, 256, (4, outputs, depth // 32, 16), dtype=torch.uint8)
        tensors[f"mlp.experts.{name}_scales"] = torch.randint(120, 134, (4, outputs, depth // 32), dtype=torch.uint8)
        tensors[f"mlp.experts.{name}_bias"] = torch.randn(4, outputs)
    return {**config, "num_experts_per_tok": 2}, tensors


def test_scales_of_mxfp4_are_powers_of_two_whatever_their_bytes_are_called() -> None:
    config, tensors = mxfp4()
    scales = "mlp.experts.gate_up_proj_scales"
    tensors[scales][1, 2, 0] = 255  # E8M0's NaN
    layer = MoeLayer.from_checkpoint(config, tensors, "mlp", unpack=True)
    none = torch.zeros_like(layer.w13, dtype=torch.bool)
    none[1, 2, :32] = True
    assert torch.equal(layer.w13.isnan(), none)
    assert layer.w13[~none].isfinite().all()
    for dtype in (torch.int32, torch.float32):
        with pytest.raises(flashfit.InvalidArgument) as caught:
            MoeLayer.from_checkpoint(config, {**tensors, scales: tensors[scales].to(dtype)}, "mlp", unpack=True)
        assert str(caught.value).startswith(f"{scales}: dtype is {dtype}; accepted: torch.uint8")
    if hasattr(torch, "float8_e8m0fnu"):  # torch 2.7
        named = {**tensors, scales: tensors[scales].view(torch.float8_e8m0fnu)}
        again = MoeLayer.from_checkpoint(config, named, "mlp", unpack=True)
        assert torch.equal(again.w13[~none], layer.w13[~none])


def test_blocks_of_mxfp4_are_bytes() -> None:
    config, tensors = mxfp4()
    blocks = "mlp.experts.down_proj_blocks"
    tensors[blocks] = tensors[blocks].float()
    with pytest.raises(flashfit.InvalidArgument) as caught:
        MoeLayer.from_checkpoint(config, tensors, "mlp", unpack=True)
    assert str(caught.value) == f"{blocks}: dtype is torch.float32; accepted: torch.uint8"


def test_scales_of_fp8_are_no_integers() -> None:
    tensors = checkpoint()
    for name in [name for name in tensors if "experts" in name]:
        tensors[name] = tensors[name].to(torch.float8_e4m3fn)
        tensors[f"{name}_scale_inv"] = torch.ones(1, 1, dtype=torch.int32)
    with pytest.raises(flashfit.InvalidArgument) as caught:
        MoeLayer.from_checkpoint(QWEN, tensors, "mlp", unpack=True)
    first = "mlp.experts.0.gate_proj.weight_scale_inv"
    assert str(caught.value).startswith(f"{first}: dtype is torch.int32; accepted: torch.bfloat16, ")


def test_weights_lie_as_gpt_oss_stores_them() -> None:
    config = {"model_type": "gpt_oss", "hidden_size": 64, "intermediate_size": 32, "num_local_experts": 4}
    tensors = {"router.weight": torch.randn(4, 64), "router.bias": torch.randn(4)}
    for name, depth, outputs in (("gate_up_proj", 64, 64), ("down_proj", 32, 64)):
        tensors[f"experts.{name}"] = torch.randn(4, depth, outputs)
        tensors[f"experts.{name}_bias"] = torch.randn(4, outputs)
    stored = {f"mlp.{name}": x for name, x in tensors.items()}
    layer = MoeLayer.from_checkpoint({**config, "num_experts_per_tok": 2}, stored, "mlp")
    assert torch.equal(layer.w13, tensors["experts.gate_up_proj"])
    assert torch.equal(layer.w2, tensors["experts.down_proj"])
    assert "transposed=True" in repr(layer)


def test_what_makes_no_layer_is_refused() -> None:
    for bent, words in (
        ({"hidden": 0}, "hidden: 0; accepted: 1 or more"),
        ({"top_k": 9}, "top_k: 9; accepted: 1 to 8, the number of experts"),
        ({"activation": "gelu"}, "activation: 'gelu'; accepted: "),
    ):
        with pytest.raises(flashfit.InvalidArgument) as caught:
            MoeLayer(**{**SIZES, **bent})
        assert str(caught.value).startswith(words)


def test_x_of_another_hidden_size_is_refused() -> None:
    """Even where its numbers would make whole rows."""
    layer, _ = made("Mixtral")
    for x in (torch.ones(4, 32), torch.ones(2, 20, 128), torch.ones(64, 2), torch.tensor(1.0)):
        with pytest.raises(
            flashfit.InvalidArgument, match=r"^x: shape is \(.*; accepted: \[\.\.\., 64\], the hidden size$"
        ):
            layer(x)
    with pytest.raises(flashfit.InvalidType, match=r"^x: \[1\.0\]; accepted: a torch tensor"):
        layer([1.0])


def test_x_may_have_any_strides() -> None:
    layer, x = made("Mixtral")
    turned = x[0].T.contiguous().T
    assert turned.stride() == (1, 20)
    assert torch.equal(layer(turned), layer(x[0]))
    assert torch.equal(layer(x.repeat(1, 1, 2)[..., :64]), layer(x))


@pytest.mark.parametrize("cast", ["bfloat16", "half", "to", "root"])
def test_a_cast_of_the_module_leaves_the_bias_that_chooses(cast: str) -> None:
    layer, x = made("DeepSeek-V3")
    bias = layer.router_bias.clone()
    if cast == "root":
        torch.nn.Sequential(layer).to(torch.bfloat16)
    elif cast == "to":
        layer.to(torch.bfloat16)
    else:
        getattr(layer, cast)()
    assert layer.w13.dtype == layer.gate.dtype != torch.float32
    assert layer.router_bias.dtype == torch.float32
    assert torch.equal(layer.router_bias, bias)
    assert layer.state_dict()["router_bias"] is not None
    out = layer(x.to(layer.w13.dtype))
    assert out.dtype == layer.w13.dtype
    assert layer.to("meta").router_bias.device.type == "meta"


@pytest.mark.parametrize("gate_dtype", [None, torch.float32])
def test_a_layer_on_meta_says_the_shape(gate_dtype: torch.dtype | None) -> None:
    layer = MoeLayer(
        hidden=16, intermediate=8, experts=4, top_k=2, gate_dtype=gate_dtype, dtype=torch.bfloat16, device="meta"
    )
    out = layer(torch.empty(2, 3, 16, dtype=torch.bfloat16, device="meta"))
    assert (out.shape, out.dtype, out.device.type) == ((2, 3, 16), torch.bfloat16, "meta")


def test_a_bias_that_was_loaded_in_another_dtype_serves() -> None:
    layer, x = made("DeepSeek-V3")
    wanted = layer(x)
    rounded = {name: each.double() if name == "router_bias" else each for name, each in layer.state_dict().items()}
    layer.load_state_dict(rounded, assign=True)
    assert torch.equal(layer(x), wanted)


def test_logits_are_of_the_gate_s_dtype() -> None:
    torch.manual_seed(0)
    layer = MoeLayer(**SIZES, dtype=torch.bfloat16, gate_dtype=torch.float16)
    assert layer(torch.randn(3, 64).bfloat16()).dtype == torch.bfloat16


SENSELESS: list[tuple[dict[str, Any], str]] = [
    ({"hidden": 64.0}, "hidden: 64.0; accepted: an integer"),
    ({"experts": "8"}, "experts: '8'; accepted: an integer"),
    ({"top_k": True}, "top_k: True; accepted: an integer"),
    ({"hidden": 2**31}, "hidden: 2147483648; accepted: below 2**31"),
    ({"experts": 513}, "experts: 513; accepted: to 512"),
    ({"router": "sigmoid", "groups": (3, 1)}, "groups: (3, 1); accepted: groups whose number divides 8, the experts"),
    ({"router": "sigmoid", "groups": (8, 1)}, "top_k: 2; accepted: to 1, the experts of the groups that are kept"),
    ({"gate_bias": 1}, "gate_bias: 1; accepted: True, False"),
    ({"biases": "no"}, "biases: 'no'; accepted: True, False"),
    ({"router_bias": torch.zeros(8), "router": "sigmoid"}, "router_bias: Tensor of shape (8,); accepted: True, False"),
    ({"dtype": torch.float64}, "dtype: torch.float64; accepted: torch.float16, torch.bfloat16, torch.float32"),
    ({"top_k": 17, "experts": 32}, "top_k: 17; accepted: 1 to 16"),
    ({"shared_intermediate": -1}, "shared_intermediate: -1; accepted: 0 or more"),
    ({"shared_intermediate": 2.5}, "shared_intermediate: 2.5; accepted: an integer"),
    ({"router": "top"}, "router: 'top'; accepted: \"softmax\""),
    ({"groups": (4, 2)}, 'groups: (4, 2) with router "softmax"; accepted: None'),
    ({"router_bias": True}, 'router_bias: given with router "softmax"; accepted: None'),
    ({"gate_up": "up_gate"}, "gate_up: 'up_gate'; accepted"),
    ({"transposed": 1}, "transposed: 1; accepted: True, False"),
    ({"scale": 0.0}, "scale: 0; accepted"),
    ({"activation": "silu", "gate_up": "interleaved"}, 'gate_up: "interleaved" with activation "silu"'),
    ({"dtype": torch.int32}, "dtype: torch.int32; accepted: torch.float16, torch.bfloat16, torch.float32"),
    ({"gate_dtype": "float32"}, "gate_dtype: 'float32'; accepted: torch.float16"),
]


@pytest.mark.parametrize(("bent", "words"), SENSELESS, ids=[words[:30] for _, words in SENSELESS])
def test_what_no_call_could_compute_makes_no_layer(bent: dict[str, Any], words: str) -> None:
    with pytest.raises((flashfit.InvalidArgument, flashfit.InvalidType)) as caught:
        MoeLayer(**{**SIZES, **bent})
    assert str(caught.value).startswith(words)
