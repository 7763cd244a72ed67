"""flashfit.integrations.diffusers under diffusers' own code: tiny random transformers of three families against its
native backend. Skipped without diffusers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
diffusers: Any = pytest.importorskip("diffusers")
from flashfit.integrations import _torch_take  # noqa: E402
from flashfit.integrations import diffusers as fit  # noqa: E402

dispatch: Any = pytest.importorskip("diffusers.models.attention_dispatch")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    fit.HOST.notes.clear()
    with fit.installed() as taken:
        assert taken
        yield
    fit.HOST.notes.clear()


def took() -> list[str]:
    return [line for line in fit.log() if line.startswith("diffusers: took")]


def left() -> list[str]:
    return [line for line in fit.log() if line.startswith("diffusers: left")]


def flux() -> tuple[Any, dict[str, Any]]:
    model = diffusers.FluxTransformer2DModel(
        in_channels=8, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=24, pooled_projection_dim=24, axes_dims_rope=(4, 4, 8),
    )  # fmt: skip
    given = {
        "hidden_states": torch.randn(2, 16, 8),
        "encoder_hidden_states": torch.randn(2, 5, 24),
        "pooled_projections": torch.randn(2, 24),
        "timestep": torch.rand(2),
        "img_ids": torch.zeros(16, 3),
        "txt_ids": torch.zeros(5, 3),
    }
    return model, given


def wan() -> tuple[Any, dict[str, Any]]:
    model = diffusers.WanTransformer3DModel(
        patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=4, out_channels=4, text_dim=16,
        freq_dim=32, ffn_dim=32, num_layers=2, cross_attn_norm=True, rope_max_seq_len=32,
    )  # fmt: skip
    given = {
        "hidden_states": torch.randn(1, 4, 2, 8, 8),
        "timestep": torch.tensor([3]),
        "encoder_hidden_states": torch.randn(1, 7, 16),
    }
    return model, given


def qwen_image() -> tuple[Any, dict[str, Any]]:
    model = diffusers.QwenImageTransformer2DModel(
        patch_size=2, in_channels=16, out_channels=4, num_layers=2, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=16, axes_dims_rope=(8, 4, 4),
    )  # fmt: skip
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[1, 4:] = False
    given = {
        "hidden_states": torch.randn(2, 16, 16),
        "encoder_hidden_states": torch.randn(2, 7, 16),
        "encoder_hidden_states_mask": mask,
        "timestep": torch.rand(2),
        "img_shapes": [[(1, 4, 4)], [(1, 4, 4)]],
    }
    return model, given


MODELS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {"Flux": flux, "Wan": wan, "Qwen-Image": qwen_image}


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    torch.manual_seed(0)
    model, given = MODELS[name]()
    model.eval()
    with torch.no_grad():
        ours = model(**given, return_dict=False)[0]
        assert took()
        assert left() == []
        assert any("mask" in line for line in took()) is (name == "Qwen-Image")
        fit.uninstall()
        theirs = model(**given, return_dict=False)[0]
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    assert not torch.equal(ours, theirs)  # another kernel rounds otherwise


def test_a_training_step() -> None:
    torch.manual_seed(0)
    model, given = flux()

    def gradients() -> list[Any]:
        model.zero_grad()
        model(**given, return_dict=False)[0].square().sum().backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    ours = gradients()
    assert all("gradients by PyTorch's flash attention" in line for line in took())
    fit.uninstall()
    for mine, its in zip(ours, gradients()):
        torch.testing.assert_close(mine, its, rtol=1e-3, atol=1e-4 * float(its.abs().max()))


WRONG: dict[str, tuple[int, dict[str, Any]]] = {
    "two dimensions": (2, {}),
    "three dimensions": (3, {}),
    "five dimensions": (5, {}),
    "text for dropout": (4, {"dropout_p": "0.5"}),
    "text for the scale": (4, {"scale": "1"}),
    "several scales": (4, {"scale": torch.ones(2)}),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_diffusers_to_say(name: str) -> None:
    from diffusers.models.attention_dispatch import dispatch_attention_fn

    dims, options = WRONG[name]
    x = torch.randn((1, 1, 6, 4, 16)[-dims:])

    def said() -> str:
        with pytest.raises((IndexError, RuntimeError, TypeError, ValueError)) as caught:
            dispatch_attention_fn(x, x, x, **options)
        return f"{caught.type.__name__}: {caught.value}"

    ours = [said() for _ in range(2)]
    assert took() == []
    fit.uninstall()
    assert ours == [said()] * 2


def test_compiled_whole() -> None:
    torch.manual_seed(0)
    model, given = flux()
    model.eval()
    with torch.no_grad():
        want = model(**given, return_dict=False)[0]
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(**given, return_dict=False)[0], want, rtol=1e-4, atol=1e-5)
    assert any(line.startswith("diffusers: took: fp32 on cpu, compiled (") for line in took())


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_the_backend_by_itself(causal: bool, masked: bool) -> None:
    q, k, v = (torch.randn(2, n, 2, 16) for n in (6, 9, 9))
    mask = torch.arange(9) < torch.tensor([[5], [9]]) if masked else None
    given = {"attn_mask": mask, "is_causal": causal and not masked, "scale": 0.3}
    ours = dispatch.dispatch_attention_fn(q, k, v, **given)
    assert (len(took()), left()) == (1, [])
    fit.uninstall()
    torch.testing.assert_close(ours, dispatch.dispatch_attention_fn(q, k, v, **given))
    assert not torch.allclose(ours, dispatch.dispatch_attention_fn(q, k, v, scale=0.2))


def test_autocast_decides_in_which_dtype_a_call_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU has no kernel for fp32."""

    def misfit(_device: str, dtype: str, *_sizes: int) -> str:
        return "" if dtype == "torch.bfloat16" else f"dtype is {dtype} on a GPU"

    monkeypatch.setattr(_torch_take, "misfit", misfit)
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 9, 2, 16) for _ in range(3))
    mask = torch.randn(9, 9, dtype=torch.bfloat16)
    for autocast in (False, True, False, True):  # what was decided under one is not the other's
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            ours = dispatch.dispatch_attention_fn(q, k, v)
            if autocast:
                dispatch.dispatch_attention_fn(q, k, v.bfloat16(), attn_mask=mask)
        assert ours.dtype == (torch.bfloat16 if autocast else torch.float32)
        exact = torch.nn.functional.scaled_dot_product_attention(*(x.double().transpose(1, 2) for x in (q, k, v)))
        torch.testing.assert_close(ours.double(), exact.transpose(1, 2), rtol=0, atol=0.02 if autocast else 1e-5)
    assert took() == [
        "diffusers: took: bf16 on cpu, 2 heads of 16 (2 calls)",
        "diffusers: took: bf16 on cpu, 2 heads of 16, bf16 mask (2 calls)",
    ]
    assert left() == ["diffusers: left: fp32 on cpu, 2 heads of 16: dtype is torch.float32 on a GPU (2 calls)"]


def test_what_is_left_is_the_native_backends() -> None:
    q = torch.randn(2, 6, 2, 16)
    torch.manual_seed(0)
    ours = dispatch.dispatch_attention_fn(q, q, q, dropout_p=0.5)
    (line,) = left()
    assert "dropout_p: 0.5" in line
    fit.uninstall()
    torch.manual_seed(0)
    assert torch.equal(ours, dispatch.dispatch_attention_fn(q, q, q, dropout_p=0.5))


def test_uninstalled_leaves_no_trace() -> None:
    name, registry = dispatch.AttentionBackendName.NATIVE, dispatch._AttentionBackendRegistry._backends
    assert registry[name].__module__ == fit.__name__
    fit.uninstall()
    assert registry[name] is dispatch._native_attention
