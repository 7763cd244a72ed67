"""Gradients of layers of experts by PyTorch's products, as they are computed on a GPU: the same code on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import _torch_moe, _torch_moe_gradients, torch_ops  # noqa: E402
from flashfit._binding import binding, failure  # noqa: E402
from flashfit._gradients import (  # noqa: E402
    GROUPED,
    ONE_BY_ONE,
    experts_operator,
    experts_over_wgmma,
)
from flashfit._packages import TORCH  # noqa: E402

from tools.gpu.experts_by_torch import (  # noqa: E402
    DIFFERENTIATED,
    by_torch,
    differentiable,
    expect_gradients,
    gradients_of,
    in_double,
    layer,
    routed_by_torch,
)

assert torch_ops

#: How rows are multiplied: by torch._grouped_mm, which CPUs have from PyTorch 2.9 on, or an expert at a time.
WAYS = ["grouped", "one by one"]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Products are so small that threads would wait for one another more than they compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=WAYS)
def as_on_a_gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every gradient comes from PyTorch's products."""
    grouped = request.param == "grouped"
    release = tuple(map(int, torch.__version__.split(".")[:2]))
    if grouped and release < (2, 9):
        pytest.skip("this PyTorch has no grouped product for the CPU")
    monkeypatch.setattr(_torch_moe, "has_own_gradients", lambda _: False)
    monkeypatch.setattr(_torch_moe_gradients, "takes_grouped", lambda _: grouped)
    return str(request.param)


def normal(*shape: int, seed: int = 8) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def held(call: dict[str, Any], names: list[str], plain: Callable[..., Any]) -> dict[str, Any]:
    """flashfit's gradients, whose errors are at most twice those of `plain`."""
    dout = normal(*call["x"].shape).to(call["x"].dtype)
    exact, theirs = (gradients_of(plain, each, dout, names) for each in (in_double(call), call))
    ours = gradients_of(flashfit.fused_moe, call, dout, names)
    expect_gradients(ours, theirs, exact)
    return ours


# A GPU's grouped product takes bf16 alone.
@pytest.mark.parametrize(
    ("as_on_a_gpu", "dtype"), list(zip(WAYS, ["bfloat16", "float16"])), indirect=["as_on_a_gpu"], ids=WAYS
)
@pytest.mark.parametrize("activation", ["swiglu", "gpt_oss", "geglu_tanh", "geglu_erf", "silu", "relu2"])
@pytest.mark.parametrize(
    ("gate_up", "transposed", "weight_on"),
    [("concatenated", False, "output"), ("interleaved", True, "output"), ("concatenated", True, "input")],
)
def test_every_activation_and_layout(
    as_on_a_gpu: str, dtype: str, activation: str, gate_up: str, transposed: bool, weight_on: str
) -> None:
    ungated = activation in ("silu", "relu2")
    call = differentiable(
        getattr(torch, dtype), activation, "concatenated" if ungated else gate_up, transposed, weight_on
    )
    ours = held(call, DIFFERENTIATED, by_torch)
    assert not any(ours[name][5].any() for name in ("w13", "w2", "b13", "b2"))  # which has no tokens
    again = gradients_of(flashfit.fused_moe, call, normal(50, 64).to(call["x"].dtype), DIFFERENTIATED)
    assert all(torch.equal(again[name], mine) for name, mine in ours.items())


def test_256_experts_of_which_most_have_no_tokens(as_on_a_gpu: str) -> None:
    call = layer(tokens=40, experts=256, hidden=32, between=16, top_k=4, dtype="bfloat16")
    call["topk_ids"] = call["topk_ids"] // 3 * 3
    # Of an expert without tokens nothing may be read, not even times 0.
    empty = ~torch.isin(torch.arange(256), call["topk_ids"])
    assert 150 < empty.sum() < 256
    ours = held(call, ["x", "w13", "w2", "topk_weights"], by_torch)
    assert not ours["w13"][empty].any()
    assert not ours["w2"][empty].any()
    call["w13"][empty], call["w2"][empty] = float("nan"), float("inf")
    bent = gradients_of(flashfit.fused_moe, call, normal(40, 32).to(call["x"].dtype), ["x", "w13", "w2"])
    assert all(torch.equal(bent[name], ours[name]) for name in bent)


