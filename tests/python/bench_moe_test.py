"""flashfit.bench of layers of experts: the cases, what is right there, and the file that it writes."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import flashfit
import pytest
from flashfit.bench.arrays import TorchArrays
from flashfit.bench.measure import measured
from flashfit.bench.moe import MOE, MoeCase, cases, popularity
from flashfit.bench.parts import Method
from flashfit.bench.peers import Peer
from flashfit.bench.peers.sonic_moe import GivenLogits, SonicMoe
from flashfit.bench.race import CELLS, RACE

from tests.python.bench_parts import (
    DAMAGES,
    MadeUp,
    expect_no_times,
    expect_one_line,
    expect_seen,
    expect_wrong,
    faults,
    file_of,
    on_a_gpu,
    runner,
)

ROOT = Path(__file__).resolve().parents[2]
RESULTS, SCHEMA = ROOT / "bench" / "results", "docs/results_moe.schema.json"
needs_torch = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="no PyTorch, and NumPy has no bf16")


def case(tokens: int = 40, experts: int = 8, routing: str = "random") -> MoeCase:
    first = cases("cpu")[0]
    small: dict[str, Any] = {
        "tokens": tokens,
        "experts": experts,
        "top_k": 2,
        "hidden": 64,
        "intermediate": 32,
        "routing": routing,
    }
    return replace(first, name=f"moe/T{tokens} E{experts} {routing}", **small).touching(experts)


def run_experts(case: Any, inputs: Any) -> Any:
    given = {"router_logits": inputs.logits, "top_k": case.top_k}
    return flashfit.fused_moe(inputs.x, inputs.w13, inputs.w2, **given)


def method(*peers: Peer, repeats: int = 2) -> Method:
    return Method(TorchArrays("cpu"), peers, repeats=repeats, warmup=0, operation=MOE)


def test_the_list() -> None:
    every = cases()
    assert len({each.name for each in every}) == len(every) == 74
    assert {each.group for each in every} == {"moe"}
    assert [(each.experts, each.tokens, each.routing) for each in every[:11]] == [
        (experts, tokens, "random")
        for experts, most in ((128, (32768,)), (8, (16384, 32768)), (256, (8192, 32768)))
        for tokens in (64, 4096, *most)
    ]
    assert {each.tokens for each in every if each.routing == "zipf"} == {256, 4096, 32768}
    assert {each.tokens for each in every if each.routing == "random"} == {1, 8, 64, 256, 4096, 8192, 16384, 32768}
    assert len({(each.experts, each.top_k, each.hidden, each.intermediate) for each in every}) == 8
    one = every[0].touching(126)
    weights, rows = 126 * 3 * 2048 * 768, 2 * 64 * 2048
    assert one.work == {
        "flop": 6 * 64 * 8 * 2048 * 768,
        "exp": 64 * 128 + 64 * 8 * 768,
        "bytes": 2 * (weights + rows) + 4 * 64 * 128,
    }


def test_everything_fits_into_78_gib() -> None:
    """Weights, and ten tensors of a row a choice: a graph's pool and the eager call's, each with x's rows, y, y
    weighed, y in order, and what lies between the products."""
    for each in cases():
        weights = each.experts * 3 * each.hidden * each.intermediate
        rows = each.tokens * each.top_k * (each.hidden + each.intermediate)
        assert 2 * (weights + 10 * rows) < 78 << 30, each.name


def test_a_cpu_has_stand_ins() -> None:
    small = cases("cpu")
    assert len({each.name for each in small}) == len(small) == 40
    assert not {each.name for each in small} & {each.name for each in cases()}
    assert max(each.work["flop"] for each in small) < 5e9
    assert all(each.hidden % 16 == each.intermediate % 16 == 0 for each in small)


@needs_torch
@pytest.mark.parametrize("routing", ["random", "zipf"])
def test_a_case_is_checked_and_timed_beside_pytorch(routing: str) -> None:
    entry = measured(case(routing=routing), method(*MOE.peers()))
    assert entry["correct"], entry
    peer = entry["peers"]["torch-grouped"]
    assert peer["correct"], peer
    assert 0 < entry["error"] <= entry["error_bound"] < 0.2
    assert peer["error"] <= entry["error_bound"]
    assert len(entry["samples_us"]) == len(peer["samples_us"]) == 2


@needs_torch
def test_the_work_is_of_the_experts_that_were_chosen() -> None:
    """Of one token, top_k of them; a case that nothing measured has the most that there can be."""
    one = case(tokens=1)
    entry = measured(one, method())
    assert entry["work"] == one.touching(2).work
    assert entry["work"]["bytes"] < one.work["bytes"]
    arrays = TorchArrays("cpu")
    inputs = MOE.make(arrays, case(tokens=3), 0)
    inputs.logits[:] = 0
    inputs.logits[:, 3:5] = 1
    assert MOE.weighed(case(tokens=40), inputs).work == case(tokens=40).touching(2).work


@needs_torch
def test_uneven_choices_are_uneven() -> None:
    """The most popular of 64 experts is chosen several times as often as an expert of a random case."""
    counts = {}
    for routing in ("random", "zipf"):
        each = case(4000, 64, routing)
        ids = MOE.make(TorchArrays("cpu"), each, 0).logits.topk(2, -1).indices.reshape(-1)
        counts[routing] = sorted(ids.bincount(minlength=64).tolist())
    assert counts["random"][-1] < 2 * counts["random"][0]
    assert counts["zipf"][-1] > 5 * counts["random"][-1]
    assert sorted(popularity(case(routing="zipf")))[-1] == 0


def changed(row: int, by: float) -> Callable[[Any], Any]:
    def spoil(out: Any) -> Any:
        out[row] += by
        return out

    return spoil


SPOILT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "the first token": (changed(0, 0.2), "against fp64 is above"),
    "the last token": (changed(-1, 0.2), "against fp64 is above"),
    "a factor": (lambda out: out * 1.05, "against fp64 is above"),
    "other tokens": (lambda out: out.roll(1, 0), "against fp64 is above"),
    "NaN beside the sample": (changed(slice(None, None, 3), float("nan")), "holds NaN"),  # type: ignore[arg-type]
    "a token too few": (lambda out: out[1:], "the result has shape (299, 64), not (300, 64)"),
}


@needs_torch
def test_sonicmoe_gets_a_case_as_its_users_give_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layer in SonicMoE's place multiplies x with the router's weights, reads experts last and each gate before its
    up, and takes a softmax over the chosen; it is right, and still right for other inputs."""
    import torch

    def layer(x: Any, router: Any, w1: Any, b1: None, w2: Any, b2: None, top_k: int, *_: Any, **told: Any) -> Any:
        assert told == {"is_inference_mode_enabled": True}
        assert (w1.stride(1), w2.stride(1)) == (1, 1)
        weights, ids = torch.nn.functional.linear(x, router).topk(top_k, -1)
        given = {"topk_ids": ids, "topk_weights": weights.softmax(-1)}
        experts = [w.permute(2, 0, 1) for w in (w1, w2)]
        assert experts[0].shape == (router.size(0), 64, x.shape[1])
        return flashfit.fused_moe(x, *experts, **given, gate_up="interleaved"), None, None

    monkeypatch.setitem(sys.modules, "sonicmoe", SimpleNamespace(moe_TC_softmax_topk_layer=layer))
    peer = SonicMoe()
    assert peer.missing("cuda") == ""
    assert peer.missing("cpu") == "runs on a GPU alone"
    entry = measured(case(), method(peer))["peers"]["sonic-moe"]
    assert entry["correct"], entry
    assert len(entry["samples_us"]) == 2


