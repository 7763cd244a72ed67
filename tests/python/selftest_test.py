"""python -m flashfit selftest: what it measures, what its file holds, and that it says so."""

from __future__ import annotations

import getpass
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from flashfit.bench import cases, peers, selftest
from flashfit.bench.measure import measured

from tests.python.bench_parts import MadeUp, case, method

ROOT = Path(__file__).resolve().parents[2]
LIST = [
    *(case(f"edges/{i}", timed=False, seqlen_q=1 + 13 * i) for i in range(15)),
    *(case(f"wild/{i}") for i in range(15)),
    case("grid/a", dtype="fp32"),
    case("origin/fuzz"),
    case("origin/b"),
]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "listed", lambda: LIST)
    monkeypatch.setattr(peers, "all_peers", lambda: [MadeUp("twin")])
    monkeypatch.setattr(signal, "signal", lambda *_: None)


@pytest.mark.usefixtures("short")
def test_a_run_on_the_cpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sent.json"
    assert selftest.main(["--device", "cpu", "--output", str(file)]) == 0
    result = json.loads(file.read_text(encoding="utf-8"))
    assert result["made"]["complete"]
    names = [entry["name"] for entry in result["cases"]]
    assert names[-3:] == ["origin/b", "grid/a", "origin/fuzz"]
    assert {name.split("/")[0] for name in names[:-3]} == {"edges", "wild"}
    assert all("samples_us" not in entry for entry in result["cases"][:-3])
    assert all("twin" in entry["peers"] for entry in result["cases"][-3:])
    said = capsys.readouterr().out
    for path in selftest.key_paths(result):
        assert path in said, f"{path} is in the file and not named"
    assert f"machine.cpu: {result['machine']['cpu']}" in said
    assert "Nothing was sent" in said


def test_a_case_that_a_cpu_refuses_is_named_and_not_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = case("origin/spare", lengths=(3, 5), spare_rows=2)
    monkeypatch.setattr(cases, "listed", lambda: [case("origin/a"), refused])
    monkeypatch.setattr(peers, "all_peers", lambda: [])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    file = tmp_path / "sent.json"
    assert selftest.main(["--device", "cpu", "--output", str(file)]) == 0
    assert [entry["name"] for entry in json.loads(file.read_text(encoding="utf-8"))["cases"]] == ["origin/a"]
    said = capsys.readouterr().out
    assert "1 cases of rows after the last sequence, which a CPU refuses, are not measured" in said
    assert "1 of 1 cases right, 1 planned" in said


@pytest.mark.usefixtures("short")
def test_nothing_private_is_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "sent.json"
    selftest.main(["--device", "cpu", "--output", str(file)])
    text = file.read_text(encoding="utf-8")
    for private in (str(Path.home()), os.uname().nodename, str(ROOT), str(tmp_path), f"/{getpass.getuser()}"):
        assert private not in text


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--minutes", "soon"), 2, "selftest: --minutes: 'soon'; accepted: a number, 0 or more\n"),
        (("--output", "/none/there.json"), 3, "selftest: /none/there.json: No such file or directory\n"),
    ],
)
def test_wrong_use_is_one_line(words: Any, status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert selftest.main(["--device", "cpu", *words]) == status
    assert capsys.readouterr().err == said


@pytest.mark.usefixtures("short")
def test_no_time_left_is_a_short_file(tmp_path: Path) -> None:
    file = tmp_path / "sent.json"
    assert selftest.main(["--device", "cpu", "--minutes", "0", "--output", str(file)]) == 130
    result = json.loads(file.read_text(encoding="utf-8"))
    assert (result["cases"], result["made"]["complete"]) == ([], False)


def test_the_plans_choice_is_held_against_the_kernels_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    from flashfit.bench.plan import plan_of, variants_that_fit

    problem = case(head_dim=64, seqlen_q=512, seqlen_k=512)
    fit = variants_that_fit(problem, gpu="L4")
    assert fit[0] == plan_of(problem, gpu="L4")["variant"]
    assert len(fit) > 1
    assert all(plan_of(problem, variant=name, gpu="L4")["fits"] for name in fit)
    ragged = case(lengths=(100, 7), head_dim=64)
    assert plan_of(ragged, gpu="L4")["fits"]

    slow = method()
    slow.alternatives = lambda c: [MadeUp("flashfit fwd_other")]
    entry: dict[str, Any] = measured(case(), slow)
    entry["variant"] = "fwd_chosen"
    peer = entry["peers"]["flashfit fwd_other"]
    peer.update(ratio=0.8, ratio_interval=[0.7, 0.9])
    selftest.show_choices([entry])
    said = capsys.readouterr().out
    assert "1 of 1 other kernels were faster" in said
    assert "origin/small: fwd_other takes 0.800 of fwd_chosen's time" in said
    peer["ratio_interval"] = [0.7, 1.1]
    selftest.show_choices([entry])
    assert "0 of 1 other kernels were faster" in capsys.readouterr().out


def test_the_package_runs_it() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "FLASHFIT_COMMAND": "/nowhere"}
    ran = subprocess.run(
        [sys.executable, "-m", "flashfit", "selftest", "--help"], env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "--minutes" in ran.stdout
    other = subprocess.run([sys.executable, "-m", "flashfit", "gpus"], env=environment, capture_output=True, text=True)
    assert (other.returncode, "the command flashfit is not at" in other.stderr) == (3, True)
