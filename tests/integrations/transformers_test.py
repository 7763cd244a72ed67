"""flashfit.integrations.transformers under Transformers' own code: tiny random models against eager and sdpa.

Logits are held to fp64: at most twice as wrong as sdpa's; to eager's where sdpa has no such option. Skipped without
Transformers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers", minversion="5.0")
from flashfit.integrations import _torch_fit  # noqa: E402
from flashfit.integrations import transformers as fit  # noqa: E402

from tests.integrations.fresh_python import python  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0", "ignore::DeprecationWarning")

SIZES: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
    "initializer_range": 0.3,  # logits of some size, so that a softcap matters
}
WINDOW = {"sliding_window": 16, "query_pre_attn_scalar": 16}
#: Model -> its options.
MODELS: dict[str, dict[str, Any]] = {
    "Llama": {},
    "Qwen2": {},
    "Qwen3": {},
    "Gemma2": {**WINDOW, "attn_logit_softcapping": 1.0},
    "Gemma3": WINDOW,
    "GptOss": {"sliding_window": 16, "num_local_experts": 4, "num_experts_per_tok": 2},
}
#: Their softcap and sinks are nothing that sdpa has.
NOT_BY_SDPA = ("Gemma2", "GptOss")


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    fit.HOST.notes.clear()
    with fit.installed() as taken:
        assert taken
        yield
    fit.HOST.notes.clear()


def causal_model(name: str, **more: Any) -> Any:
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}TextConfig" if name == "Gemma3" else f"{name}Config")
    return getattr(transformers, f"{name}ForCausalLM")(config(**{**SIZES, **MODELS[name], **more})).eval()


def padded(side: str, rows: int = 24) -> tuple[Any, Any]:
    """ids and attention_mask of two sequences, one of them shorter."""
    torch.manual_seed(1)
    ids, mask = torch.randint(2, 98, (2, rows)), torch.ones(2, rows, dtype=torch.long)
    if side == "left":
        mask[1, :7] = 0
    elif side == "right":
        mask[1, -7:] = 0
    return ids, mask


def took() -> list[str]:
    return [line for line in fit.log() if line.startswith("transformers: took")]


def left() -> list[str]:
    return [line for line in fit.log() if line.startswith("transformers: left")]


def error(x: Any, want: Any) -> float:
    return float((x.double() - want).abs().max())


@pytest.mark.parametrize("side", ["none", "left", "right"])
@pytest.mark.parametrize("name", MODELS)
def test_logits(name: str, side: str) -> None:
    model = causal_model(name)
    ids, mask = padded(side)
    given = {"attention_mask": mask} if side != "none" else {}

    def logits(attention: str, of: Any = model) -> Any:
        of.set_attn_implementation(attention)
        with torch.no_grad():
            return of(ids, **given).logits[mask.bool()]

    ours = logits(fit.NAME)
    assert took()
    assert left() == []
    assert float(ours.abs().max()) > 1
    if name in NOT_BY_SDPA:  # and eager computes its softmax in fp32 alone
        torch.testing.assert_close(ours, logits("eager"), rtol=1e-4, atol=1e-5)
        return
    want = logits("sdpa", causal_model(name).double())
    floor = 8 * torch.finfo(torch.float32).eps * float(want.abs().max())
    assert error(ours, want) <= 2 * error(logits("sdpa"), want) + floor


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("name", ["Llama", "Gemma2", "Gemma3", "GptOss"])
def test_the_same_tokens(name: str, cache: str) -> None:
    model = causal_model(name)
    ids, mask = padded("left", 18)

    def tokens(attention: str) -> Any:
        model.set_attn_implementation(attention)
        more = {"cache_implementation": "static", "disable_compile": True} if cache == "static" else {}
        return model.generate(ids, attention_mask=mask, max_new_tokens=16, do_sample=False, **more)

    found = tokens(fit.NAME)
    assert left() == []
    assert torch.equal(found, tokens("eager"))
    assert found.shape == (2, 34)


def test_256_greedy_tokens() -> None:
    model = causal_model("Llama", num_hidden_layers=1)
    ids, _ = padded("none", 4)

    def tokens(attention: str) -> Any:
        model.set_attn_implementation(attention)
        return model.generate(ids, max_new_tokens=256, do_sample=False)

    assert torch.equal(tokens(fit.NAME), tokens("eager"))


def test_bert() -> None:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        **{k: v for k, v in SIZES.items() if "key_value" not in k and k != "head_dim"}, max_position_embeddings=64
    )
    model = transformers.BertModel(config).eval()
    ids, mask = padded("right")

    def states(attention: str) -> Any:
        model.set_attn_implementation(attention)
        with torch.no_grad():
            return model(ids).last_hidden_state, model(ids, attention_mask=mask).last_hidden_state[mask.bool()]

    for ours, theirs in zip(states(fit.NAME), states("eager")):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    assert (len(took()), left()) == (2, [])


def test_a_model_that_is_not_made_for_sdpa_is_causal_all_the_same() -> None:
    """Its modules do not say so, and a mask that were left out for being causal would be none."""
    config = transformers.BigBirdPegasusConfig(
        vocab_size=100, d_model=64, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=96, init_std=0.3
    )
    torch.manual_seed(0)
    model = transformers.BigBirdPegasusForCausalLM(config).eval()
    ids, _ = padded("none")

    def logits(attention: str) -> Any:
        model.set_attn_implementation(attention)
        with torch.no_grad():
            return model(ids).logits

    torch.testing.assert_close(logits(fit.NAME), logits("eager"), rtol=1e-4, atol=1e-4)
    assert (bool(took()), left()) == (True, [])


def test_a_causal_mask_of_a_model_made_for_sdpa_is_never_in_memory() -> None:
    model = causal_model("Llama")
    model.set_attn_implementation(fit.NAME)
    with torch.no_grad():
        model(padded("none")[0])
    assert took() == ["transformers: took: fp32 on cpu, 4/2 heads of 16, causal (2 calls)"]


def tiny_t5() -> Any:
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=100, d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4, dropout_rate=0.0,
        decoder_start_token_id=0, initializer_factor=2.0,
    )  # fmt: skip
    return transformers.T5ForConditionalGeneration(config).eval()


def test_t5_adds_its_position_bias() -> None:
    model = tiny_t5()
    ids, mask = padded("right", 20)
    target = torch.randint(2, 98, (2, 9))

    def answers(attention: str) -> Any:
        model.set_attn_implementation(attention)
        with torch.no_grad():
            logits = model(ids, attention_mask=mask, decoder_input_ids=target).logits
            return logits, model.generate(ids, attention_mask=mask, max_new_tokens=12, do_sample=False)

    ours, theirs = answers(fit.NAME), answers("eager")
    assert any("position bias" in line for line in took())
    assert left() == []
    torch.testing.assert_close(ours[0], theirs[0], rtol=1e-4, atol=1e-4)
    assert torch.equal(ours[1], theirs[1])


def gradients(model: Any, attention: str, **given: Any) -> dict[str, Any]:
    model.set_attn_implementation(attention)
    model.zero_grad()
    model(**given).loss.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", [*MODELS, "T5"])
def test_a_training_step(name: str) -> None:
    model = tiny_t5() if name == "T5" else causal_model(name)
    ids, mask = padded("right", 20)
    model.train()
    ours = gradients(model, fit.NAME, input_ids=ids, attention_mask=mask, labels=ids)
    if name in ("Gemma2", "T5"):  # a softcap, a learnt position bias: for Transformers to differentiate
        assert left()
    else:
        assert left() == []
        assert all("gradients by PyTorch's flash attention" in line for line in took())
    theirs = gradients(model, "eager", input_ids=ids, attention_mask=mask, labels=ids)
    assert ours.keys() == theirs.keys()
    for parameter, grad in ours.items():
        torch.testing.assert_close(grad, theirs[parameter], rtol=2e-3, atol=2e-4 * float(theirs[parameter].abs().max()))


@pytest.mark.parametrize("name", ["Llama", "Gemma2", "GptOss"])
def test_dropout_is_transformers(name: str) -> None:
    model = causal_model(name, attention_dropout=0.3).train()
    ids, _ = padded("none", 20)

    def loss(attention: str) -> Any:
        model.set_attn_implementation(attention)
        torch.manual_seed(3)
        return model(ids, labels=ids).loss.detach()

    ours = loss(fit.NAME)
    assert took() == []
    assert all("dropout: 0.3" in line for line in left())
    torch.testing.assert_close(ours, loss("eager" if name in NOT_BY_SDPA else "sdpa"), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["Gemma2", "GptOss"])
def test_compiled_whole(name: str) -> None:
    model = causal_model(name)
    model.set_attn_implementation(fit.NAME)
    ids, mask = padded("right", 20)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    with torch.no_grad():
        found = compiled(ids, attention_mask=mask).logits
        assert any("compiled" in line for line in took())
        torch.testing.assert_close(found, model(ids, attention_mask=mask).logits, rtol=1e-4, atol=1e-4)


def test_a_compiled_training_step() -> None:
    model = causal_model("Llama").train()
    ids, mask = padded("right", 20)
    model.set_attn_implementation(fit.NAME)
    want = gradients(model, fit.NAME, input_ids=ids, attention_mask=mask, labels=ids)
    model.zero_grad()
    torch.compile(model, backend="aot_eager")(input_ids=ids, attention_mask=mask, labels=ids).loss.backward()
    for name, p in model.named_parameters():
        torch.testing.assert_close(p.grad, want[name], rtol=1e-3, atol=1e-4 * float(want[name].abs().max()))


def test_both_registries_have_the_name_or_neither() -> None:
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    for registry in (ALL_ATTENTION_FUNCTIONS, ALL_MASK_ATTENTION_FUNCTIONS):
        assert fit.NAME in registry
    # Without the mask function the mask would silently be None.
    model = causal_model("Llama")
    ids, mask = padded("left")
    model.set_attn_implementation(fit.NAME)
    with torch.no_grad():
        assert not torch.allclose(model(ids).logits[1, 7:], model(ids, attention_mask=mask).logits[1, 7:])
    fit.uninstall()
    for registry in (ALL_ATTENTION_FUNCTIONS, ALL_MASK_ATTENTION_FUNCTIONS):
        assert fit.NAME not in registry


@pytest.mark.parametrize("gradients_too", [False, True])
def test_results_are_contiguous_as_of_transformers_own_functions(gradients_too: bool) -> None:
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    module = torch.nn.Module()
    module.is_causal = True
    rows_first, heads_first = torch.randn(2, 8, 4, 16).transpose(1, 2), torch.randn(2, 4, 8, 16)
    for query in (rows_first, heads_first):
        query.requires_grad_(gradients_too)
        for _ in range(2):  # the second is remembered
            out, _ = ALL_ATTENTION_FUNCTIONS[fit.NAME](module, query, query.detach(), query.detach(), None)
            assert out.is_contiguous()
            assert out.view(2, 8, 64).requires_grad == gradients_too
    assert len(took()) == 1
    assert not left()


def test_what_was_decided_is_of_calls_that_are_alike_alone() -> None:
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    attend, module = ALL_ATTENTION_FUNCTIONS[fit.NAME], torch.nn.Module()
    q = torch.randn(1, 2, 5, 8)
    needs, sinks = q.clone().requires_grad_(), torch.zeros(2)
    bias = torch.zeros(1, 2, 5, 5)
    learnt = bias.clone().requires_grad_()
    mask = torch.ones(1, 1, 5, 5, dtype=torch.bool)
    calls: list[tuple[bool, tuple[Any, ...], dict[str, Any]]] = [
        (True, (q, q, q, None), {}),
        (True, (needs, q, q, None), {}),
        (False, (q, q, q, None), {"dropout": 0.1}),
        (True, (q, q, q, mask), {}),
        (True, (q, q, q, mask), {"position_bias": bias}),
        (False, (q, q, q, mask), {"position_bias": learnt}),
        (True, (q, q, q, None), {"s_aux": sinks}),
        (False, (needs, q, q[..., :4], None), {}),
        (True, (q, q, q[..., :4], None), {}),
        (False, (q.double(), q.double(), q.double(), None), {}),
    ]
    for _ in range(2):
        for taken, given, options in calls:
            before = sum(int(line.split("(")[-1].split()[0]) for line in took())
            attend(module, *given, **options)
            after = sum(int(line.split("(")[-1].split()[0]) for line in took())
            assert after - before == taken, (options, fit.log())
    module.is_causal = False
    attend(module, q, q, q, None)
    assert "transformers: took: fp32 on cpu, 2 heads of 8 (1 call)" in took()


def test_autocast_decides_in_which_dtype_a_call_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rotary embedding leaves q and k in fp32 there, and a GPU has no kernel for fp32."""

    def misfit(_device: str, dtype: str, *_sizes: int) -> str:
        return "" if dtype == "torch.bfloat16" else f"dtype is {dtype} on a GPU"

    fit.uninstall()
    monkeypatch.setattr(_torch_fit, "misfit", misfit)
    model = causal_model("Llama")
    ids, _ = padded("none")
    with fit.installed(), torch.no_grad():
        for implementation in (model, torch.compile(model, backend="aot_eager", fullgraph=True)):
            model.set_attn_implementation(fit.NAME)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                ours = implementation(ids).logits
                model.set_attn_implementation("sdpa")
                theirs = model(ids).logits
            torch.testing.assert_close(ours, theirs, rtol=0, atol=0.05 * float(theirs.abs().max()))
        assert left() == []
        model.set_attn_implementation(fit.NAME)
        model(ids)
    assert took() == [
        "transformers: took: bf16 on cpu, 4/2 heads of 16, causal (2 calls)",
        "transformers: took: bf16 on cpu, compiled (2 calls)",
    ]
    assert left() == [
        "transformers: left: fp32 on cpu, 4/2 heads of 16, causal: dtype is torch.float32 on a GPU (2 calls)"
    ]


