"""flashfit.bench of the router: its cases, what is right there, and the file that it writes."""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import flashfit
import numpy as np
import pytest
from flashfit import _command
from flashfit.bench.arrays import NumPyArrays, TorchArrays
from flashfit.bench.measure import measured, noise
from flashfit.bench.parts import Method
from flashfit.bench.peers import Peer
from flashfit.bench.route import ROUTE, RouteCase, cases

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
RESULTS, SCHEMA = ROOT / "bench" / "results", "docs/results_route.schema.json"
needs_torch = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="no PyTorch")


def case(tokens: int = 50, experts: int = 20, top_k: int = 4, dtype: str = "fp32") -> RouteCase:
    first = next(each for each in cases() if each.dtype == dtype)
    work = {"flop": 0, "exp": 1e4, "bytes": 1e6}
    return replace(first, name=f"route/T{tokens} E{experts}", tokens=tokens, experts=experts, top_k=top_k, work=work)


def route(case: Any, inputs: Any) -> Any:
    return flashfit.moe_route(inputs.logits, case.top_k)


def made_up(name: str, spoil: Callable[[Any, Any], Any] = lambda weights, ids: (weights, ids)) -> MadeUp:
    return MadeUp(name, lambda result: spoil(*result), route)


def method(*peers: Peer, arrays: Any = None, repeats: int = 4) -> Method:
    return Method(arrays or NumPyArrays(), peers, repeats=repeats, warmup=1, operation=ROUTE)


def test_the_list() -> None:
    every = cases()
    assert len({each.name for each in every}) == len(every) == 32
    assert {each.group for each in every} == {"route"}
    assert {(each.experts, each.top_k) for each in every} == {(8, 2), (128, 8), (256, 8), (512, 10)}
    assert {each.tokens for each in every} == {1, 64, 4096, 32768}
    (one,) = (each for each in every if each.name == "route/T64 E128 K8 bf16")
    assert one.work == {"flop": 0, "exp": 64 * 128, "bytes": 64 * (128 * 2 + 8 * 8)}
    assert one.problem() == {
        "dtype": "bf16",
        "tokens": 64,
        "experts": 128,
        "top_k": 8,
        "router": "softmax",
        "renormalize": True,
    }
    assert flashfit.moe_route_explain("L4", **one.problem())[0]["gpu"] == "L4"


def test_a_case_is_checked_and_timed_beside_its_peers() -> None:
    entry = measured(case(), method(made_up("twin")))
    assert entry["correct"], entry
    assert 0 <= entry["error"] <= entry["error_bound"] < 1e-5
    assert len(entry["samples_us"]) == len(entry["peers"]["twin"]["samples_us"]) == 4
    assert entry["peers"]["twin"]["ratio"] > 0
    beside_itself = noise(case(), method())
    assert beside_itself is not None
    assert beside_itself["half_width"] >= 0


@needs_torch
@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
@pytest.mark.parametrize(("tokens", "experts", "top_k"), [(1, 8, 2), (64, 128, 8), (5000, 512, 10)])
def test_pytorch_is_right_too(dtype: str, tokens: int, experts: int, top_k: int) -> None:
    """Of bf16, whose logits are often equal, whichever of them it chooses."""
    entry = measured(case(tokens, experts, top_k, dtype), method(*ROUTE.peers(), arrays=TorchArrays("cpu")))
    assert entry["correct"], entry
    assert entry["peers"]["torch-topk"]["correct"], entry["peers"]


def exchanged(x: Any) -> Any:
    """The first two ranks of the last token, one for the other."""
    x = x.copy()
    x[-1, :2] = x[-1, [1, 0]]
    return x


