"""flashfit.fused_moe and grouped_mlp on NumPy arrays, against the fp64 reference; what they refuse."""

from __future__ import annotations

from typing import Any

import flashfit
import ml_dtypes
import numpy as np
import pytest
from flashfit import reference

DTYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
UNIT = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 2.0**-24}
GATED = ["swiglu", "gpt_oss", "geglu_tanh", "geglu_erf", flashfit.Swiglu(limit=1.0), flashfit.Swiglu(0.5, None, 2.0)]
NAN, INF = float("nan"), float("inf")


def layer(
    tokens: int = 21,
    experts: int = 6,
    hidden: int = 40,
    between: int = 24,
    top_k: int = 3,
    dtype: Any = np.float32,
    gates: int = 2,
    seed: int = 3,
) -> dict[str, Any]:
    """A call of unit-variance inputs, of distinct experts."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int, scale: float = 1) -> Any:
        return (scale * rng.standard_normal(shape)).astype(dtype)

    logits = rng.standard_normal((tokens, experts)).astype(np.float32)
    weights, ids = reference.route(logits, top_k, work=np.float32)
    return {
        "x": normal(tokens, hidden),
        "w13": normal(experts, gates * between, hidden, scale=hidden**-0.5),
        "w2": normal(experts, hidden, between, scale=between**-0.5),
        "topk_weights": weights,
        "topk_ids": ids.astype(np.int32),
    }


def with_biases(call: dict[str, Any], seed: int = 5) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shapes = {"b13": call["w13"].shape[:2], "b2": call["w2"].shape[:2]}
    return {**call, **{n: rng.standard_normal(s).astype(call["x"].dtype) for n, s in shapes.items()}}


def expect_right(out: Any, call: dict[str, Any]) -> None:
    """Each token's error is at most twice the same computation's in steps of the dtype, and a rounding."""
    dtype = call["x"].dtype
    name = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}[dtype.name]
    options = {key: value for key, value in call.items() if key not in ("x", "w13", "w2")}
    want = reference.fused_moe(call["x"], call["w13"], call["w2"], **options)
    fair = reference.fused_moe(
        call["x"], call["w13"], call["w2"], **options, work=np.float32, rounded=reference.rounding(dtype)
    )
    assert (out.shape, out.dtype) == (want.shape, dtype)
    found = out.astype(np.float64)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(want))
    size = np.nanmax(np.abs(np.where(np.isfinite(want), want, 0)), axis=1, keepdims=True, initial=0.0) + 1e-30
    known = np.isfinite(want)
    error = np.where(known, np.abs(found - np.where(known, want, 0)), 0) / size
    its = np.where(known, np.abs(fair - np.where(known, want, 0)), 0) / size
    worst, bound = error.max(initial=0), 2 * np.nanmax(its, initial=0) + UNIT[name] + 4 * UNIT["fp32"]
    assert worst <= bound, f"{worst:.3g} of a token's size, allowed {bound:.3g}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", GATED, ids=str)
@pytest.mark.parametrize("gate_up", ["concatenated", "interleaved"])
def test_against_fp64(dtype: str, activation: Any, gate_up: Any) -> None:
    call = with_biases(layer(dtype=DTYPES[dtype])) | {"activation": activation, "gate_up": gate_up}
    expect_right(flashfit.fused_moe(**call), call)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["silu", "relu2"])
def test_without_gate(dtype: str, activation: str) -> None:
    call = with_biases(layer(dtype=DTYPES[dtype], gates=1)) | {"activation": activation}
    expect_right(flashfit.fused_moe(**call), call)


#: What noise of mean 0 and variance 1 hides.
DATA: dict[str, Any] = {
    "shifted": lambda x: x + 2,
    "scaled": lambda x: x * 8,
    "rising": lambda x: x * 2.0 ** (np.arange(len(x)) % 8 - 4)[:, None],
    "one token apart": lambda x: np.where(np.arange(len(x))[:, None] == 4, 100 * x, x),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("weight_on", ["output", "input"])
def test_data_of_every_kind(dtype: str, kind: str, weight_on: Any) -> None:
    call = with_biases(layer(dtype=DTYPES[dtype])) | {"weight_on": weight_on}
    call["x"] = DATA[kind](call["x"].astype(np.float32)).astype(DTYPES[dtype])
    expect_right(flashfit.fused_moe(**call), call)


@pytest.mark.parametrize("top_k", [1, 2, 16])
@pytest.mark.parametrize("choice", ["one for all", "repeated", "half of them"])
def test_choices_of_every_kind(top_k: int, choice: str) -> None:
    call = layer(experts=16, top_k=top_k)
    ids = call["topk_ids"]
    if choice == "one for all":
        ids[:] = 5
    elif choice == "repeated":
        ids[:, top_k // 2 :] = ids[:, :1]
    else:
        ids //= 2
    expect_right(flashfit.fused_moe(**call), call)


def test_no_tokens() -> None:
    call = layer(tokens=0)
    assert flashfit.fused_moe(**call).shape == (0, 40)
    routed = {key: call[key] for key in ("x", "w13", "w2")}
    assert flashfit.fused_moe(**routed, router_logits=np.zeros((0, 6), np.float32), top_k=2).shape == (0, 40)


def test_nan_stays_in_its_token() -> None:
    call = layer()
    clean = flashfit.fused_moe(**call)
    call["x"] = call["x"].copy()
    call["x"][4, 7], call["x"][9, 0] = NAN, INF
    call["topk_weights"] = call["topk_weights"].copy()
    call["topk_weights"][12, 1] = NAN
    found = flashfit.fused_moe(**call)
    others = np.delete(np.arange(21), [4, 9, 12])
    np.testing.assert_array_equal(found[others], clean[others])
    assert np.isnan(found[[4, 12]]).all()
    assert not np.isfinite(found[9]).any()


def test_nan_of_an_expert_reaches_its_tokens_alone() -> None:
    call = layer()
    clean = flashfit.fused_moe(**call)
    call["w2"] = call["w2"].copy()
    call["w2"][2] = NAN
    has = (call["topk_ids"] == 2).any(axis=1)
    assert 0 < has.sum() < 21
    found = flashfit.fused_moe(**call)
    assert np.isnan(found[has]).all()
    np.testing.assert_array_equal(found[~has], clean[~has])


@pytest.mark.parametrize("router", ["softmax", "topk_softmax", "sigmoid", "sqrt_softplus"])
def test_routed_by_logits_as_moe_route_does(router: Any) -> None:
    call = layer(experts=8)
    logits = np.random.default_rng(9).standard_normal((21, 8)).astype(np.float16)
    options: dict[str, Any] = {"router": router, "renormalize": router != "softmax", "scale": 2.5}
    if router in ("sigmoid", "sqrt_softplus"):
        options |= {"router_bias": [0.5, -0.5, 0, 1, 0, 0, -1, 0.25], "groups": (4, 2)}
    weights, ids = flashfit.moe_route(logits, 3, **options)
    given = {key: call[key] for key in ("x", "w13", "w2")}
    found = flashfit.fused_moe(**given, router_logits=logits, top_k=3, **options)
    np.testing.assert_array_equal(found, flashfit.fused_moe(**given, topk_weights=weights, topk_ids=ids))


def part(call: dict[str, Any], low: int, high: int) -> dict[str, Any]:
    return {key: value[low:high] if key in ("w13", "w2", "b13", "b2") else value for key, value in call.items()}


def test_ranks_of_expert_parallelism_add_up() -> None:
    call = with_biases(layer(experts=9))
    whole = flashfit.fused_moe(**call)
    sums = np.zeros_like(whole)
    for low, high in ((0, 4), (4, 5), (5, 9)):
        mine = part(call, low, high)
        found = flashfit.fused_moe(**mine, experts=(low, high))
        expect_right(found, {**mine, "experts": (low, high)})
        places = [e - low if low <= e < high else -1 for e in range(9)]
        for places_of in (places, np.array(places), np.array(places, np.int32)):
            np.testing.assert_array_equal(flashfit.fused_moe(**mine, experts=places_of), found)
        sums += found
    np.testing.assert_allclose(sums, whole, rtol=0, atol=1e-5)


def test_ids_that_are_none_add_0_where_a_part_is_owned() -> None:
    call = layer()
    want = call["topk_ids"].copy()
    call["topk_ids"] = want.copy()
    call["topk_weights"] = call["topk_weights"].copy()
    for at, foreign in enumerate([-1, 6, 7, 2**31 - 1, -(2**31)]):
        call["topk_ids"][at, 1] = foreign
        call["topk_weights"][at, 1] = NAN  # what is not owned is not looked at
    found = flashfit.fused_moe(**call, experts=(0, 6))
    np.testing.assert_array_equal(found, flashfit.fused_moe(**call, experts=list(range(6))))
    call["topk_ids"], call["topk_weights"][:5, 1] = want, 0
    np.testing.assert_array_equal(found[5:], flashfit.fused_moe(**call)[5:])
    np.testing.assert_allclose(found[:5], flashfit.fused_moe(**call)[:5], rtol=0, atol=1e-6)
    far = call["topk_ids"].astype(np.int64)
    far[:, 0] = 2**32  # of int32 it would be 0
    alone = flashfit.fused_moe(**{**call, "topk_ids": far}, experts=(0, 6))
    far[:, 0] = -1
    np.testing.assert_array_equal(alone, flashfit.fused_moe(**{**call, "topk_ids": far}, experts=(0, 6)))


def test_maps_may_turn_experts_about() -> None:
    call = layer()
    turned = {**call, "w13": call["w13"][::-1].copy(), "w2": call["w2"][::-1].copy()}
    found = flashfit.fused_moe(**turned, experts=[5, 4, 3, 2, 1, 0])
    np.testing.assert_array_equal(found, flashfit.fused_moe(**call))


def test_transposed_weights_give_the_same_bits() -> None:
    call = with_biases(layer(dtype=np.float16))
    turned = {**call, "w13": call["w13"].swapaxes(1, 2).copy(), "w2": call["w2"].swapaxes(1, 2).copy()}
    np.testing.assert_array_equal(flashfit.fused_moe(**turned, transposed=True), flashfit.fused_moe(**call))


def test_views_are_read_as_they_lie() -> None:
    call = layer()
    want = flashfit.fused_moe(**call)
    wide: dict[str, Any] = {}
    for name in ("x", "w13", "w2"):
        array = call[name]
        around = np.full((*array.shape[:-2], array.shape[-2] + 3, array.shape[-1] + 5), NAN, np.float32)
        wide[name] = around[..., 1:-2, 2:-3]
        wide[name][:] = array
    assert not wide["w13"].flags.c_contiguous
    np.testing.assert_array_equal(flashfit.fused_moe(**{**call, **wide}), want)
    one = np.broadcast_to(call["x"][3], call["x"].shape)
    np.testing.assert_array_equal(
        flashfit.fused_moe(**{**call, "x": one}), flashfit.fused_moe(**{**call, "x": one.copy()})
    )


@pytest.mark.parametrize("gate", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_shared_expert(gate: bool, transposed: bool) -> None:
    call = layer()
    rng = np.random.default_rng(11)
    shared = [rng.standard_normal(s).astype(np.float32) / 6 for s in ((32, 40), (40, 16), (40,))][: 3 if gate else 2]
    if transposed:
        call["w13"], call["w2"] = call["w13"].swapaxes(1, 2).copy(), call["w2"].swapaxes(1, 2).copy()
        shared[:2] = [s.T.copy() for s in shared[:2]]
    call |= {"shared": tuple(shared), "transposed": transposed}
    expect_right(flashfit.fused_moe(**call), call)
    without = {key: value for key, value in call.items() if key != "shared"}
    assert not np.allclose(flashfit.fused_moe(**call), flashfit.fused_moe(**without))


@pytest.mark.parametrize("dtype", DTYPES)
def test_grouped_mlp_is_the_part_without_routing(dtype: str) -> None:
    call = with_biases(layer(tokens=30, dtype=DTYPES[dtype]))
    offsets = [2, 9, 9, 9, 20, 27, 27]
    ids = np.full((30, 1), -1, np.int32)
    for e, (begin, end) in enumerate(zip(offsets, offsets[1:])):
        ids[begin:end] = e
    weights = np.ones((30, 1), np.float32)
    given = {key: value for key, value in call.items() if not key.startswith("topk")}
    want = flashfit.fused_moe(**given, topk_weights=weights, topk_ids=ids, experts=(0, 6))
    for each in (offsets, np.array(offsets), np.array(offsets, np.int32)):
        np.testing.assert_array_equal(flashfit.grouped_mlp(offsets=each, **given), want)
    assert not want[[0, 1, 27, 28, 29]].any()
    assert want[2:27].any(axis=1).all()


def test_out_is_written_and_returned() -> None:
    call = layer()
    want = flashfit.fused_moe(**call)
    out = np.full((21, 50), 7, np.float32)
    found = flashfit.fused_moe(**call, out=out[:, 4:44])
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(out[:, 4:44], want)
    assert (np.delete(out, np.s_[4:44], axis=1) == 7).all()


def test_ids_and_weights_of_other_types_are_copied() -> None:
    call = layer()
    call["topk_weights"] = call["topk_weights"].astype(np.float16)
    want = flashfit.fused_moe(**{**call, "topk_weights": call["topk_weights"].astype(np.float32)})
    call["topk_ids"] = np.asfortranarray(call["topk_ids"].astype(np.int64))
    np.testing.assert_array_equal(flashfit.fused_moe(**call), want)


SMALL = layer()
LOGITS = np.zeros((21, 6), np.float32)
NO_ROUTE: dict[str, Any] = {"topk_ids": None, "topk_weights": None}


def by_logits(**options: Any) -> dict[str, Any]:
    return {**NO_ROUTE, "router_logits": LOGITS, "top_k": 2, **options}


def ids_with(value: int, dtype: Any = np.int32) -> Any:
    ids = SMALL["topk_ids"].astype(dtype)
    ids[4, 2] = value
    return ids


ACTIVATIONS = '"swiglu", "gpt_oss", "geglu_tanh", "geglu_erf", "silu", "relu2", or a flashfit.Swiglu'
SCORES = 'router "sigmoid" or "sqrt_softplus"'
ONE_WAY = "accepted: router_logits with top_k, or topk_weights with topk_ids"
WRONG: list[tuple[dict[str, Any], str]] = [
    (NO_ROUTE, f"router_logits: nothing given; {ONE_WAY}"),
    ({"router_logits": LOGITS}, f"router_logits: router_logits and topk_weights and topk_ids given; {ONE_WAY}"),
    ({"topk_ids": None}, "topk_ids: None with topk_weights; accepted: an array of its shape"),
    ({"topk_weights": None}, "topk_weights: None with topk_ids; accepted: an array of its shape"),
    ({"topk_ids": ids_with(6)}, "topk_ids: 6 at [4, 2]; accepted: 0 to 5; with a range or a map of the"),
    ({"topk_ids": ids_with(-1)}, "topk_ids: -1 at [4, 2]; accepted: 0 to 5; with"),
    ({"topk_ids": SMALL["topk_ids"][:5]}, "topk_ids: shape is (5, 3); accepted: (21, 3), [tokens, top_k]"),
    ({"topk_weights": SMALL["topk_weights"][:, :2]}, "topk_weights: shape is (21, 2); accepted: (21, 3), as topk_ids"),
    ({"topk_ids": SMALL["topk_ids"].astype(np.int16)}, "topk_ids: dtype is int16; accepted: int32 or int64"),
    ({"w2": None}, "w2: None; accepted: a tensor [experts, hidden, intermediate]"),
    (
        {"topk_weights": SMALL["topk_weights"].astype(np.float64)},
        "topk_weights: dtype is fp64; accepted: fp16, bf16 or fp32",
    ),
    ({"top_k": 3}, "top_k: given without router_logits; accepted: None"),
    ({"scale": 2.0}, "scale: 2.0 without router_logits; accepted: with it"),
    (by_logits(top_k=None), "top_k: None with router_logits; accepted: an integer from 1 to 16"),
    (by_logits(top_k=7), "top_k: 7; accepted: 1 to 6"),
    (by_logits(top_k=2.0), "top_k: 2.0; accepted: an integer"),
    (
        by_logits(router_logits=LOGITS[:, :5]),
        "router_logits: shape is (21, 5); accepted: 6 experts, as many as w13 has",
    ),
    (by_logits(router_logits=LOGITS[:, :5], experts=(0, 6)), "router_logits: shape is (21, 5); accepted: 6 experts or"),
    (by_logits(router_logits=LOGITS[:3]), "router_logits: shape is (3, 6); accepted: (21, 6), [tokens, experts]"),
    (by_logits(router="top"), 'router: \'top\'; accepted: "softmax", "topk_softmax", "sigmoid", "sqrt_softplus"'),
    (by_logits(router_bias=[0.0] * 6), f'router_bias: given with router "softmax"; accepted: None, or {SCORES}'),
    (by_logits(groups=(3, 1)), f'groups: (3, 1) with router "softmax"; accepted: None, or {SCORES}'),
    (by_logits(router="sigmoid", router_bias=[0.0] * 5), "router_bias: shape is (5); accepted: (6), a number for"),
    (by_logits(router="sigmoid", groups=(4, 2)), "groups: 4; accepted: a divisor of 6, the experts"),
    (
        by_logits(router="sigmoid", groups=(3, 4)),
        "groups: (3, 4); accepted: (groups, groups kept), 1 to 512 groups, of ",
    ),
    (by_logits(router="sigmoid", groups=(6, 1)), "top_k: 2; accepted: 1 to 1, the experts of the groups that are kept"),
    (by_logits(router="sigmoid", groups=3), "groups: 3; accepted: (groups, groups kept), or None for one group"),
    (by_logits(scale=0.0), "scale: 0; accepted: finite numbers other than 0"),
    (by_logits(scale="2"), "scale: '2'; accepted: a number"),
    (by_logits(scale=np.str_("2")), f"scale: {np.str_('2')!r}; accepted: a number"),
    (by_logits(scale=True), "scale: True; accepted: a number"),
    (by_logits(scale=10**400), "scale: inf; accepted: finite numbers other than 0"),
    ({"scale": "1"}, "scale: '1'; accepted: a number"),
    ({"activation": "gelu"}, f"activation: 'gelu'; accepted: {ACTIVATIONS}"),
    ({"activation": flashfit.Swiglu(limit=0.0)}, "activation: its limit is 0; accepted: above 0 in fp32, or"),
    ({"activation": flashfit.Swiglu(limit=1e-46)}, "activation: its limit is 1e-46; accepted: above 0 in fp32, or"),
    ({"activation": flashfit.Swiglu(alpha=1e-46)}, "activation: Swiglu(alpha=1e-46, limit=None, shift=0.0); accepted:"),
    ({"activation": flashfit.Swiglu(alpha=1e39)}, "activation: Swiglu(alpha=1e+39, limit=None, shift=0.0); accepted:"),
    ({"activation": flashfit.Swiglu(shift=-(10**400))}, "activation: Swiglu(alpha=1.0, limit=None, shift=-1000"),
    ({"activation": flashfit.Swiglu(alpha=NAN)}, "activation: Swiglu(alpha=nan, limit=None, shift=0.0); accepted: fin"),
    ({"gate_up": "up_gate"}, 'gate_up: \'up_gate\'; accepted: "concatenated", "interleaved"'),
    ({"weight_on": None}, 'weight_on: None; accepted: "output", "input"'),
    ({"transposed": 1}, "transposed: 1; accepted: True, False"),
    (
        {"activation": "silu", "gate_up": "interleaved"},
        'gate_up: "interleaved" with activation "silu", which has no gate; ',
    ),
    ({"x": SMALL["x"][0]}, "x: 1 dimensions; accepted: 2, [tokens, hidden]"),
    ({"x": SMALL["x"].astype(np.float64)}, "x: dtype is fp64 on cpu; accepted: fp16, bf16, on the CPU also fp32"),
    ({"x": SMALL["x"].astype(np.float16)}, "w13: dtype is fp32; accepted: fp16, as x"),
    ({"x": SMALL["x"][:, ::2]}, "w2: shape is (6, 40, 24); accepted: (6, 20, 24), [experts, hidden, intermediate]"),
    ({"x": np.asfortranarray(SMALL["x"])}, "x: strides are (1, 21); accepted: 1 in the last dimension"),
    ({"w13": SMALL["w13"][:, :40]}, "w13: shape is (6, 40, 40); accepted: (6, 48, 40), [experts, outputs, hidden]"),
    ({"w13": SMALL["w13"][:5]}, "w2: shape is (6, 40, 24); accepted: (5, 40, 24), [experts, hidden, intermediate]"),
    ({"activation": "silu"}, "w13: shape is (6, 48, 40); accepted: (6, 24, 40), [experts, outputs, hidden]"),
    ({"transposed": True}, "w2: shape is (6, 40, 24); accepted: (6, 40, 40), [experts, intermediate, hidden]"),
    ({"b13": np.zeros((6, 24), np.float32)}, "b13: shape is (6, 24); accepted: (6, 48), [experts, outputs of w13]"),
    ({"b2": np.zeros((6, 48), np.float32)}, "b2: shape is (6, 48); accepted: (6, 40), [experts, hidden]"),
    ({"experts": (0, 5)}, "experts: (0, 5); accepted: a range of 6 experts, as many as w13 has"),
    ({"experts": (3, 3)}, "experts: (3, 3); accepted: 0 <= low < high"),
    ({"experts": (0, 6, 7)}, "experts: (0, 6, 7); accepted: (low, high), or an array of each expert's place"),
    ({"experts": [0, 6]}, "experts: 6 at [1]; accepted: -1 to 5"),
    (by_logits(scale=1e-46), "scale: 1e-46; accepted: finite numbers other than 0, in fp32"),
    (by_logits(scale=1e39), "scale: 1e+39; accepted: finite numbers other than 0, in fp32"),
    ({"scale": np.ones(2)}, "scale: ndarray of shape (2,); accepted: a number"),
    ({"router": np.array(["a", "b"])}, "router: ndarray of shape (2,) without router_logits; accepted: with it"),
    ({"renormalize": np.ones(2)}, "renormalize: ndarray of shape (2,) without router_logits; accepted: with it"),
    ({"experts": [0, -2]}, "experts: -2 at [1]; accepted: -1 or more, below 2**31"),
    ({"experts": np.array(["0"])}, "experts: dtype is <U1; accepted: int32, int64"),
    (by_logits(experts=[0, 1]), "router_logits: shape is (21, 6); accepted: (21, 2), [tokens, entries of experts]"),
    ({"experts": [True, False]}, "experts: holds True; accepted: integers"),
    ({"experts": (0, 10**5000)}, "experts: (0, int of too many digits to print); accepted: 0 <= low < high"),
    (by_logits(top_k=10**5000), "top_k: int of too many digits to print; accepted: 1 to 16"),
    (by_logits(top_k=10**400), f"top_k: 1{'0' * 56}...; accepted: 1 to 16"),
    ({"topk_ids": ids_with(2**32, np.int64)}, "topk_ids: 4294967296 at [4, 2]; accepted: 0 to 5"),
    ({"topk_ids": ids_with(-(2**40), np.int64)}, "topk_ids: -1099511627776 at [4, 2]; accepted: 0 to 5"),
    ({"topk_ids": ids_with(-1, np.int64)}, "topk_ids: -1 at [4, 2]; accepted: 0 to 5"),
    (
        {"topk_ids": np.ma.array(ids_with(0, np.int64), mask=True)},
        "topk_ids: a masked array, whose mask would be ignored; accepted",
    ),
    (
        {"topk_weights": np.ma.array(SMALL["topk_weights"], mask=True)[::-1]},
        "topk_weights: a masked array, whose mask would be ignored; accepted",
    ),
    ({"experts": (2**21 - 6, 2**21)}, "experts: 2097152; accepted: 1048576 or less"),
    ({"experts": "01"}, "experts: str; accepted: a list, a NumPy array or a torch tensor of int32"),
    ({"shared": SMALL["w13"]}, "shared: ndarray of shape (6, 48, 40); accepted: (w13, w2), (w13, w2, gate), or None"),
    ({"shared": (SMALL["w13"][0], SMALL["w2"][0, :30])}, "shared_w2: shape is (30, 24); accepted: (40, 24), [hidden,"),
    (
        {"shared": (SMALL["w13"][0], SMALL["w2"][0], np.zeros(39, np.float32))},
        "shared_gate: shape is (39); accepted: (40), [hidden]",
    ),
    ({"out": np.zeros((21, 40), np.float16)}, "out: dtype is fp16; accepted: fp32, as x"),
    ({"out": np.zeros((20, 40), np.float32)}, "out: shape is (20, 40); accepted: (21, 40), as x"),
    ({"out": [1.0]}, "out: builtins.list; accepted: a NumPy array, as x"),
    ({"out": SMALL["x"]}, "out: memory 0x"),
    ({"w13": [1.0]}, "w13: builtins.list; accepted: a NumPy array, as x"),
    ({"x": [1.0]}, "x: builtins.list; accepted: an array of NumPy, torch, CuPy or JAX"),
]


@pytest.mark.parametrize(("bent", "words"), WRONG, ids=[words[:48] for _, words in WRONG])
def test_refusals(bent: dict[str, Any], words: str) -> None:
    given = {**SMALL, **bent}
    out = given.setdefault("out", np.full((21, 40), 7, np.float32))
    before = np.array(out, copy=True)
    with pytest.raises((flashfit.InvalidArgument, flashfit.InvalidType)) as caught:
        flashfit.fused_moe(**given)
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)
    np.testing.assert_array_equal(before, out)


def test_a_limit_past_fp32_is_none() -> None:
    calls = [{**SMALL, "activation": flashfit.Swiglu(limit=limit)} for limit in (None, 1e39, 10**400, float("inf"))]
    wanted, *others = (flashfit.fused_moe(**call) for call in calls)
    for each in others:
        np.testing.assert_array_equal(each, wanted)


GROUPS: list[tuple[Any, str]] = [
    ([0, 5, 3, 9, 9, 9, 21], "offsets: 3 follows 5 at [2]; accepted: values that never fall"),
    ([0, 5, 6, 9, 9, 9, 22], "offsets: 22 at [6]; accepted: 0 to 21, the rows of x"),
    (np.array([0, 5, 6, 9, 9, 9, 2**33]), "offsets: 8589934592 at [6]; accepted: 0 to 21, the rows of x"),
    ([0, 5, 6, 9, 9, 9, True], "offsets: holds True; accepted: integers"),
    ([0, 21], "offsets: shape is (2); accepted: (7), [experts + 1]"),
    ([-1, 5, 6, 9, 9, 9, 21], "offsets: -1 at [0]; accepted: 0 or more, below 2**31"),
    (np.array([-1, 5, 6, 9, 9, 9, 21], np.int32), "offsets: -1 at [0]; accepted: 0 to 21, the rows of x"),
    (None, "offsets: None; accepted: an array or a list of experts + 1 integers"),
    ([0.5] * 7, "offsets: holds 0.5; accepted: integers"),
]


@pytest.mark.parametrize(("offsets", "words"), GROUPS, ids=[words[:40] for _, words in GROUPS])
def test_refusals_of_offsets(offsets: Any, words: str) -> None:
    given = {key: SMALL[key] for key in ("x", "w13", "w2")}
    with pytest.raises((flashfit.InvalidArgument, flashfit.InvalidType)) as caught:
        flashfit.grouped_mlp(offsets=offsets, **given)
    assert str(caught.value).startswith(words)