def test_what_was_left_without_autocast_is_taken_under_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    fit.uninstall()
    monkeypatch.setattr(_torch_fit, "misfit", lambda _, dtype, *sizes: "" if dtype == "torch.bfloat16" else "fp32")
    q = torch.randn(1, 2, 6, 16)
    with fit.installed(), torch.no_grad():
        for autocast in (False, False, True, False, True):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
                out, _ = ALL_ATTENTION_FUNCTIONS[fit.NAME](torch.nn.Module(), q, q, q, None)
            assert out.dtype == (torch.bfloat16 if autocast else torch.float32)
    assert [line.split("(")[-1] for line in (*took(), *left())] == ["2 calls)", "3 calls)"]


def test_pages_are_refused_by_name() -> None:
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    q = torch.zeros(1, 2, 3, 8)
    for name in ("block_table", "cache"):
        with pytest.raises(flashfit.Unsupported, match=f"^{name}: given by continuous batching"):
            ALL_ATTENTION_FUNCTIONS[fit.NAME](torch.nn.Module(), q, q, q, None, **{name: object()})


def test_switched_off_models_run_on_transformers() -> None:
    code = """
import torch, transformers
from flashfit.integrations import transformers as fit
print(fit.install())
config = transformers.LlamaConfig(vocab_size=50, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
                                  num_attention_heads=2)
model = transformers.LlamaForCausalLM(config).eval()
ids = torch.arange(6)[None]
with torch.no_grad():
    model.set_attn_implementation("fit_attention")
    ours = model(ids).logits
    model.set_attn_implementation("sdpa")
    print(torch.equal(ours, model(ids).logits))
print([line for line in fit.log() if "took" in line], fit.log()[-1].split(": ")[-1])
"""
    said = python(code, FLASHFIT_DISABLE_TRANSFORMERS="1")
    assert said == "False\nTrue\n[] FLASHFIT_DISABLE_TRANSFORMERS=1 turns it off (1 call)\n"


