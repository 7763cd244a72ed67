"""The pages' tables are those of the committed result files."""

from __future__ import annotations

import re
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
        "made": {
            "at": "2026-11-22T00:00:00Z",
            "command": "python -m flashfit.bench",
            "complete": True,
            "flashfit": "0.3.0",
            "revision": "0123456789abcdef",
        },
        "machine": {"cpu": "a CPU", "cores": 2, "gpu": gpu and {"name": gpu, "driver": "580"}},
        "versions": {"python": "3.12", "torch": "2.11"},
        "method": {"l2": "warm", "repeats": 40, "noise": {"half_width": 0.004}},
        "cases": list(entries),
    }


def page(*entries: dict[str, Any], group: str = "origin", gpu: str | None = "NVIDIA H200") -> str:
    """A group's page of one file."""
    return tables.group_page({"bench_x.json": result(*entries, gpu=gpu)}, group)


PAGES = tables.pages(tables.result_files())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(tables.ROOT).as_posix())
def test_pages_are_those_of_the_files(path: Any) -> None:
    now, new = PAGES[path]
    assert now == new, f"run {tables.COMMAND}"


def test_every_measured_group_has_its_page_and_no_other_has() -> None:
    files = tables.result_files()
    measured = {entry["group"] for result in files.values() for entry in result["cases"]}
    written = {path.stem for path in PAGES if path.parent == tables.ROOT / "docs" / "speed"}
    assert written == {*measured, "README", "modelled"}
    first = dict(list(files.items())[:1])
    (group,) = tables.groups(first)
    stale = [path.stem for path, (_, new) in tables.pages(first).items() if not new]
    assert sorted(stale) == sorted(measured - {group})


def test_a_page_of_a_case_has_every_file_with_the_group() -> None:
    files = {"bench_x.json": result(entry(), entry("decode/b")), "bench_y.json": result(entry("origin/c"))}
    text = tables.group_page(files, "origin")
    assert "## NVIDIA H200, bench_x" in text
    assert "## NVIDIA H200, bench_y" in text
    assert "| b |" not in text
    assert "2 cases." in text
    assert tables.groups(files) == ["origin", "decode"]


def test_the_summary_has_each_groups_newest_run_on_a_gpu_and_how_its_ratios_lie() -> None:
    old = result(entry(peers={"sdpa-flash": beside(9.0)}))
    new = result(
        entry(peers={"sdpa-flash": beside(0.5), "sdpa-cudnn": beside(0.9)}),
        entry("origin/b", peers={"sdpa-flash": beside(2.0), "sdpa-cudnn": {"correct": False, "message": "no"}}),
        entry("ragged/c", peers={"torch-varlen": beside(1.5)}),
        entry("moe/d", peers={"torch-grouped": beside(3.0)}),
        gpu="NVIDIA H100",
    )
    cpu = result(entry("decode/e", peers={"sdpa-flash": beside(1.0)}), gpu=None)
    new["made"]["at"] = "2026-11-23T00:00:00Z"
    rows = tables.summary_table({"old.json": old, "new.json": new, "cpu.json": cpu}).splitlines()[2:]
    assert [row.split(" | ", 1)[1] for row in rows] == [
        "NVIDIA H100 | 2 | 0.500 to 2.000 (1.000 of 2) | 0.900 | - |",
        "NVIDIA H100 | 1 | 1.500 | - | - |",
    ]


def test_the_newest_file_comes_first_and_gpus_before_cpus() -> None:
    old, new, cpu = result(entry()), result(entry()), result(entry(), gpu=None)
    new["made"]["at"] = "2026-11-23T00:00:00Z"
    cpu["made"]["at"] = "2026-11-24T00:00:00Z"
    text = tables.group_page({"cpu.json": cpu, "old.json": old, "new.json": new}, "origin")
    assert re.findall(r"^## .*, (\w+)$", text, re.MULTILINE) == ["new", "old", "cpu"]