def test_sonicmoe_s_version_has_those_of_its_products(monkeypatch: pytest.MonkeyPatch) -> None:
    assert SonicMoe().version() is None
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"1.{len(name)}")
    assert SonicMoe().version() == "1.9, quack-kernels 1.13, nvidia-cutlass-dsl 1.18"


@needs_torch
def test_logits_are_given_to_the_router_s_product_alone() -> None:
    import torch

    logits = torch.ones(5, 8)
    router = GivenLogits(logits)
    assert torch.nn.functional.linear(torch.ones(5, 64), router) is logits
    with pytest.raises(TypeError, match="GivenLogits"):
        torch.matmul(torch.ones(5, 64), router)


def test_the_race_has_twelve_cells() -> None:
    every = RACE.listed("cuda")
    assert len({each.name for each in every}) == len(every) == len(CELLS) == 12
    assert {each.group for each in every} == {"sonic"}
    assert [peer.name for peer in RACE.peers()] == ["torch-grouped", "sonic-moe"]
    small = RACE.listed("cpu")
    assert {each.tokens for each in small} == {64, 256}
    assert max(each.work["flop"] for each in small) < 5e9


@needs_torch
@pytest.mark.parametrize("name", SPOILT)
def test_what_is_wrong_has_no_times(name: str) -> None:
    spoil, said = SPOILT[name]
    peer = measured(case(300), method(MadeUp("wrong", spoil, run_experts)))["peers"]["wrong"]
    expect_no_times(peer, said)


