"""`flashfit compare` as people and scripts use it.

The command is build/bin/flashfit, or what FLASHFIT_COMMAND names. Verdicts are tried in compare_test.cpp.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.measure import made_results

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("FLASHFIT_COMMAND", str(ROOT / "build/bin/flashfit")))
Json = dict[str, Any]


def compare(*words: str | Path) -> tuple[int, str, str]:
    ran = subprocess.run([COMMAND, "compare", *words], capture_output=True, text=True, check=False, timeout=60)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    made = {
        "first": made_results.gpu_run(seed=1),
        "again": made_results.gpu_run(seed=2),
        "slower": made_results.gpu_run(seed=3, slowdown=1.15),
        "cpu": made_results.cpu_run(),
    }
    made["again"]["made"]["at"] = made["slower"]["made"]["at"] = "2026-11-22T08:00:00Z"
    for name, run in made.items():
        (folder / f"{name}.json").write_text(json.dumps(run))
    return folder


def changed(runs: Path, folder: Path, change: Any) -> Path:
    """The second run, otherwise."""
    run = json.loads((runs / "again.json").read_text())
    change(run)
    path = folder / "changed.json"
    path.write_text(json.dumps(run))
    return path


def test_two_runs_of_one_build_are_the_same(runs: Path) -> None:
    status, out, error = compare(runs / "first.json", runs / "again.json")
    assert (status, error) == (0, "")
    assert out.splitlines()[-1] == (
        "passed: 0 slower, 0 faster, 45 same, 0 can't tell, 0 became wrong; the margin is 3 %"
    )


def test_times_keep_four_digits_of_any_size(runs: Path, tmp_path: Path) -> None:
    def thousandths(run: Json) -> None:
        for case in run["cases"]:
            for key in ("samples_us", "median_us", "interval_us"):
                if key in case:
                    case[key] = [x / 1000 for x in case[key]] if isinstance(case[key], list) else case[key] / 1000

    file = tmp_path / "found.json"
    _, out, _ = compare(runs / "first.json", changed(runs, tmp_path, thousandths), "--json", file)
    rows = [line for line in out.splitlines() if ".." in line]
    cases = json.loads(file.read_text())["cases"]
    assert len(cases) == len(rows) > 10
    for case, row in zip(cases, rows):
        old, new = row.split(case["name"] + " ", 1)[1].split()[:2]
        assert (float(old), float(new)) == pytest.approx((case["old_us"], case["new_us"]), rel=5e-4)


def test_a_slower_build_fails_and_the_way_back_passes(runs: Path) -> None:
    status, out, _ = compare(runs / "first.json", runs / "slower.json")
    assert status == 1
    assert out.splitlines()[-1].startswith("FAILED: ")
    assert out.count("\nslower ") > 20
    status, out, _ = compare(runs / "slower.json", runs / "first.json")
    assert status == 0
    assert out.count("\nfaster ") > 20
    assert "note: OLD was made after NEW (2026-11-22T08:00:00Z and 2026-11-21T20:00:00Z): are they swapped?" in out


def test_a_wider_margin_lets_it_pass(runs: Path) -> None:
    assert compare(runs / "first.json", runs / "slower.json", "--fail-over", "40%")[0] == 0
    assert compare(runs / "first.json", runs / "slower.json", "--fail-over", "0.05")[0] == 1


def test_the_json_says_the_same(runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "comparison.json"
    status, out, _ = compare(runs / "first.json", runs / "slower.json", "--json", file)
    made = json.loads(file.read_text())
    assert status == 1
    assert made["failed"] is True
    assert made["margin"] == 0.03
    verdicts = [case["verdict"] for case in made["cases"]]
    assert verdicts.count("slower") == out.count("\nslower ")
    for case in made["cases"]:
        low, high = case["ratio_interval"]
        assert low <= case["ratio"] <= high
        assert (case["verdict"] == "slower") == (low > 1.03)
        assert set(case["beside"]) <= set(made_results.PEERS)
        assert case["beside"]


def test_wrong_and_missing_cases_are_named(runs: Path, tmp_path: Path) -> None:
    def change(run: Json) -> None:
        gone, broken = run["cases"][0], run["cases"][1]
        run["cases"].remove(gone)
        for key in ("samples_us", "median_us", "interval_us"):
            del broken[key]
        broken.update(correct=False, message="error 3 above 0.008")

    status, out, _ = compare(runs / "first.json", changed(runs, tmp_path, change))
    assert status == 1
    assert "Became wrong, which fails (1):\n  grid/B16 S1024 H64 D32 bf16: error 3 above 0.008\n" in out
    assert "In OLD alone (1):\n  grid/B32 S512 H64 D32 bf16\n" in out


def test_other_machines_need_force(runs: Path, tmp_path: Path) -> None:
    def change(run: Json) -> None:
        run["machine"]["gpu"]["name"] = "NVIDIA L4"
        run["method"]["l2"] = "warm"

    other = changed(runs, tmp_path, change)
    assert compare(runs / "first.json", other) == (
        2,
        "",
        "flashfit: compare: not comparable: GPU: NVIDIA H200 (9.0) and NVIDIA L4 (9.0); method.l2: flushed and warm; "
        "--force compares them all the same\n",
    )
    status, out, _ = compare(runs / "first.json", other, "--force")
    assert status == 0
    assert out.startswith("note: compared by force: GPU: NVIDIA H200 (9.0) and NVIDIA L4 (9.0)\n")
    assert compare(runs / "first.json", runs / "cpu.json")[0] == 2


def test_names_cannot_move_a_cursor(runs: Path, tmp_path: Path) -> None:
    def change(run: Json) -> None:
        run["cases"][0]["name"] = "\x1b[2Jgone"

    assert "\x1b" not in compare(runs / "first.json", changed(runs, tmp_path, change))[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["/nonexistent.json"], "/nonexistent.json: cannot be read"),
        (["first.json", "--fail-over", "3x"], "--fail-over '3x': must be a share such as 3% or 0.03, below 100%"),
        (["first.json", "--fail-over", "0"], "--fail-over '0': must be a share such as 3% or 0.03, below 100%"),
        (["first.json", "--fail-over", "100%"], "--fail-over '100%': must be a share such as 3% or 0.03, below 100%"),
        (["first.json", "--fail-over", "nan"], "--fail-over 'nan': must be a share such as 3% or 0.03, below 100%"),
    ],
)
def test_wrong_use_is_one_line(runs: Path, words: list[str], message: str) -> None:
    second = [runs / words[0] if words[0] == "first.json" else words[0], *words[1:]]
    assert compare(runs / "first.json", *second) == (2, "", f"flashfit: {message}\n")


@pytest.mark.parametrize(
    ("old", "new", "status", "verdict"),
    [("before", "slowed", 1, "6 slower"), ("slowed", "again", 0, "6 faster"), ("before", "again", 0, "7 same")],
)
def test_a_kernel_slowed_on_purpose_on_a_gpu(old: str, new: str, status: int, verdict: str) -> None:
    """bench/results/gate: two runs of one build on an H200, and between them one whose kernel waits at each tile."""
    gate = ROOT / "bench/results/gate"
    code, said, _ = compare(gate / f"{old}.json", gate / f"{new}.json")
    assert (code, verdict in said) == (status, True), said


def test_the_forward_did_not_become_slower_as_the_tree_was_built_anew() -> None:
    """Two runs on an H200: the last revision before folders moved, and one of today's, with kernels over wgmma too."""
    gate = ROOT / "bench/results/gate"
    code, said, _ = compare(gate / "house_before.json", gate / "house_after.json")
    assert (code, "0 slower, 26 faster, 8 same, 0 can't tell, 0 became wrong" in said) == (0, True), said