def test_no_message_is_on_a_page_twice_or_whole() -> None:
    files = tables.result_files()
    for group in tables.groups(files):
        text = tables.group_page(files, group)
        assert not re.search(r"sizes\(\)|Triggered|Aborting|against fp64 is above \d", text), group
        said = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", text.partition("## What peers said")[2], re.MULTILINE)
        assert len(said) == len(set(said)), group
        assert said[:1] == ["message"] or "| - |" not in text, group
        assert ("A dash: no time" in text) == bool(said), group
    assert tables.first_sentence("No kernel. Aborting.; Query.sizes(): [1, 2]") == "No kernel"
    assert tables.first_sentence("heads of 64, 2.5 and 1e-3, file.cpp:3") == "heads of 64, 2.5 and 1e-3, file.cpp:3"
    assert tables.first_sentence("error 0.1 against fp64 is above 0.05") == "its error against fp64 is above the bound"


def test_messages_name_their_cases_or_count_them() -> None:
    def says(text: str) -> dict[str, Any]:
        return {"correct": False, "message": text}

    first = {"one": says("No. Never."), "two": says("no"), "three": beside(1.5)}
    last = {"one": beside(1.5), "two": says("no"), "three": says("x."), "four": says("no")}
    cases = [*(entry(f"origin/{name}", peers=first) for name in "abc"), entry("origin/d", peers=last)]
    rows = page(*cases).partition("## What peers said")[2].splitlines()
    assert "| No | one: 3 of 4 cases |" in rows
    assert "| no | two: 4 of 4 cases<br>four: 1 of 1 cases |" in rows
    assert "| x | three: d |" in rows


def test_lines_end_by_column_120() -> None:
    for path, (_, new) in PAGES.items():
        for line in new.splitlines():
            words = re.findall(r"(?:`[^`]*`|\S)+", line)
            assert len(line) <= 120 or line.startswith("|") or len(words[-1]) > 100, f"{path}: {line}"
    assert tables.wrapped("a " * 60 + "`b c`") == ["a " * 59 + "a", "`b c`"]


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
    one, other = (page(entry(median_us=us)) for us in (10.0, 20.0))
    assert "| a | 10 | 500 TFLOP/s | 25% |" in one
    assert "| a | 20 | 250 TFLOP/s | 25% |" in other


def test_a_case_has_every_peer() -> None:
    peers = {"fast": beside(0.5), "slow": beside(2), "broken": {"correct": False, "message": "no kernel"}}
    text = page(entry(peers=peers), entry("origin/c"))
    assert "| case | flashfit us | rate | of its bound | fast | slow |" in text
    assert "| a | 10 | 500 TFLOP/s | 25% | 0.500 [0.400, 0.600] | 2.000 [1.900, 2.100] |" in text
    assert "| no kernel | broken: 1 of 1 cases |" in text
    assert "| b | 10 | 400 GB/s | 25% |" in page(entry("decode/b"), group="decode")
    no_product = {"flop": 0, "exp": 8, "bytes": 4e6}
    assert "| b | 10 | 400 GB/s | 25% |" in page(entry("route/b", work=no_product), group="route")
    said = " ".join(text.split())
    assert "flashfit 0.3.0 of revision 012345678, driver 580" in said
    assert "noise of a ratio 0.4%; 2026-11-22. Made by `python -m flashfit.bench`." in said


def test_layers_of_experts_have_both_rates() -> None:
    """TFLOP/s, and the share of the bandwidth that the run measured; a file without ceilings has a dash."""
    cases = entry("moe/a", work={"flop": 5e9, "exp": 1, "bytes": 4e6}), entry("moe/b", median_us=20.0)
    on_gpu = {**result(*cases), "ceilings": {"memory_gb_per_s": {"value": 800.0}}}
    text = tables.group_page({"bench_x_moe.json": on_gpu}, "moe")
    assert "# Speed: Layers of experts" in text
    assert "| case | flashfit us | rate | of bandwidth | of its bound |" in text
    assert "| a | 10 | 500 TFLOP/s | 50% | 25% |" in text
    assert "| b | 20 | 250 TFLOP/s | 25% | 25% |" in text
    assert "| a | 10 | 500 TFLOP/s | - | 25% |" in page(*cases, group="moe")
    assert "of bandwidth" not in page(entry())
    wrong = {key: value for key, value in entry("moe/c").items() if key != "median_us"}
    row = next(line for line in page(wrong, *cases, group="moe").splitlines() if line.startswith("| c |"))
    assert row.count("|") == 6
    assert "[Layers of experts](moe.md) | layers of experts of eight models" in tables.pages_table({"x": on_gpu})