@pytest.mark.parametrize("router", ["softmax", "topk_softmax", "sigmoid", "sqrt_softplus"])
@pytest.mark.parametrize("renormalize", [False, True])
def test_logits_through_each_router(as_on_a_gpu: str, router: Any, renormalize: bool) -> None:
    options: dict[str, Any] = {"router": router, "renormalize": renormalize, "scale": 2.5}
    call = {name: layer(dtype="bfloat16")[name] for name in ("x", "w13", "w2")}
    call["router_logits"] = normal(50, 8, seed=2)
    ids = flashfit.moe_route(call["router_logits"], 3, **options)[1]

    def plain(router_logits: Any, **others: Any) -> Any:
        weights = routed_by_torch(router_logits, 3, **options, ids=ids.long())
        return by_torch(**others, topk_weights=weights, topk_ids=ids)

    dout = normal(50, 64).bfloat16()
    names = ["router_logits", "x", "w13", "w2"]
    exact, theirs = (gradients_of(plain, each, dout, names) for each in (in_double(call), call))
    ours = gradients_of(lambda **given: flashfit.fused_moe(**given, top_k=3, **options), call, dout, names)
    expect_gradients(ours, theirs, exact)


@pytest.mark.parametrize("renormalize", [False, True])
def test_logits_so_low_that_their_scores_are_0(renormalize: bool) -> None:
    """sqrt(log(1 + exp(logit))) is 0 in fp32 below -104, as is its slope to any precision that counts."""
    options: dict[str, Any] = {"router": "sqrt_softplus", "renormalize": renormalize}
    call = {name: layer(dtype="float32")[name] for name in ("x", "w13", "w2")}
    logits = normal(50, 8, seed=2)
    logits[::2, 2:] = -150.0  # a third choice without a score
    dout = normal(50, 64)

    def of(logits: Any) -> Any:
        logits = logits.clone().requires_grad_()
        out = flashfit.fused_moe(**call, router_logits=logits, top_k=3, **options)
        return torch.autograd.grad(out, logits, dout)[0]

    low = of(logits)
    assert torch.isfinite(low).all()
    assert not low[::2, 2:].any()
    # As where the lowest logit has a score that counts for nothing beside the others.
    assert torch.allclose(low, of(logits.clamp(min=-60.0)), rtol=1e-4, atol=1e-6)


def calls() -> dict[str, tuple[dict[str, Any], list[str]]]:
    """Calls, and what is differentiated of each, that the CPU's own gradients serve as well."""
    call = layer(dtype="float32")
    of_all = ["x", "w13", "w2", "topk_weights"]
    shared = {**call, "first": call["w13"][1], "second": call["w2"][1], "gate": normal(64, seed=3)}
    foreign = torch.where(call["topk_ids"] == 3, -1, call["topk_ids"])
    places = torch.tensor([-1, 0, 1, 2, 3, -1, 4, 5], dtype=torch.int32)
    return {
        "a part": ({**call, "w13": call["w13"][2:6], "w2": call["w2"][2:6], "experts": (2, 6)}, of_all),
        "a map": ({**call, "w13": call["w13"][:6], "w2": call["w2"][:6], "experts": places}, of_all),
        "ids that are none": ({**call, "topk_ids": foreign, "experts": (0, 8), "b2": normal(8, 64)}, [*of_all, "b2"]),
        "repeated ids": ({**call, "topk_ids": torch.full_like(call["topk_ids"], 5)}, of_all),
        "a shared expert": (shared, [*of_all, "first", "second", "gate"]),
        "no tokens": ({**call, **{name: call[name][:0] for name in ("x", "topk_ids", "topk_weights")}}, of_all),
        "clamped": ({**call, "activation": flashfit.Swiglu(1.5, 2.0, 0.5)}, of_all),
    }


def with_shared(first: Any = None, second: Any = None, gate: Any = None, **call: Any) -> Any:
    return flashfit.fused_moe(**call, shared=None if first is None else (first, second, gate))


