"""flashfit.bench measures what is right, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flashfit.bench import stats, timing
from flashfit.bench.arrays import NumPyArrays
from flashfit.bench.entries import bounds
from flashfit.bench.judge import Expected, rounding, sample
from flashfit.bench.measure import measured, noise
from flashfit.bench.parts import BrokenDeviceError, message_of

from tests.python.bench_parts import AGpu, MadeUp, Refusing, case, method, on_a_gpu


def off_by_little(out: Any) -> Any:
    out[0, 3, 1, 5] += 0.02
    return out


def test_a_case_is_checked_and_timed_beside_its_peers() -> None:
    entry = measured(case(), method(MadeUp("twin")))
    twin = entry["peers"]["twin"]
    assert entry["correct"]
    assert 0 < entry["error"] <= entry["error_bound"]
    assert entry["launch"] == "host"
    for timed in (entry, twin):
        assert len(timed["samples_us"]) == 6
        assert timed["interval_us"][0] <= timed["median_us"] <= timed["interval_us"][1]
    pairs = stats.ratio(twin["samples_us"], entry["samples_us"])
    assert twin["ratio"] == pytest.approx(pairs.median, rel=1e-3)
    assert twin["ratio_interval"] == pytest.approx([pairs.low, pairs.high], rel=1e-3)
    json.dumps(entry, allow_nan=False)


@pytest.mark.parametrize(
    "given",
    [
        {"causal": True, "seqlen_k": 70},
        {"causal": True, "seqlen_q": 70},
        {"seqlen_k": 0},
        {"seqlen_q": 0},
        {"memory": "packed_qkv"},
        {"memory": "heads_first", "dtype": "fp32"},
        {"memory": "padded_rows", "heads_kv": 1},
        {"lengths": (5, 0, 33), "causal": True},
        {"lengths": (0, 0)},
    ],
)
def test_every_kind_of_case_is_right(given: dict[str, Any]) -> None:
    entry = measured(case(timed=False, **given), method())
    assert entry["correct"], entry["message"]
    assert "samples_us" not in entry


def test_a_peer_that_is_wrong_has_no_times() -> None:
    entry = measured(case(), method(MadeUp("wrong", off_by_little)))
    peer = entry["peers"]["wrong"]
    assert entry["correct"]
    assert not peer["correct"]
    assert peer["message"].startswith("error 0.0")
    assert "samples_us" not in peer
    assert "ratio" not in peer


def test_a_peer_that_is_wrong_only_when_it_is_timed_has_no_times() -> None:
    peer = MadeUp("tired", lambda out: off_by_little(out) if peer.calls > 1 else out)
    found = measured(case(), method(peer))["peers"]["tired"]
    assert found["message"].startswith("after timing: error")
    assert "median_us" not in found


def test_a_peer_that_remembers_its_answer_has_no_times() -> None:
    kept: list[Any] = []
    peer = MadeUp("cached", lambda out: kept.append(out) or kept[0])  # type: ignore[func-returns-value]
    assert "after timing" in measured(case(), method(peer))["peers"]["cached"]["message"]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda out: np.where(np.arange(out.size).reshape(out.shape) == 7, np.nan, out), "holds NaN"),
        (lambda out: np.where(np.arange(out.size).reshape(out.shape) == 7, np.inf, out), "error inf"),
        (lambda out: out[:, :39], "has shape (2, 39, 2, 32), not (2, 40, 2, 32)"),
        (lambda out: 1 / 0, "division by zero"),
        (lambda out: Path("/home/someone/lib/kernel.so").read_bytes(), "'kernel.so'"),
    ],
)
def test_a_peer_that_fails_is_reported_with_its_message(spoil: Any, said: str) -> None:
    entry = measured(case(), method(MadeUp("bad", spoil), Refusing("cannot"), MadeUp("good")))
    assert said in entry["peers"]["bad"]["message"]
    assert entry["peers"]["cannot"] == {"correct": False, "message": "no fp16 here"}
    assert entry["peers"]["good"]["ratio"] > 0
    json.dumps(entry, allow_nan=False)


def test_flashfit_wrong_is_never_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import flashfit

    right = flashfit.attention

    def wrong(*given: Any, **options: Any) -> Any:
        return off_by_little(right(*given, **options))

    monkeypatch.setattr(flashfit, "attention", wrong)
    entry = measured(case(), method(MadeUp("good")))
    assert not entry["correct"]
    assert "above" in entry["message"]
    assert not {"samples_us", "median_us", "peers"} & set(entry)


def test_rows_beyond_a_sample_must_be_written() -> None:
    long = case(seqlen_q=3000, seqlen_k=3000, batch=1)
    pieces = list(sample(long, 0))
    rows = {(piece.of_q[2], int(row)) for piece in pieces for row in piece.rows}
    assert sum(len(piece.rows) for piece in pieces) < 3000
    assert any(row == 2999 for _, row in rows)
    arrays = NumPyArrays()
    inputs = arrays.make(long, 0)
    import flashfit

    out = flashfit.attention(inputs.q, inputs.k, inputs.v)
    expected = Expected(long, arrays, inputs, 0)
    assert not expected.judge(out).message
    untried = next(row for row in range(3000) if (0, row) not in rows)
    out[0, untried, 0, 3] = np.nan
    assert "not written" in expected.judge(out).message


def test_rounding_to_bf16_is_that_of_its_definition() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = np.random.default_rng(0).standard_normal(20000, np.float32) * np.float32(100)
    values[:3] = 0.0, 1.00390625, 1.01171875  # two ties, to even
    want = values.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert np.array_equal(rounding("bf16")(values), want)


class Scripted:
    """Times that are known beforehand, and the order of calls."""

    def __init__(self, name: str, times: Iterator[float], order: list[str]) -> None:
        self._name, self._times, self._order = name, times, order

    def sample(self) -> float:
        self._order.append(self._name)
        return next(self._times)

    def again(self) -> Any:
        return None


def test_every_round_runs_all_in_another_order() -> None:
    order: list[str] = []
    timers = {name: Scripted(name, iter(range(100)), order) for name in "abc"}
    ended: list[int] = []
    samples = timing.interleaved(timers, 4, 2, after_round=lambda: ended.append(len(order)))
    rounds = ["".join(order[i : i + 3]) for i in range(0, len(order), 3)]
    assert rounds == ["bca", "cab", "abc", "bca", "cab", "abc"]
    assert samples == {name: [2, 3, 4, 5] for name in "abc"}
    assert ended == [9, 12, 15, 18]


def test_samples_are_filled_and_no_call_more() -> None:
    for us in (0.1, 7.0, 99.0, 107.0, 119.0, 121.0, 199.0, 250.0, 299.0, 301.0, 5000.0):
        calls = timing.calls_of_sample(us)
        assert calls * us >= timing.SAMPLE_US or calls == timing.MOST_CALLS, us
        assert (calls - 1) * us < timing.SAMPLE_US, us


def test_a_slow_case_has_fewer_rounds_but_never_none() -> None:
    timers = {"a": Scripted("a", iter(range(1000)), [])}
    assert len(timing.interleaved(timers, 100, 50, seconds=0)["a"]) == 10
    assert len(timing.interleaved(timers, 5, 0, seconds=0)["a"]) == 5


def test_a_paired_ratio_does_not_see_what_slows_both() -> None:
    machine = np.random.default_rng(1).uniform(1, 3, 60)
    own = np.random.default_rng(2).uniform(0.99, 1.01, 60)
    paired = stats.ratio(list(1.2 * machine * own), list(machine))
    assert paired.low <= 1.2 <= paired.high
    assert paired.high - paired.low < 0.1
    shuffled = stats.ratio(list(1.2 * machine * own), list(np.roll(machine, 7)))
    assert shuffled.high - shuffled.low > 2 * (paired.high - paired.low)
    same = stats.ratio([3.0, 5.0], [3.0, 5.0])
    assert (same.median, same.low, same.high) == (1, 1, 1)
    with pytest.raises(ValueError, match="same rounds"):
        stats.ratio([1.0], [1.0, 2.0])


def test_noise_is_a_case_beside_itself() -> None:
    found = noise(case(), method(repeats=20))
    assert found is not None
    assert 0 <= found["half_width"] < 1
    assert "origin/small beside itself" in found["how"]


def test_on_a_gpu_replays_and_launches_are_told_apart() -> None:
    entry = measured(case(), on_a_gpu(MadeUp("twin")))
    assert (entry["launch"], entry["variant"], entry["throttled"]) == ("graph", "fwd_x", ["power cap"])
    assert len(entry["plain"]["samples_us"]) == len(entry["samples_us"]) == 3
    assert entry["host_us"] == 2
    assert entry["clock_mhz"] == {"median": 1500, "low": 1500, "high": 1500}
    assert 0 < entry["share"] < 1
    assert "message" not in entry["peers"]["twin"]


def test_a_peer_that_cannot_be_captured_is_timed_beside_plain_launches() -> None:
    class Uncaptured(MadeUp):
        def prepare(self, case: Any, inputs: Any) -> Any:
            gpu.cannot = super().prepare(case, inputs)
            return gpu.cannot

    gpu = AGpu()
    entry = measured(case(), on_a_gpu(Uncaptured("eager"), gpu=gpu))
    peer = entry["peers"]["eager"]
    assert peer["correct"]
    assert peer["message"].endswith("operation not permitted when stream is capturing")
    assert peer["ratio"] == pytest.approx(
        stats.ratio(peer["samples_us"], entry["plain"]["samples_us"]).median, rel=1e-3
    )


def test_a_time_above_what_the_gpu_can_do_is_an_error() -> None:
    entry = measured(case(), on_a_gpu(MadeUp("twin"), ceiling=1e-9))
    assert not entry["correct"]
    assert "of what tensor allows" in entry["message"]
    assert entry["impossible_us"] > 0
    assert "samples_us" not in entry
    assert "ratio" not in entry["peers"]["twin"]


def test_a_gpu_that_answers_no_more_ends_the_run() -> None:
    gpu = AGpu()

    def kill(out: Any) -> Any:
        gpu.works = False
        raise RuntimeError("CUDA error")

    with pytest.raises(BrokenDeviceError, match="illegal memory access"):
        measured(case(), on_a_gpu(MadeUp("killer", kill), gpu=gpu))


def test_bounds_leave_out_what_the_cache_holds() -> None:
    assert bounds(case(), method()) is None
    on_gpu = on_a_gpu(ceiling=500)
    on_gpu.ceilings["memory_gb_per_s"]["value"] = 1e3
    warm = bounds(case(), on_gpu)
    assert warm == {"tensor": 0.002, "exp": None, "memory": 0.05, "binds": "memory"}
    on_gpu.gpu.flushes = True
    flushed = bounds(case(), on_gpu)
    assert flushed is not None
    assert flushed["memory"] == 0.1
    assert flushed["binds"] == "memory"
    assert bounds(case(dtype="fp32"), on_gpu) == {"tensor": None, "exp": None, "memory": 0.1, "binds": "memory"}


def test_messages_are_one_line_without_folders() -> None:
    assert message_of(RuntimeError("no kernel in /usr/a/b.so: x\nmore")) == "no kernel in b.so: x"
    assert message_of(RuntimeError("")) == "RuntimeError"
    assert message_of(KeyError("a/b c/d")) == "'a/b c/d'"
    assert len(message_of(RuntimeError("x" * 1000))) == 300