def test_what_is_raced_has_its_outcome() -> None:
    ratios = {"a": 1.2, "b": 0.8, "c": 1.05}
    cases = [entry(f"sonic/{name}", peers={"sonic-moe": beside(ratio)}) for name, ratio in ratios.items()]
    text = page(*cases, entry("sonic/d", peers={"sonic-moe": {"correct": False}}), group="sonic").replace("\n", " ")
    assert "of 3 cases: flashfit is faster in 1, slower in 1 (b), and in 1 the interval holds 1." in text
    assert "The geometric mean of the ratios is 1.003." in text
    assert "slower in 0, and" in page(cases[0], group="sonic")
    assert "Beside sonic-moe" not in page(entry("sonic/d"), group="sonic")
    assert "| of bandwidth |" in text


def test_kernels_that_the_plan_did_not_choose_are_one_column() -> None:
    peers = {"sdpa-flash": beside(1.5), "flashfit fwd_a": beside(1.2), "flashfit fwd_b": beside(1.1)}
    text = page(entry(peers=peers))
    assert "| sdpa-flash | fastest other kernel |" in text
    assert "| 1.500 [1.400, 1.600] | 1.100, of 2 |" in text
    assert tables.best_peer(entry(peers=peers)) == ("sdpa-flash", peers["sdpa-flash"])


def test_plain_launches_are_no_race_of_kernels() -> None:
    plain = {**beside(0.5), "message": "timed by plain launches beside flashfit's, as capturing a graph failed: x"}
    peers = {"sdpa-flash": beside(1.5), "sdpa-cudnn": plain}
    assert tables.best_peer(entry(peers=peers)) == ("sdpa-flash", peers["sdpa-flash"])
    rows = tables.summary_table({"x.json": result(entry(peers=peers))}).splitlines()[2:]
    assert [row.split(" | ", 2)[2] for row in rows] == ["1 | 1.500 | - | - |"]


def test_a_wrong_case_has_its_message_and_no_time() -> None:
    wrong = {key: value for key, value in entry().items() if key not in ("median_us", "samples_us", "peers", "share")}
    assert "| a | error 9 |" in page({**wrong, "correct": False, "message": "error 9"})


def test_what_lacked_memory_says_so_and_its_peers_keep_their_times() -> None:
    lacking = {"correct": False, "message": "out of memory: tried to allocate 14.00 GiB"}
    alone = {"correct": True, "median_us": 12.5}
    short = entry("origin/b", **lacking, peers={"sdpa-flash": alone, "flash-attn-2": lacking})
    del short["median_us"]
    shown = page(entry(peers={"sdpa-flash": {**alone, **beside(1.5)}, "flash-attn-2": lacking}), short)
    rows = [line for line in shown.splitlines() if line.startswith(("| a |", "| b |"))]
    assert "1.500" in rows[0]
    assert rows[1].startswith("| b | out of memory: tried to allocate 14.00 GiB |")
    assert "| 12.5 us |" in rows[1]
    assert "| out of memory: tried to allocate 14.00 GiB | flash-attn-2: 2 of 2 cases |" in shown


def test_uneven_lengths_stand_beside_equal_ones() -> None:
    pair = entry("uneven/a", median_us=12.0), entry("uneven/b", median_us=10.0)
    assert "Time a FLOP, uneven against equal: +20.0%." in page(*pair, entry("uneven/c"), group="uneven")
    assert "Time a FLOP" not in page(entry("ragged/a"), entry("ragged/b"), group="ragged")


def test_an_unfinished_run_says_so() -> None:
    unfinished = result(entry())
    unfinished["made"]["complete"] = False
    assert "The run was ended early." in " ".join(tables.group_page({"bench_x.json": unfinished}, "origin").split())