SPOILT: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a little off": (lambda w, i: (w * np.float32(1 + 1e-5), i), "against fp64 is above"),
    "one weight": (lambda w, i: (np.where(np.arange(w.size).reshape(w.shape) == 7, w + 1e-3, w), i), "against fp64"),
    "weights in another order": (lambda w, i: (exchanged(w), i), "against fp64 is above"),
    "experts in another order": (lambda w, i: (w, exchanged(i)), "an expert was chosen whose logit is"),
    "other experts": (lambda w, i: (w, (i + 1) % 20), "an expert was chosen whose logit is"),
    "an expert twice": (lambda w, i: (w, np.repeat(i[:, :1], 4, axis=1)), "not distinct experts"),
    "an expert too many": (lambda w, i: (w, np.where(i == i.max(), 20, i)), "not distinct experts"),
    "not written": (lambda w, i: (w, np.full_like(i, -1)), "not distinct experts, or were not written"),
    "NaN": (lambda w, i: (np.where(w == w.max(), np.nan, w), i), "the weights hold NaN"),
    "a token too few": (lambda w, i: (w[1:], i), "weights have shape (49, 4), not (50, 4)"),
    "a rank too few": (lambda w, i: (w, i[:, 1:]), "ids have shape (50, 3), not (50, 4)"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_what_is_wrong_has_no_times(name: str) -> None:
    spoil, said = SPOILT[name]
    peer = measured(case(), method(made_up("wrong", spoil)))["peers"]["wrong"]
    expect_no_times(peer, said)


def test_of_a_long_case_no_token_is_left_unwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of those that are not in the sample."""
    monkeypatch.setattr("flashfit.bench.route.MOST_LOGITS", 100)

    def spoil(weights: Any, ids: Any) -> Any:
        weights[1::2] = np.nan
        return weights, ids

    assert "NaN" in measured(case(1000), method(made_up("wrong", spoil)))["peers"]["wrong"]["message"]


def test_flashfit_wrong_is_never_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    right = flashfit.moe_route

    def wrong(*given: Any, **options: Any) -> Any:
        weights, ids = right(*given, **options)
        weights *= np.float32(1.001)
        return weights, ids

    monkeypatch.setattr(flashfit, "moe_route", wrong)
    entry = measured(case(), method(made_up("good")))
    expect_wrong(entry)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[int, Any]]:
    return runner(monkeypatch, tmp_path, "--repeats", "3", "--warmup", "1", "--threads", "1")


def test_a_run_writes_what_its_schema_allows(run: Any, tmp_path: Path) -> None:
    status, result = run("--group", "route", "--filter", "T1 ", "--filter", "T64 E8 ")
    assert status == 0
    dtypes = ("bf16", "fp32") if importlib.util.find_spec("torch") else ("fp32",)
    assert {entry["problem"]["dtype"] for entry in result["cases"]} == set(dtypes)
    assert len(result["cases"]) == 5 * len(dtypes)
    assert (result["schema"], result["made"]["complete"]) == ("route 1", True)
    assert faults(result, SCHEMA) == []
    file = str(tmp_path / "result.json")
    ran = subprocess.run([_command.command(), "compare", file, file], capture_output=True, text=True)
    assert ran.returncode != 0
    assert 'schema: "route 1"; this flashfit reads 1' in ran.stderr + ran.stdout


@pytest.mark.parametrize("path", sorted(RESULTS.glob("bench_*_route*.json")), ids=lambda path: path.name)
def test_committed_files_are_allowed(path: Path) -> None:
    assert faults(json.loads(path.read_text(encoding="utf-8")), SCHEMA) == []


def test_what_is_broken_is_not_allowed() -> None:
    on_gpu = on_a_gpu(made_up("good"), made_up("wrong", SPOILT["one weight"][0]))
    on_gpu.operation = ROUTE
    content = file_of(ROUTE, measured(case(), on_gpu))
    expect_seen(content, SCHEMA, [*DAMAGES, lambda result: result["cases"][0]["problem"].pop("experts")])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--group", "route", "--group", "grid"),
            "bench: group: 'grid' beside 'route', whose files are others; accepted",
        ),
        (("--group", "rout"), "bench: group: 'rout'; accepted: origin, "),
        (
            ("--group", "route", "--filter", "E9 "),
            "bench: filter: 'route E9 ' leaves no case; accepted: parts of names",
        ),
        (("--group", "route", "--peers", "sdpa-flash"), "bench: peers: 'sdpa-flash'; accepted: none, torch-topk"),
        (("--group", "route", "--profile"), "bench: profile: counts "),
    ],
)
def test_wrong_use_is_said_in_one_line(run: Any, capsys: pytest.CaptureFixture[str], words: Any, said: str) -> None:
    ran, error = run(*words), capsys.readouterr().err
    expect_one_line(ran, error, said)
    if "rout" in words:
        assert error.rstrip().endswith(", route, moe, sonic")


def test_the_rest_of_the_list_is_attentions(run: Any) -> None:
    status, result = run("--filter", "edges/", "--minutes", "0")
    assert (status, result["schema"]) == (130, 1)