def test_two_hosts_at_once() -> None:
    from flashfit.integrations import sdpa

    model = causal_model("Llama")
    ids, _ = padded("none")
    sdpa.HOST.notes.clear()
    with sdpa.installed(), torch.no_grad():
        model.set_attn_implementation(fit.NAME)
        ours = model(ids).logits
        assert sdpa.log() == []
        model.set_attn_implementation("sdpa")
        by_sdpa = model(ids).logits
        assert sdpa.log()
    torch.testing.assert_close(ours, by_sdpa, rtol=1e-4, atol=1e-4)
    sdpa.HOST.notes.clear()


@pytest.mark.parametrize("rows", [4, 5, 9])
def test_a_causal_mask_begins_at_the_first_key(rows: int) -> None:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    module = torch.nn.Module()  # causal, as Transformers takes it where a module says nothing
    q, (k, v) = torch.randn(2, 4, rows, 16), torch.randn(2, 2, 4, 5, 16)
    ours = ALL_ATTENTION_FUNCTIONS[fit.NAME](module, q, k, v, None)[0]
    assert (len(took()), left()) == (1, [])
    torch.testing.assert_close(ours, sdpa_attention_forward(module, q, k, v, None)[0], rtol=1e-4, atol=1e-5)


def test_gradients_of_gradients_under_math_alone_are_pytorchs() -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    tensors = [torch.randn(1, 2, 5, 8, requires_grad=True) for _ in range(3)]
    for _ in range(2):
        ALL_ATTENTION_FUNCTIONS[fit.NAME](torch.nn.Module(), *tensors, None)
        with sdpa_kernel(SDPBackend.MATH):
            out = ALL_ATTENTION_FUNCTIONS[fit.NAME](torch.nn.Module(), *tensors, None)[0]
        (first,) = torch.autograd.grad(out.sin().sum(), tensors[0], create_graph=True)
        assert all(bool(x.isfinite().all()) for x in torch.autograd.grad(first.sin().sum(), tensors))
    assert len(took()) == len(left()) == 1