@needs_torch
def test_flashfit_wrong_is_never_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    right = flashfit.fused_moe

    def wrong(*given: Any, **options: Any) -> Any:
        return right(*given, **options).mul_(1.05)

    monkeypatch.setattr(flashfit, "fused_moe", wrong)
    entry = measured(case(), method(*MOE.peers()))
    expect_wrong(entry)


@needs_torch
def test_a_call_has_its_out_and_workspace_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: the first call asks for a workspace, every other one gets the same memory."""
    right, spaces = flashfit.fused_moe, []

    def on_gpu(*given: Any, workspace: Any, **options: Any) -> Any:
        spaces.append(workspace(1000) if callable(workspace) else workspace)
        return right(*given, **options)

    monkeypatch.setattr(flashfit, "fused_moe", on_gpu)
    arrays = TorchArrays("cpu")
    inputs = MOE.make(arrays, case(), 0)
    call = MOE.prepare(case(), inputs)
    assert call() is call() is inputs.out
    assert len(spaces) == 3
    assert all(space is inputs.workspace for space in spaces)
    assert (inputs.workspace.numel(), str(inputs.workspace.dtype)) == (1000, "torch.uint8")
    inputs.workspace.zero_()
    MOE.fill(arrays, inputs, case(), 1)
    assert arrays.all_nan(inputs.out)
    assert bool((inputs.workspace == 255).all())


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[int, Any]]:
    return runner(monkeypatch, tmp_path, "--repeats", "2", "--warmup", "0", "--threads", "1")


@needs_torch
def test_a_run_writes_what_its_schema_allows(run: Any) -> None:
    status, result = run("--group", "moe", "--filter", "Qwen3-30B-A3B T1 ", "--filter", "OLMoE-1B-7B T256 zipf")
    assert status == 0
    assert [entry["problem"]["tokens"] for entry in result["cases"]] == [256, 1]
    assert (result["schema"], result["made"]["complete"]) == ("moe 1", True)
    assert all(entry["peers"]["torch-grouped"]["correct"] for entry in result["cases"])
    assert faults(result, SCHEMA) == []


@pytest.mark.parametrize(
    "path",
    sorted([*RESULTS.glob("bench_*_moe*.json"), *RESULTS.glob("bench_*_sonic*.json")]),
    ids=lambda path: path.name,
)
def test_committed_files_are_allowed(path: Path) -> None:
    assert faults(json.loads(path.read_text(encoding="utf-8")), SCHEMA) == []


@needs_torch
def test_what_is_broken_is_not_allowed() -> None:
    on_gpu = on_a_gpu(MadeUp("good", compute=run_experts), MadeUp("wrong", SPOILT["a factor"][0], run_experts))
    on_gpu.operation, on_gpu.arrays = MOE, TorchArrays("cpu")
    on_gpu.ceilings = {**on_gpu.ceilings, "tensor_tflops": {"bf16": {"value": 1e3}}}
    content = file_of(MOE, measured(case(), on_gpu))
    damages: list[Callable[[Any], Any]] = [
        lambda result: result["cases"][0]["problem"].pop("hidden"),
        lambda result: result["cases"][0]["problem"].update(routing="even"),
    ]
    expect_seen(content, SCHEMA, [*DAMAGES, *damages])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--group", "moe", "--group", "grid"), "bench: group: 'grid' beside 'moe', whose files are others; accepted"),
        (("--group", "moe", "--group", "route"), "bench: group: 'route' beside 'moe', whose files are others"),
        (("--group", "moe", "--filter", "T9 "), "bench: filter: 'moe T9 ' leaves no case; accepted: parts of names"),
        (("--group", "moe", "--peers", "torch-topk"), "bench: peers: 'torch-topk'; accepted: none, torch-grouped"),
    ],
)
def test_wrong_use_is_said_in_one_line(run: Any, capsys: pytest.CaptureFixture[str], words: Any, said: str) -> None:
    ran, error = run(*words), capsys.readouterr().err
    expect_one_line(ran, error, said)
