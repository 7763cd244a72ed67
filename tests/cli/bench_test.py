"""`flashfit bench` as people and scripts use it: on a CPU, whole, interrupted, and asked for nonsense.

The command is build/bin/flashfit, or what FLASHFIT_COMMAND names.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from flashfit.bench.command import OTHERS

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("FLASHFIT_COMMAND", str(ROOT / "build/bin/flashfit"))
SCHEMA = json.loads((ROOT / "docs/results.schema.json").read_text(encoding="utf-8"))
SMALLEST = "origin/B1 S128 H4 D64 fp16 full"


def bench(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "bench", *arguments], capture_output=True, text=True, timeout=120, check=False, cwd=cwd
    )


def valid(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(content, SCHEMA)
    assert isinstance(content, dict)
    return content


def test_a_run_on_the_cpu_is_a_valid_file(tmp_path: Path) -> None:
    files = ["--json", str(tmp_path / "r.json"), "--csv", str(tmp_path / "r.csv")]
    ran = bench("--device", "cpu", "--filter", SMALLEST, "--repeats", "9", "--warmup", "2", *files)
    assert (ran.returncode, ran.stderr) == (0, ""), "nothing but the table where stderr is no terminal"
    content = valid(tmp_path / "r.json")
    assert content["made"]["complete"] is True
    assert content["made"]["command"].endswith("--json r.json --csv r.csv"), "folders are nobody's business"
    assert content["method"]["warmup"] == 2
    assert content["method"]["repeats"] == 9
    assert content["method"]["noise"]["case"] == SMALLEST
    assert content["machine"]["gpu"] is None
    [case] = content["cases"]
    assert case["correct"] is True
    assert case["launch"] == "host"
    assert len(case["samples_us"]) == 9
    assert case["median_us"] == pytest.approx(statistics.median(case["samples_us"]), abs=1e-3)
    assert case["interval_us"][0] <= case["median_us"] <= case["interval_us"][1]
    assert 0 < case["error"] <= case["error_bound"]
    [row] = csv.DictReader((tmp_path / "r.csv").read_text(encoding="utf-8").splitlines())
    assert (row["name"], row["correct"], float(row["median_us"])) == (SMALLEST, "true", case["median_us"])
    assert SMALLEST in ran.stdout


def test_edges_are_correct_and_have_no_times(tmp_path: Path) -> None:
    chosen = ["--device", "cpu", "--group", "edges", "--filter", "D32 fp16", "--json", str(tmp_path / "r.json")]
    assert bench(*chosen).returncode == 0
    cases = valid(tmp_path / "r.json")["cases"]
    assert len(cases) == 25
    assert all(case["correct"] and case["samples_us"] == [] and case["median_us"] is None for case in cases)


def test_cases_that_a_cpu_refuses_are_named_and_not_wrong(tmp_path: Path) -> None:
    """Rows after the last sequence: a CPU holds offsets to the rows."""
    name = "hard/varlen 70+0+9+130 keys 200+5+90+130 H2/1 D64 fp16 full logits -30 v>=0"
    file, cpu = tmp_path / "r.json", ("--device", "cpu")
    ran = bench(*cpu, "--case", SMALLEST, "--case", f"{name} spare 1", "--repeats", "5", "--json", str(file))
    assert ran.returncode == 0, ran.stderr
    assert "1 cases of rows after the last sequence, which a CPU refuses, are not measured" in ran.stderr
    assert [case["name"] for case in valid(file)["cases"]] == [SMALLEST]
    alone = bench(*cpu, "--case", f"{name} spare 1")
    assert alone.returncode == 2
    assert alone.stderr.startswith("flashfit: --device 'cpu': it refuses rows after the last sequence")


def test_ctrl_c_leaves_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    argv = [COMMAND, "bench", "--device", "cpu", "--group", "origin", "--repeats", "100000", "--seconds", "1"]
    with subprocess.Popen([*argv, "--json", str(path)], stdout=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 90
        while time.monotonic() < end and not (path.exists() and valid(path)["cases"]):
            assert valid(path)["made"]["complete"] is False if path.exists() else True
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    content = valid(path)
    assert content["made"]["complete"] is False
    assert 0 < len(content["cases"]) < 34
    assert all(len(case["samples_us"]) >= 5 for case in content["cases"])
    assert "interrupted; cases that were measured: " in out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json"]


def test_a_filter_on_a_cpu_reaches_what_the_list_shows(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    ran = bench("--device", "cpu", "--filter", "B1 S1x1024 H32/8", "--repeats", "5", "--json", str(file))
    assert ran.returncode == 0, ran.stderr
    assert {case["group"] for case in valid(file)["cases"]} == {"decode"}


def test_the_list_is_the_same_every_time() -> None:
    first, second = bench("--list", "--json"), bench("--list", "--json")
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == second.stdout
    names = [case["name"] for case in json.loads(first.stdout)]
    assert bench("--list").stdout.splitlines() == names


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["--group", "grids"],
            "--group 'grids': must be one of origin, grid, odd, ragged, uneven, decode, options, wild, edges, corners",
        ),
        (
            ["--filter", "D47"],
            "--filter 'D47': is in no name of origin, grid, ragged, uneven, odd, decode, options; "
            "see flashfit bench --list",
        ),
        (["--group", "decode", "--filter", "S16384"], "--filter 'S16384': is in no name of decode; see "),
        (["--list", "--filter", "D999"], "--filter 'D999': is in no case's name; see flashfit bench --list"),
        (["--repeats", "0"], "--repeats '0': "),
        (["--warmup", "many"], "--warmup 'many': "),
        (["--device", "tpu"], "--device 'tpu': must be cpu or gpu"),
        (["--json"], "--json '': needs a file"),
        (["--profile"], "--profile counts what a GPU does, and this run measures the CPU"),
        (["--list", "--json", "x.json"], "--json 'x.json': takes no file with --list"),
        (["--list", "--csv", "x.csv"], "--csv excludes --list"),
        (["--list", "--device", "cpu"], "--device excludes --list"),
        (["--ceilings", "--filter", "D128"], "--filter excludes --ceilings"),
        (["--case", "origin/B1"], "--case 'origin/B1': must be a name of flashfit bench --list"),
        (["--wrong"], "'--wrong' is not known here; see flashfit bench --help"),
    ],
)
def test_wrong_use_gets_a_line(arguments: list[str], line: str, tmp_path: Path) -> None:
    measures = not {"--device", "--list", "--ceilings"} & set(arguments)
    ran = bench(*(("--device", "cpu") if measures else ()), *arguments, cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"flashfit: {line}")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize("group", OTHERS)
def test_another_operations_group_leads_to_the_program_that_measures_it(group: str) -> None:
    ran = bench("--group", group)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"flashfit: --group '{group}': is measured by python -m flashfit.bench --group {group}\n"


def test_a_file_that_cannot_be_written_is_said_before_anything_is_measured(tmp_path: Path) -> None:
    ran = bench("--device", "cpu", "--filter", SMALLEST, "--json", str(tmp_path / "nowhere" / "r.json"))
    assert ran.returncode == 3
    assert ran.stderr.endswith("r.json: No such file or directory\n")
    assert ran.stdout == ""


def test_what_is_no_file_is_written_to_and_a_link_stays_one(tmp_path: Path) -> None:
    pipe, link, file = (tmp_path / name for name in ("pipe", "link", "file.csv"))
    os.mkfifo(pipe)
    link.symlink_to(file)
    once = ["--device", "cpu", "--case", SMALLEST, "--repeats", "1", "--warmup", "0", "--seconds", "1"]
    reader = os.open(pipe, os.O_RDWR)  # held open: writers need not wait
    ran = bench(*once, "--json", str(pipe), "--csv", str(link))
    text = os.read(reader, 1 << 16).decode()
    os.close(reader)
    assert (ran.returncode, text.count('"complete": true')) == (0, 1)
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert file.read_text(encoding="utf-8").startswith("name,group,")
    if os.path.exists("/dev/full"):
        ran = bench(*once, "--json", "/dev/full")
        assert (ran.returncode, ran.stderr) == (3, "flashfit: /dev/full: No space left on device\n")