def test_the_index_has_a_link_to_each_group() -> None:
    peers = {"fast": beside(0.5), "flashfit fwd_a": beside(1.2), "broken": {"correct": False, "message": "no"}}
    text = tables.pages_table({"x": result(entry(peers=peers), entry("new/a")), "y": result(entry(), gpu=None)})
    assert "| [Shapes of field reports](origin.md) | the shapes that field reports" in text
    assert "| 1 | 1 | NVIDIA H200, a CPU (2 cores) |" in text
    assert "| [New](new.md) | a need | 1 | 0 | NVIDIA H200 |" in text


def test_the_readme_shows_a_dozen_cases_of_gpus() -> None:
    first, second, third = tables.HEADLINES[:3]
    peers = {"sdpa-flash": beside(1.5), "flash-attn-3": beside(0.8)}
    by_torch = entry(third, peers={"sdpa-flash": beside(1.5), "flash-attn-3": beside(1.8)})
    on_gpu = result(entry(first, peers=peers), entry(second, median_us=18220.4), by_torch, entry("grid/B1 S1"))
    fewer = result(entry(first, median_us=11.0, peers={"sdpa-flash": beside(1.4)}))
    text = tables.speed_table({"x": on_gpu, "y": result(entry(second, median_us=7.0), gpu=None), "z": fewer})
    assert f"| {first.split('/')[1]} | 10 | 1.500 [1.400, 1.600] | flash-attn-3 0.800 [0.700, 0.900] |" in text
    assert f"| {second.split('/')[1]} | 18,220 | - | not run beside it |" in text
    assert f"| {third.split('/')[1]} | 10 | 1.500 [1.400, 1.600] | PyTorch 1.500 [1.400, 1.600] |" in text
    assert text.count("\n| ") == 5  # with headers and their line


@pytest.mark.parametrize("names", [tables.HEADLINES, tables.HOPPER, tables.EXPERTS])
def test_every_case_of_a_small_table_was_measured(names: tuple[str, ...]) -> None:
    measured = [entry["name"] for _, entry in tables.newest(tables.result_files(), names)]
    assert measured == list(names)


def test_a_kernels_page_shows_its_cases_beside_the_peers_of_each_column() -> None:
    first, second = tables.HOPPER[:2]
    peers = {"torch-varlen": beside(1.5), "flash-attn-3": {"correct": False, "message": "no"}}
    old = result(entry(first, median_us=11.0), gpu="NVIDIA H100")
    new = result(entry(first, peers=peers), entry(second, share=None), entry("grid/B1 S1"))
    new["made"]["at"] = "2026-11-23T00:00:00Z"
    text = tables.hopper_table({"new": new, "old": old})
    assert text.startswith("On an NVIDIA H200:\n")
    assert f"| {first.split('/')[1]} | 10 | 500 TFLOP/s | 25% | 1.500 | - | - |" in text
    assert f"| {second.split('/')[1]} | 10 | 500 TFLOP/s | - | - | - | - |" in text
    assert text.count("\n| ") == 4  # with headers and their line


def test_gpus_without_a_measurement_are_marked() -> None:
    text = tables.modelled_table({"bench_x.json": result(entry())})
    assert "| H200 | 9.0 | have run | 8.9 |" in text
    assert "| L4 | 8.9 | **never run** | ~24 |" in text
    assert tables.is_of("RTX 4090", "NVIDIA GeForce RTX 4090")
    assert tables.is_of("H100", "NVIDIA H100 80GB HBM3")
    assert tables.is_of("A100", "NVIDIA A100-SXM4-40GB")
    assert not tables.is_of("H100", "NVIDIA H200")
    assert not tables.is_of("RTX 4090", "NVIDIA GeForce RTX 4090 Laptop GPU")


def test_gpus_that_the_model_was_not_fitted_to_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    content = tables.load("modelled.json")
    for gpu, facts in content["gpus"].items():
        fits = any(facts["cases"].values())
        assert facts["calibrated"] is (facts["compute_capability"] == "9.0" if fits else None), gpu
    content["gpus"]["L4"]["calibrated"] = True
    monkeypatch.setattr(tables, "load", lambda _: content)
    text = tables.modelled_table({})
    assert "| L4 | 8.9 | **never run** | 24 |" in text
    assert "on GPUs of compute capability 8.9, 9.0 alone" in " ".join(text.split())