@pytest.mark.parametrize("name", calls())
def test_other_calls_have_the_cpus_gradients(name: str, as_on_a_gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, names = calls()[name]
    dout = normal(*call["x"].shape)
    ours = gradients_of(with_shared, call, dout, names)
    monkeypatch.setattr(_torch_moe, "has_own_gradients", lambda _: True)
    want = gradients_of(with_shared, call, dout, names)
    for each in names:
        torch.testing.assert_close(ours[each], want[each], rtol=1e-5, atol=2e-5)
        assert ours[each].stride() == want[each].stride()


def test_weights_of_choices_of_no_expert_are_not_read(as_on_a_gpu: str) -> None:
    call, names = calls()["ids that are none"]
    dout = normal(50, 64)
    before = gradients_of(flashfit.fused_moe, call, dout, names)
    weights = torch.where(call["topk_ids"] == -1, float("nan"), call["topk_weights"])
    after = gradients_of(flashfit.fused_moe, {**call, "topk_weights": weights}, dout, names)
    assert all(torch.equal(after[name], before[name]) for name in names)
    assert not after["topk_weights"][call["topk_ids"] == -1].any()
    call["w2"] = call["w2"].clone()
    call["w2"][0] = float("nan")  # nor is the expert whose row stands in for theirs
    after = gradients_of(flashfit.fused_moe, call, dout, names)
    assert not after["topk_weights"][call["topk_ids"] == -1].any()


def test_nan_stays_in_its_token(as_on_a_gpu: str) -> None:
    call = layer()
    dout = normal(50, 64)
    before = gradients_of(flashfit.fused_moe, call, dout, ["x", "topk_weights"])
    call["x"][7] = float("nan")
    after = gradients_of(flashfit.fused_moe, call, dout, ["x", "topk_weights"])
    others = torch.arange(50) != 7
    for name, x in after.items():
        assert x[7].isnan().all()
        assert torch.equal(x[others], before[name][others])


def kept_by_torch(x: Any, w13: Any, ids: Any, weights: Any, asked: Any) -> Any:
    """What a GPU's forward keeps: NaN where it writes nothing."""
    low, high = asked.experts or (0, len(w13))
    z = x.new_full((ids.numel() + high - low, w13.shape[2 if asked.transposed else 1]), float("nan"))
    row = 0
    for e in range(low, high):
        row += 1
        for token, rank in torch.nonzero(ids == e).tolist():
            mine = x[token] * weights[token, rank].to(x.dtype) if asked.weight_on == "input" else x[token]
            values = mine @ (w13[e - low] if asked.transposed else w13[e - low].T)
            values = values if asked.b13 is None else values + asked.b13[e - low]
            z[row] = torch.cat([values[0::2], values[1::2]]) if asked.gate_up == "interleaved" else values
            row += 1
    return z


@pytest.fixture
def kept(as_on_a_gpu: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Forwards keep what comes before the activation, as a GPU's kernels do; each call adds what it keeps, or None."""
    forward, seen = vars(_torch_moe)["moe_with_care"], []

    def keeping(package: Any, x: Any, w13: Any, w2: Any, asked: Any, out: Any, workspace: Any, z: Any) -> Any:
        if z is not None:
            ids, weights = asked.topk_ids, asked.topk_weights
            if ids is None:
                weights, ids = flashfit.moe_route(asked.router_logits, asked.top_k)
            z.copy_(kept_by_torch(x, w13, ids, weights, asked))
        seen.append(z)
        return forward(package, x, w13, w2, asked, out, workspace)

    monkeypatch.setattr(_torch_moe, "keeps", lambda x: True)
    monkeypatch.setattr(_torch_moe, "_layer", None)  # so that every call comes here
    monkeypatch.setattr(_torch_moe, "moe_with_care", keeping)
    return seen


@pytest.mark.parametrize("activation", ["swiglu", "gpt_oss", "geglu_erf", "relu2"])
@pytest.mark.parametrize(
    ("gate_up", "transposed", "weight_on"),
    [
        ("concatenated", False, "output"),
        ("interleaved", False, "output"),
        ("concatenated", False, "input"),
        ("interleaved", True, "output"),
        ("concatenated", True, "input"),
    ],
)
def test_what_the_forward_kept_is_not_computed_again(
    kept: list[Any], activation: str, gate_up: str, transposed: bool, weight_on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ungated = activation == "relu2"
    call = differentiable(torch.bfloat16, activation, "concatenated" if ungated else gate_up, transposed, weight_on)
    products: list[Any] = []
    of_rows = _torch_moe_gradients._Products.of_rows

    def counted(self: Any, a: Any, weights: Any) -> Any:
        products.append(tuple(weights.shape[1:]))
        return of_rows(self, a, weights)

    monkeypatch.setattr(_torch_moe_gradients._Products, "of_rows", counted)
    held(call, DIFFERENTIATED, by_torch)
    outputs = 48 if ungated else 96
    assert [each.shape for each in kept] == [(100 + 8, outputs)]
    assert products == [(64, 48), (outputs, 64)]  # dh and dx
    products.clear()
    held({**call, "recompute": True}, DIFFERENTIATED, lambda recompute, **given: by_torch(**given))
    assert kept[1:] == [None]
    assert products == [(64, outputs), (64, 48), (outputs, 64)]


@pytest.mark.parametrize("activation", ["swiglu", "gpt_oss", "geglu_tanh", "silu"])
@pytest.mark.parametrize(
    ("gate_up", "weight_on"), [("concatenated", "output"), ("interleaved", "output"), ("concatenated", "input")]
)
def test_a_launch_of_our_own_between_the_products(
    kept: list[Any], activation: str, gate_up: str, weight_on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's place, taken by the same formulas: tests/kernels/moe/experts holds the kernel to them."""
    launches = []

    def launch(z: Any, dh: Any, choices: Any, weights: Any, dz: Any, dweights: Any, asked: Any, stream: int) -> None:
        of = torch.where(choices < 0, 0, choices).long()
        assert z.is_contiguous()
        assert dh.is_contiguous()
        sides = _torch_moe_gradients._sides
        h = _torch_moe_gradients._activate(
            asked.activation, *sides(z, asked, "concatenated"), dh, *sides(dz, asked, asked.gate_up)
        )
        if dweights is not None:
            dweights[of[choices >= 0]] = (dh.float() * h.float()).sum(1)[choices >= 0]
        w = 1 if weights is None else weights[of][:, None]
        h, of_z = (torch.where((choices < 0)[:, None], 0, w * each.float()) for each in (h, dz))
        dh.copy_(h)
        dz.copy_(of_z)
        launches.append(tuple(z.shape))

    monkeypatch.setattr(_torch_moe_gradients, "has_kernel", lambda *_: True)
    monkeypatch.setattr(_torch_moe_gradients, "in_one_launch", launch)
    ungated = activation == "silu"
    call = differentiable(torch.bfloat16, activation, "concatenated" if ungated else gate_up, False, weight_on)
    held(call, DIFFERENTIATED, by_torch)
    foreign = {**call, "topk_ids": torch.where(call["topk_ids"] == 3, -1, call["topk_ids"]), "experts": (0, 8)}
    found = gradients_of(flashfit.fused_moe, foreign, normal(50, 64).bfloat16(), DIFFERENTIATED)
    assert not found["topk_weights"][foreign["topk_ids"] == -1].any()
    assert launches == [(108, 48 if ungated else 96)] * 2


def by_plain_operations(a: Any, weights: Any, offsets: Any, out: Any, turned: bool) -> None:
    """A product of rows; those that no expert has hold NaN."""
    out.fill_(float("nan"))
    begins = offsets.tolist()
    for begin, end, each in zip(begins, begins[1:], weights):
        torch.mm(a[begin:end], each if turned else each.T, out=out[begin:end])


def weights_of_experts(a: Any, b: Any, offsets: Any, out: Any, stream: int) -> None:
    """A product that gives gradients of weights."""
    begins = offsets.tolist()
    for begin, end, each in zip(begins, begins[1:], out):
        torch.mm(a[begin:end].T, b[begin:end], out=each)


@pytest.mark.parametrize("transposed", [False, True])
def test_products_of_rows_are_our_own_where_it_takes_them(
    as_on_a_gpu: str, transposed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's place, taken by plain products: tests/kernels/moe/experts holds the kernel to fp64."""
    seen = []

    def product(a: Any, weights: Any, offsets: Any, out: Any, turned: bool, stream: int, **moved: Any) -> None:
        assert not moved
        assert offsets.dtype == torch.int32
        assert all(each.is_contiguous() for each in (a, weights, offsets, out))
        assert offsets[0] == 0
        by_plain_operations(a, weights, offsets, out, turned)
        seen.append((tuple(weights.shape), turned))

    of_weights = []

    def gradient(a: Any, b: Any, offsets: Any, out: Any, stream: int) -> None:
        assert offsets.dtype == torch.int32
        assert all(each.is_contiguous() for each in (offsets, out))
        weights_of_experts(a, b, offsets, out, stream)
        of_weights.append(tuple(out.shape))

    monkeypatch.setattr(_torch_moe_gradients, "takes_rows", lambda _: True)
    monkeypatch.setattr(_torch_moe_gradients, "rows_product", product)
    monkeypatch.setattr(_torch_moe_gradients, "weights_product", gradient)
    held(differentiable(torch.bfloat16, "swiglu", "concatenated", transposed, "output"), DIFFERENTIATED, by_torch)
    first, second = ((8, 64, 96), (8, 48, 64)) if transposed else ((8, 96, 64), (8, 64, 48))
    assert seen == [(first, transposed), (second, not transposed), (first, not transposed)]  # z, dh and dx
    assert of_weights == [(8, 96, 8), second, (8, 64, 8), first]  # of b13, w2, b2 and w13


def test_the_library_reads_what_a_product_of_rows_is_given() -> None:
    a, weights, out = (torch.zeros(*shape, dtype=torch.bfloat16) for shape in ((6, 16), (2, 16, 24), (6, 24)))
    offsets = torch.zeros(3, dtype=torch.int32)
    with pytest.raises(flashfit.InvalidArgument, match="a: device is cpu; accepted: a GPU"):
        _torch_moe_gradients.rows_product(a, weights, offsets, out, True, 0)
    with pytest.raises(flashfit.InvalidArgument, match="a: 1 dimensions; accepted: 2"):
        _torch_moe_gradients.rows_product(a[0], weights, offsets, out, True, 0)


def test_the_library_reads_what_a_product_adds_up() -> None:
    """As if on a GPU: the library refuses before it looks for one."""
    sizes = {"a": (6, 16), "w": (2, 16, 24), "out": (6, 24), "sums": (3, 24)}
    tensors = {name: torch.zeros(*shape, dtype=torch.bfloat16) for name, shape in sizes.items()}
    tensors["offsets"], tensors["places"] = torch.zeros(3, dtype=torch.int32), torch.zeros(3, 2, dtype=torch.int32)
    tensors["topk_weights"] = torch.zeros(3, 3)
    on_gpu = {name: TORCH.read(name, x, 0)._replace(device_type=2) for name, x in tensors.items()}
    for added, message in {
        ("places",): "places: given; accepted: NULL without sums",
        ("sums",): "places: NULL; accepted: a tensor [tokens, top_k]",
        ("places", "sums", "topk_weights"): "topk_weights: shape is (3, 3); accepted: (3, 2)",
        ("topk_weights",): "topk_weights: given; accepted: NULL without sums",
    }.items():
        given: dict[str, Any] = {name: on_gpu[name] for name in ("a", "w", "offsets", "out", *added)}
        status = binding().rows_product(given, True, 0, lambda _: 0)
        assert status
        assert str(failure(status)).startswith(message), added


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Rows are moved as by the kernels, whose place plain operations take: tests/kernels/moe/experts holds these to
    them. Rows that nobody wrote hold NaN."""
    seen = []

    def gather(tokens: Any, places: Any, rows: Any, stream: int) -> None:
        assert all(each.is_contiguous() for each in (places, rows))
        assert places.dtype == torch.int32
        has = places >= 0
        rows.fill_(float("nan"))
        rows[places[has].long()] = tokens[:, None].expand(-1, places.shape[1], -1)[has]
        seen.append("gather")

    def add_up(rows: Any, places: Any, weights: Any, tokens: Any, stream: int) -> None:
        assert all(each.is_contiguous() for each in (rows, places, tokens))
        terms = rows[places.clamp(min=0).long()].float() * (1 if weights is None else weights[..., None])
        tokens.copy_(torch.where((places >= 0)[..., None], terms, 0).sum(1))
        seen.append("sum" if weights is None else "weighed sum")

    monkeypatch.setattr(_torch_moe_gradients, "moves_rows", lambda _: True)
    monkeypatch.setattr(_torch_moe_gradients, "gather_rows", gather)
    monkeypatch.setattr(_torch_moe_gradients, "sum_rows", add_up)
    return seen


@pytest.mark.parametrize("weight_on", ["output", "input"])
def test_products_of_rows_move_them_where_they_can(
    as_on_a_gpu: str, moved: list[str], weight_on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def product(a: Any, weights: Any, offsets: Any, out: Any, turned: bool, stream: int, **more: Any) -> None:
        by_plain_operations(a, weights, offsets, out, turned)
        if more:
            assert set(more) == {"places", "sums", "topk_weights"}
            _torch_moe_gradients.sum_rows(out, more["places"], more["topk_weights"], more["sums"], stream)
            moved[-1] += " of the product"

    monkeypatch.setattr(_torch_moe_gradients, "takes_rows", lambda _: True)
    monkeypatch.setattr(_torch_moe_gradients, "rows_product", product)
    monkeypatch.setattr(_torch_moe_gradients, "weights_product", weights_of_experts)
    call = differentiable(torch.bfloat16, "swiglu", "concatenated", False, weight_on)
    held(call, DIFFERENTIATED, by_torch)
    if weight_on == "input":
        assert moved == ["gather", "gather", "weighed sum of the product", "gather"]
    else:
        assert moved == ["gather", "gather", "sum of the product"]


@pytest.mark.parametrize("weight_on", ["output", "input"])
def test_rows_are_moved_by_our_own_launches(as_on_a_gpu: str, moved: list[str], weight_on: str) -> None:
    call = differentiable(torch.bfloat16, "swiglu", "concatenated", False, weight_on)
    held(call, DIFFERENTIATED, by_torch)
    if weight_on == "input":  # x once more, for the gradient of the weights
        assert moved == ["gather", "gather", "gather", "weighed sum"]
    else:
        assert moved == ["gather", "gather", "sum"]


def test_moved_rows_of_no_expert_reach_no_gradient(
    as_on_a_gpu: str, moved: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a part", "repeated ids", "ids that are none"):
        call, names = calls()[name]
        dout = normal(*call["x"].shape)
        found = gradients_of(flashfit.fused_moe, call, dout, names)
        with monkeypatch.context() as patch:
            patch.setattr(_torch_moe_gradients, "moves_rows", lambda _: False)
            want = gradients_of(flashfit.fused_moe, call, dout, names)
        for each in names:
            torch.testing.assert_close(found[each], want[each], rtol=1e-5, atol=2e-5)
    assert moved


def test_the_order_of_rows_by_torch() -> None:
    """As flashfit_moe_sort_rows has it: tests/kernels/moe/experts holds that to the same."""
    ids = torch.tensor([[4, 2], [2, 9], [-1, 4], [5, 2]], dtype=torch.int32)
    places, choices, offsets = _torch_moe_gradients._sorted_by_torch(ids, 2, 4)
    assert offsets.tolist() == [0, 4, 5, 8, 10]
    assert choices.tolist() == [-1, 1, 2, 7, -1, -1, 0, 5, -1, 6, -1, -1]
    assert places.tolist() == [[6, 1], [2, -1], [-1, 7], [9, 3]]
    assert all(each.dtype == torch.int32 and each.is_contiguous() for each in (places, choices, offsets))
    rows = _torch_moe_gradients._Rows(ids, torch.zeros(4, 2), 2, 4)
    assert rows.expert.tolist() == [0, 0, 0, 0, 1, 2, 2, 2, 3, 3, 3, 3]


def test_rows_are_sorted_by_our_own_launches(as_on_a_gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def sort(ids: Any, low: int, experts: int) -> Any:
        seen.append((low, experts))
        return _torch_moe_gradients._sorted_by_torch(ids, low, experts)

    monkeypatch.setattr(_torch_moe_gradients, "sorts_rows", lambda _: True)
    monkeypatch.setattr(_torch_moe_gradients, "sort_rows", sort)
    call, names = calls()["a part"]
    gradients_of(flashfit.fused_moe, call, normal(50, 64), names)
    assert seen == [(2, 4)]


def test_the_library_reads_what_is_sorted() -> None:
    with pytest.raises(flashfit.InvalidArgument, match="topk_ids: device is cpu; accepted: a GPU"):
        _torch_moe_gradients.sort_rows(torch.zeros(6, 3, dtype=torch.int32), 0, 4)
    shapes = {"topk_ids": (6, 3), "places": (6, 3), "choices": (21,), "offsets": (4,), "more": (21,)}
    tensors = {name: torch.zeros(*shape, dtype=torch.int32) for name, shape in shapes.items()}
    on_gpu: dict[str, Any] = {name: TORCH.read(name, x, 0)._replace(device_type=2) for name, x in tensors.items()}
    for low, changed, message in (
        (-1, {}, "experts_low: -1; accepted: 0 and more"),
        (0, {"choices": on_gpu["topk_ids"]}, "choices: 2 dimensions; accepted: 1, [tokens * top_k + experts]"),
        (0, {"offsets": on_gpu["more"]}, "choices: shape is (21); accepted: (38)"),
        (0, {"places": None}, "places: NULL; accepted: a tensor [tokens, top_k]"),
    ):
        status = binding().sort_rows({**on_gpu, **changed}, low, 0, lambda _: 0)
        assert status
        assert str(failure(status)).startswith(message)


def test_the_library_reads_what_moves_rows() -> None:
    tokens, rows = (torch.zeros(*shape, dtype=torch.bfloat16) for shape in ((6, 16), (20, 16)))
    places, weights = torch.zeros(6, 3, dtype=torch.int32), torch.zeros(6, 3)
    with pytest.raises(flashfit.InvalidArgument, match="tokens: device is cpu; accepted: a GPU"):
        _torch_moe_gradients.gather_rows(tokens, places, rows, 0)
    with pytest.raises(flashfit.InvalidArgument, match="tokens: device is cpu; accepted: a GPU"):
        _torch_moe_gradients.sum_rows(rows, places, weights, tokens, 0)
    with pytest.raises(flashfit.InvalidArgument, match="tokens: 1 dimensions; accepted: 2"):
        _torch_moe_gradients.sum_rows(rows, places, weights, tokens[0], 0)


def test_which_tensors_our_launches_move() -> None:
    lies_well = _torch_moe_gradients._lies_well
    x = torch.zeros(6, 32, dtype=torch.bfloat16)
    assert lies_well(x)
    assert lies_well(x[:, :24])
    assert lies_well(x[:1].expand(6, 32))
    for odd in (x[:, ::2], x[:, :20], x.flatten()[1:161].view(5, 32), x.flatten()[:140].view(5, 28)[:, :24]):
        assert not lies_well(odd)


def test_the_library_reads_what_a_gradient_of_weights_is_given() -> None:
    a, b, out = (torch.zeros(*shape, dtype=torch.bfloat16) for shape in ((6, 16), (6, 24), (2, 16, 24)))
    offsets = torch.zeros(3, dtype=torch.int32)
    with pytest.raises(flashfit.InvalidArgument, match="a: device is cpu; accepted: a GPU"):
        _torch_moe_gradients.weights_product(a, b, offsets, out, 0)
    with pytest.raises(flashfit.InvalidArgument, match="a: 1 dimensions; accepted: 2"):
        _torch_moe_gradients.weights_product(a[0], b, offsets, out, 0)


def test_which_weights_our_products_of_rows_take() -> None:
    layout_of = _torch_moe_gradients._layout_of
    assert layout_of(torch.zeros(2, 16, 24)) is True
    assert layout_of(torch.zeros(2, 24, 16).mT) is False
    assert layout_of(torch.zeros(2, 16, 32)[:, :, :24]) is True
    for odd in (
        torch.zeros(2, 16, 20),
        torch.zeros(2, 16, 48)[:, :, ::2],
        torch.zeros(2 * 16 * 24 + 1, dtype=torch.bfloat16)[1:].view(2, 16, 24),
        torch.zeros(2, 16, 28)[:, :, :24],
    ):
        assert layout_of(odd) is None


def test_others_that_keep_have_the_same_gradients(kept: list[Any]) -> None:
    for name in ("a part", "repeated ids", "no tokens", "ids that are none"):
        call, names = calls()[name]
        dout = normal(*call["x"].shape)
        found = [gradients_of(flashfit.fused_moe, {**call, "recompute": r}, dout, names) for r in (False, True)]
        assert kept[-2] is not None
        assert kept[-1] is None
        for each in names:
            torch.testing.assert_close(found[0][each], found[1][each], rtol=1e-5, atol=2e-5)


def test_compiled_and_checkpointed_calls_keep_too(kept: list[Any]) -> None:
    torch._dynamo.reset()
    call, names = layer(dtype="bfloat16"), ["x", "w13", "w2", "topk_weights"]
    dout = normal(50, 64).bfloat16()
    want = gradients_of(flashfit.fused_moe, call, dout, names)
    compiled = torch.compile(flashfit.fused_moe, fullgraph=True, backend="aot_eager")

    def checkpointed(**given: Any) -> Any:
        return torch.utils.checkpoint.checkpoint(lambda: flashfit.fused_moe(**given), use_reentrant=False)

    for function in (compiled, checkpointed):
        kept.clear()
        found = gradients_of(function, call, dout, names)
        assert all(torch.equal(found[name], want[name]) for name in names)
        assert kept
        assert all(z is not None for z in kept)


def test_compiled_code_has_the_same_gradients(as_on_a_gpu: str) -> None:
    torch._dynamo.reset()
    call, names = layer(dtype="bfloat16"), ["x", "w13", "w2", "topk_weights"]
    dout = normal(50, 64).bfloat16()
    want = gradients_of(flashfit.fused_moe, call, dout, names)
    compiled = torch.compile(flashfit.fused_moe, fullgraph=True, backend="aot_eager")
    for name, mine in gradients_of(compiled, call, dout, names).items():
        assert torch.equal(mine, want[name])


def test_autocast_has_gradients_in_the_dtype_of_each_tensor(as_on_a_gpu: str) -> None:
    call = {name: x.clone().requires_grad_(name in ("x", "w13", "w2")) for name, x in layer().items()}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        flashfit.fused_moe(**call).float().square().sum().backward()
    half = {name: x.detach().bfloat16() if name in ("x", "w13", "w2") else x for name, x in call.items()}
    out = flashfit.fused_moe(**half)
    want = gradients_of(flashfit.fused_moe, half, 2 * out, ["x", "w13", "w2"])
    for name, mine in want.items():
        assert torch.equal(call[name].grad, mine.float())


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("forward", [False, True])
def test_a_backward_within_autocast_is_that_outside(
    as_on_a_gpu: str, own: bool, forward: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_torch_moe, "has_own_gradients", lambda _: own)
    call, names = calls()["a shared expert"]
    call = {**call, "b2": normal(8, 64, seed=4)}
    if as_on_a_gpu == "grouped" and not forward:
        call = {name: x.bfloat16() if x.dtype == torch.float32 else x for name, x in call.items()}

    def gradients(within: bool) -> tuple[Any, ...]:
        given = {name: x.clone().requires_grad_() if name in (*names, "b2") else x for name, x in call.items()}
        with torch.autocast("cpu", torch.bfloat16, enabled=forward):
            loss = with_shared(**given).float().square().sum()
        with torch.autocast("cpu", torch.bfloat16, enabled=within):
            found: tuple[Any, ...] = torch.autograd.grad(loss, [given[name] for name in (*names, "b2")])
        return found

    assert all(map(torch.equal, gradients(True), gradients(False)))


def test_which_gpus_have_products_over_wgmma() -> None:
    assert experts_over_wgmma((9, 0))
    assert not experts_over_wgmma((10, 0))
    assert not experts_over_wgmma((8, 9))


def test_recompute_is_a_choice_of_two() -> None:
    with pytest.raises(flashfit.InvalidType, match="recompute: 1; accepted: True, False"):
        flashfit.fused_moe(**layer(), recompute=1)  # type: ignore[arg-type]


def test_whose_products_run() -> None:
    for capability, dtype, release, want in (
        ((9, 0), "bf16", None, GROUPED),
        ((9, 0), "bf16", (2, 8), GROUPED),
        ((9, 0), "bf16", (2, 7), ONE_BY_ONE),
        ((9, 0), "fp16", None, ONE_BY_ONE),
        ((10, 0), "bf16", (2, 8), ONE_BY_ONE),
        ((10, 3), "bf16", (2, 9), GROUPED),
        ((8, 9), "bf16", None, ONE_BY_ONE),
        ((12, 0), "bf16", None, ONE_BY_ONE),
    ):
        assert experts_operator(capability, dtype, release) == want
    sizes: dict[str, Any] = {"experts": 8, "top_k": 2, "hidden": 64, "intermediate": 64}
    found = {gpu: flashfit.fused_moe_explain(gpu, **sizes)[0]["backward"] for gpu in ("H100", "B200", "L4")}
    assert found == {
        "H100": {"by": "flashfit"},
        "B200": {"by": "aten::_grouped_mm"},
        "L4": {"by": "aten::mm"},
    }
    refused = flashfit.fused_moe_explain("H100", **sizes, dtype="fp32")[0]
    assert not refused["fits"]
    assert refused["backward"] == {"by": None, "reason": refused["reason"]}
