"""Options of attention in the Python harness: each is computed, judged and asked of peers."""

from __future__ import annotations

import dataclasses
import importlib.util
from typing import Any

import flashfit
import pytest
from flashfit.bench import judge, ours
from flashfit.bench.arrays import Arrays, NumPyArrays, TorchArrays
from flashfit.bench.cases import Case, listed
from flashfit.bench.measure import measured
from flashfit.bench.parts import Method
from flashfit.bench.peers import CannotError, all_peers
from flashfit.bench.peers.base import only

from tests.python.bench_parts import case

BIAS: dict[str, Any] = {"bias": "fp32", "bias_shape": [2, 1, 40, 40]}
ASKED: dict[str, dict[str, Any]] = {
    "window": {"window_left": 9, "window_right": 3},
    "causal window": {"causal": True, "window_left": 9},
    "softcap": {"softcap": 1.5},
    "alibi": {"alibi": True},
    "sinks": {"sinks": True},
    "bias": BIAS,
    "bool": {"bias": "bool", "bias_shape": [1, 2, 1, 40]},
    "used keys": {"seqused_k": [40, 7]},
    "narrow values": {"head_dim_v": 24},
    "unaligned": {"memory": "unaligned"},
    "all": {
        **BIAS,
        "causal": True,
        "window_left": 20,
        "softcap": 3,
        "alibi": True,
        "sinks": True,
        "seqused_k": [40, 11],
    },
}
HARMLESS = ("narrow values", "unaligned")  # what lacks them is not wrong but another problem


def packages() -> list[Any]:
    return [NumPyArrays(), TorchArrays("cpu")] if importlib.util.find_spec("torch") else [NumPyArrays()]


def verdict(asked: Case, computed: Case, arrays: Arrays) -> judge.Verdict:
    inputs = arrays.make(asked, 5)
    expected = judge.Expected(asked, arrays, inputs, 5)
    given = inputs
    for name in ("alibi_slopes", "sinks", "bias", "seqused_k"):
        if not {"alibi_slopes": computed.alibi, "sinks": computed.sinks}.get(name, getattr(computed, name, None)):
            given = dataclasses.replace(given, **{name: None})
    return expected.judge(ours.prepare(computed, given)())


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("arrays", packages())
def test_each_is_right_and_its_lack_is_seen(name: str, arrays: Arrays) -> None:
    asked = case(**ASKED[name])
    assert verdict(asked, asked, arrays).message == ""
    if name not in HARMLESS:
        plain = case(causal="causal" in ASKED[name])
        assert verdict(asked, plain, arrays).message.startswith("error ")


def test_problems_say_what_is_asked() -> None:
    keys = {key for asked in ASKED.values() for key in case(**asked).problem()}
    assert keys >= {"window_left", "softcap", "alibi", "sinks", "bias", "bias_shape", "seqused_k", "head_dim_v"}
    assert case().options() == []
    assert case(**ASKED["all"]).options() == ["a window", "softcap", "ALiBi", "sinks", "a bias", "seqused_k"]


def test_problems_of_the_list_come_back_as_they_were() -> None:
    cases = [c for c in listed() if c.group in ("options", "corners")]
    assert len(cases) > 200
    seen = {option for c in cases for option in c.options()}
    assert len(seen) == 7, seen
    assert all(c.problem().get("seqused_k", []) == list(c.seqused_k or ()) for c in cases)


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="no PyTorch")
@pytest.mark.parametrize("name", [name for name in ASKED if name not in ("softcap", "sinks", "all")])
def test_pytorch_s_mask_says_the_same(name: str) -> None:
    (math,) = [peer for peer in all_peers() if peer.name == "sdpa-math"]
    entry = measured(case(**ASKED[name]), Method(TorchArrays("cpu"), [math], repeats=3, warmup=1))
    assert entry["correct"], entry
    assert entry["peers"]["sdpa-math"]["correct"], entry["peers"]


def test_peers_refuse_what_they_do_not_take() -> None:
    inputs = NumPyArrays().make(case(**ASKED["all"]), 0)
    for peer in all_peers():
        with pytest.raises((CannotError, ImportError), match=r"does not take|No module|variable length"):
            peer.prepare(case(**ASKED["all"]), inputs)


def test_what_a_peer_does_not_take_reads_as_a_sentence() -> None:
    with pytest.raises(CannotError, match=r"^does not take a window or softcap$"):
        only(case(window_left=3, softcap=2.0, alibi=True), "ALiBi")


def test_a_misfit_is_said_and_never_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise flashfit.Misfit("softcap: 1.5; no kernel of this build takes it")

    monkeypatch.setattr(flashfit, "attention", refuse)
    entry = measured(case(**ASKED["softcap"]), Method(NumPyArrays(), [], repeats=3, warmup=1))
    assert not entry["correct"]
    assert entry["message"] == "misfit: softcap: 1.5; no kernel of this build takes it"
    assert "median_us" not in entry
