"""The pages' tables are those of the committed result files."""

from __future__ import annotations

from typing import Any

import pytest

from tools import result_tables as tables


def entry(name: str = "origin/a", **given: Any) -> dict[str, Any]:
    """A case of a result file."""
    times = {"median_us": 10.0, "interval_us": [9.0, 11.0], "samples_us": [9.0, 11.0]}
    work = {"flop": 5e9, "exp": 1e6, "bytes": 4e6}
    problem = {"name": name, "group": name.split("/")[0], "stands_for": "a need", "work": work, "correct": True}
    return {**problem, **times, "share": 0.25, "clock_mhz": {"median": 1500.0}, "peers": {}, **given}


def beside(ratio: float) -> dict[str, Any]:
    return {"correct": True, "ratio": ratio, "ratio_interval": [ratio - 0.1, ratio + 0.1]}


def result(*entries: dict[str, Any], gpu: str | None = "NVIDIA H200") -> dict[str, Any]:
    return {
        "made": {"at": "2026-11-22T00:00:00Z", "command": "python -m flashfit.bench", "complete": True},
        "machine": {"cpu": "a CPU", "cores": 2, "gpu": gpu and {"name": gpu, "driver": "580"}},
        "versions": {"python": "3.12", "torch": "2.11"},
        "method": {"l2": "warm", "repeats": 40, "noise": {"half_width": 0.004}},
        "cases": list(entries),
    }


@pytest.mark.parametrize("page", tables.TABLES)
def test_pages_are_those_of_the_files(page: str) -> None:
    now, new = tables.pages(tables.result_files())[tables.ROOT / page]
    assert now == new, f"run {tables.COMMAND}"


def test_another_result_is_another_table(monkeypatch: pytest.MonkeyPatch) -> None:
    real = tables.load

    def doubled(name: str) -> dict[str, Any]:
        content = real(name)
        if name == "call_cost_cpu.json":
            content["seconds"]["flashfit.attention"] = [2 * s for s in content["seconds"]["flashfit.attention"]]
        if name == "modelled.json":
            next(iter(content["gpus"].values()))["compute_capability"] = "99"
        return content

    costs, modelled = tables.cost_table({}), tables.modelled_table({})
    monkeypatch.setattr(tables, "load", doubled)
    assert tables.cost_table({}) != costs
    assert tables.modelled_table({}) != modelled
    one, other = (tables.measured_tables({"bench_x.json": result(entry(median_us=us))}) for us in (10.0, 20.0))
    assert "| a | 10 | 500 TFLOP/s | 25% |" in one
    assert "| a | 20 | 250 TFLOP/s | 25% |" in other


def test_a_row_has_every_peer_and_its_own_words() -> None:
    peers = {"fast": beside(0.5), "slow": beside(2), "broken": {"correct": False, "message": "no kernel"}}
    text = tables.measured_tables({"bench_x.json": result(entry(peers=peers), entry("decode/b", peers={}))})
    assert "| case | flashfit us | rate | of its bound | fast | slow |" in text
    assert "| a | 10 | 500 TFLOP/s | 25% | 0.500 [0.400, 0.600] | 2.000 [1.900, 2.100] |" in text
    assert "broken, a: no kernel" in text
    assert "| b | 10 | 400 GB/s | 25% |" in text
    assert "noise of a ratio 0.4%; 2026-11-22. Made by `python -m flashfit.bench`." in text


def test_kernels_that_the_plan_did_not_choose_are_one_column() -> None:
    peers = {"sdpa-flash": beside(1.5), "flashfit fwd_a": beside(1.2), "flashfit fwd_b": beside(1.1)}
    text = tables.measured_tables({"bench_x.json": result(entry(peers=peers))})
    assert "| sdpa-flash | fastest other kernel |" in text
    assert "| 1.500 [1.400, 1.600] | 1.100, of 2 |" in text
    assert tables.best_peer(entry(peers=peers)) == ("sdpa-flash", peers["sdpa-flash"])


def test_a_wrong_case_has_its_message_and_no_time() -> None:
    wrong = {key: value for key, value in entry().items() if key not in ("median_us", "samples_us", "peers", "share")}
    text = tables.measured_tables({"bench_x.json": result({**wrong, "correct": False, "message": "error 9"})})
    assert "| a | error 9 |" in text


def test_uneven_lengths_stand_beside_equal_ones() -> None:
    pair = entry("uneven/a", median_us=12.0), entry("uneven/b", median_us=10.0)
    text = tables.measured_tables({"bench_x.json": result(*pair, entry("uneven/c"))})
    assert "Time a FLOP, uneven against equal: +20.0%." in text
    assert "Time a FLOP" not in tables.measured_tables({"bench_x.json": result(entry("ragged/a"), entry("ragged/b"))})


def test_an_unfinished_run_says_so() -> None:
    unfinished = result(entry())
    unfinished["made"]["complete"] = False
    assert "The run was ended early." in tables.measured_tables({"bench_x.json": unfinished})


def test_the_readme_shows_a_dozen_cases_of_gpus() -> None:
    first, second = tables.HEADLINES[:2]
    peers = {"sdpa-flash": beside(1.5), "flash-attn-3": beside(0.8)}
    on_gpu = result(entry(first, peers=peers), entry(second, median_us=18220.4), entry("grid/B1 S1"))
    fewer = result(entry(first, median_us=11.0, peers={"sdpa-flash": beside(1.4)}))
    text = tables.speed_table({"x": on_gpu, "y": result(entry(second, median_us=7.0), gpu=None), "z": fewer})
    assert f"| {first.split('/')[1]} | 10 | 1.500 [1.400, 1.600] | flash-attn-3 0.800 [0.700, 0.900] |" in text
    assert f"| {second.split('/')[1]} | 18,220 | - | not run beside it |" in text
    assert text.count("\n| ") == 4  # with headers and their line


def test_every_case_of_the_readme_was_measured() -> None:
    measured = [entry["name"] for _, entry in tables.in_readme(tables.result_files())]
    assert measured == list(tables.HEADLINES)


def test_gpus_without_a_measurement_are_marked() -> None:
    text = tables.modelled_table({"bench_x.json": result(entry())})
    assert "| H200 | 9.0 | measured |" in text
    assert "| L4 | 8.9 | **never run** |" in text
    assert tables.is_of("RTX 4090", "NVIDIA GeForce RTX 4090")
    assert not tables.is_of("H100", "NVIDIA H200")
