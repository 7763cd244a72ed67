"""The command line of flashfit.bench, and the file that it writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flashfit
import pytest
from flashfit import _command
from flashfit.bench import cases, measure, options, peers, session
from flashfit.bench.parts import BrokenDeviceError
from flashfit.bench.progress import Progress
from flashfit.bench.results import ResultFile

from tests.python.bench_parts import MadeUp, case, on_a_gpu, runner

ROOT = Path(__file__).resolve().parents[2]
LIST = [case("origin/a"), case("origin/b", causal=True), case("grid/c", dtype="fp32"), case("edges/d", timed=False)]
FEW = ("--repeats", "4", "--warmup", "1")


def interrupting(real: Callable[..., Any]) -> Callable[..., Any]:
    """Measures until the case named origin/a."""

    def measured(c: Any, method: Any) -> Any:
        if c.name == "origin/a":
            raise KeyboardInterrupt
        return real(c, method)

    return measured


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[int, Any]]:
    """The command with LIST for its list and one peer; its status and the file."""
    monkeypatch.setattr(cases, "listed", lambda: LIST)
    monkeypatch.setattr(peers, "all_peers", lambda: [MadeUp("twin")])
    return runner(monkeypatch, tmp_path, *FEW)


def test_a_run_writes_every_case(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    status, result = run()
    assert status == 0
    assert (result["schema"], result["made"]["complete"], result["machine"]["gpu"]) == (1, True, None)
    assert [entry["name"] for entry in result["cases"]] == [c.name for c in LIST]
    assert {name for entry in result["cases"] for name in entry.get("peers", {})} == {"twin"}
    assert (result["method"]["repeats"], result["method"]["clock"]) == (4, "host")
    said = capsys.readouterr()
    assert "4 of 4 cases right" in said.out
    assert "\r" not in said.err
    text = json.dumps(result)
    for private in (str(Path.home()), os.uname().nodename, str(ROOT)):
        assert private not in text


def test_the_readers_take_what_is_written(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole and interrupted files, by the command that refuses what breaks docs/results.md."""
    run()
    file = str(tmp_path / "result.json")
    monkeypatch.setattr(cases, "listed", lambda: [LIST[1], LIST[0]])
    for status in (0, 130):
        ran = subprocess.run([_command.command(), "compare", file, file], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert "origin/b" in ran.stdout
        if status == 0:
            monkeypatch.setattr(session, "measured", interrupting(measure.measured))
            assert run()[0] == 130


def test_groups_and_filters_choose(run: Any) -> None:
    assert [e["name"] for e in run("--filter", "/b", "--filter", "/d")[1]["cases"]] == ["origin/b", "edges/d"]
    assert [e["name"] for e in run("--group", "origin", "--group", "grid")[1]["cases"]] == [c.name for c in LIST[:3]]
    assert [e["name"] for e in run("--group", "origin", "--filter", "/b", "--peers", "none")[1]["cases"]] == [
        "origin/b"
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--group", "orign"), "bench: group: 'orign'; accepted: origin, grid, edges"),
        (("--filter", "nothing"), "bench: filter: 'nothing' leaves no case"),
        (("--peers", "twin,cousin"), "bench: peers: 'cousin'; accepted: none, twin"),
        (("--repeats", "0"), "bench: --repeats: '0'; accepted: a whole number, 1 or more"),
        (("--warmup", "-1"), "bench: --warmup: '-1'; accepted: a whole number, 0 or more"),
        (("--threads", "0"), "bench: --threads: '0'; accepted: a whole number, 1 or more"),
        (("--minutes", "nan"), "bench: --minutes: 'nan'; accepted: a number, 0 or more"),
        (("--repeats", "1_0"), "bench: --repeats: '1_0'; accepted: a whole number, 1 or more"),
        (("--repeats", " 7"), "bench: --repeats: ' 7'; accepted: a whole number, 1 or more"),
        (("--repeats", "٧"), "bench: --repeats: '٧'; accepted: a whole number, 1 or more"),
        (("--minutes", "1_0"), "bench: --minutes: '1_0'; accepted: a number, 0 or more"),
        (("--minutes", "1e999"), "bench: --minutes: '1e999'; accepted: a number, 0 or more"),
        (("--case-seconds", "-3"), "bench: --case-seconds: '-3'; accepted: a number, 0 or more"),
        (("--l2", "flushed"), "bench: --l2: flushed; accepted on a CPU: warm"),
        (("--l2", "cold"), "bench: --l2: invalid choice: 'cold'"),
        (("more",), "bench: unrecognized arguments: more"),
        (("--case", "1"), "bench: unrecognized arguments: --case 1"),
    ],
)
def test_wrong_use_is_said_in_one_line(run: Any, capsys: pytest.CaptureFixture[str], words: Any, said: str) -> None:
    assert run(*words) == (2, None)
    error = capsys.readouterr().err
    assert error.startswith(said)
    assert error.count("\n") == 1


def test_a_gpu_that_is_not_there_is_said_in_one_line(
    run: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "sees_gpu", lambda: False)
    for reason in ("no NVIDIA driver", None):
        monkeypatch.setattr(flashfit, "gpus", lambda reason=reason: {"no_gpu_reason": reason, "gpus": []})
        assert run("--device", "cuda") == (3, None)
        said = reason or "PyTorch is missing or sees no GPU"
        assert capsys.readouterr().err == f"bench: --device: cuda; {said}\n"


def test_a_file_that_cannot_be_written_is_said_before_anything_is_measured(
    run: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for file, said in ((tmp_path / "none" / "r.json", "No such file or directory"), (tmp_path, "Is a directory")):
        assert run("--json", str(file)) == (3, None)
        captured = capsys.readouterr()
        assert captured.err == f"bench: {file}: {said}\n"
        assert "origin" not in captured.out
    assert list(tmp_path.iterdir()) == []


def test_without_numpy_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('none here')\n")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT / 'python'}"}
    ran = subprocess.run([sys.executable, "-m", "flashfit.bench"], env=env, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "", "bench: needs NumPy: none here\n")


def test_one_round_is_enough(run: Any) -> None:
    assert [len(e["samples_us"]) for e in run("--repeats", "1", "--warmup", "0", "--group", "origin")[1]["cases"]] == [
        1,
        1,
    ]


def test_a_wrong_case_fails_the_run(run: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    import flashfit

    right = flashfit.attention
    monkeypatch.setattr(flashfit, "attention", lambda *given, **options: right(*given, **options) * 1.1)
    status, result = run()
    assert status == 1
    assert not any(entry["correct"] for entry in result["cases"])
    assert "origin/a: WRONG: error" in capsys.readouterr().out


def test_an_interrupted_run_leaves_a_valid_file(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "listed", lambda: [LIST[1], LIST[2], LIST[0], LIST[3]])
    monkeypatch.setattr(session, "measured", interrupting(measure.measured))
    status, result = run()
    assert status == 130
    assert result["made"]["complete"] is False
    assert [entry["name"] for entry in result["cases"]] == ["origin/b", "grid/c"]


def test_a_run_on_a_gpu_measures_ceilings_first(capsys: pytest.CaptureFixture[str]) -> None:
    how = on_a_gpu(MadeUp("twin"))
    how.ceilings = None
    result = ResultFile(None, "x", {"gpu": {}}, {})
    assert session.run([case("origin/a"), case("edges/b", timed=False)], how, result, None)
    assert result.content["method"]["clock"] == "events"
    assert result.content["ceilings"]["tensor_tflops"]["fp16"]["value"] == 1000
    assert [entry.get("launch") for entry in result.cases] == ["graph", None]
    assert result.cases[0]["share"] > 0
    assert "twin x" in capsys.readouterr().out


def test_a_run_is_ended_after_its_minutes(run: Any) -> None:
    status, result = run("--minutes", "0")
    assert (status, result["made"]["complete"], result["cases"]) == (130, False, [])


def test_a_broken_gpu_ends_the_run(run: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def broken(c: Any, method: Any) -> Any:
        raise BrokenDeviceError("sdpa-flash: an illegal memory access")

    monkeypatch.setattr(session, "measured", broken)
    assert run()[0] == 130
    assert (
        "the GPU answers no more in origin/a; last ran sdpa-flash: an illegal memory access" in capsys.readouterr().err
    )


def test_signals_keep_what_was_measured(tmp_path: Path) -> None:
    """In a process of its own, as `timeout` ends it."""
    file = tmp_path / "result.json"
    script = f"""
import sys
from flashfit.bench import cases, command
from tests.python.bench_parts import case
cases.listed = lambda: [case(f"origin/{{i}}") for i in range(10000)]
sys.exit(command.main(["--device", "cpu", "--peers", "none", "--repeats", "2", "--json", {str(file)!r}]))
"""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}"}
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment, text=True)
    assert process.stdout is not None
    while not (line := process.stdout.readline()).startswith("origin/2"):
        assert line, "ended by itself"
    # Even what cannot be caught would leave this.
    assert len(json.loads(file.read_text(encoding="utf-8"))["cases"]) >= 3
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 130
    result = json.loads(file.read_text(encoding="utf-8"))
    assert result["made"]["complete"] is False
    assert len(result["cases"]) >= 3
    assert [f.name for f in tmp_path.iterdir()] == ["result.json"]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "result.json"
    result = ResultFile(file, "x", {}, {})
    result.write()
    old = file.read_text(encoding="utf-8")
    result.cases.append({"error": float("nan")})
    with pytest.raises(ValueError, match="not JSON compliant"):
        result.write()
    assert file.read_text(encoding="utf-8") == old
    monkeypatch.setattr(os, "replace", lambda *_: 1 / 0)
    result.cases[:] = [{}]
    with pytest.raises(ZeroDivisionError):
        result.write()
    assert file.read_text(encoding="utf-8") == old


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        line = Progress(3)
        line.step("origin/a")
        line.step("origin/b")
        line.clear()
        said = capsys.readouterr().err
        assert ("[1/3] origin/a" in said) == terminal
        assert ("[2/3, 0 min 0 s left] origin/b" in said) == terminal
        assert bool(said) == terminal


def test_peers_that_are_not_installed_are_named() -> None:
    found, absent = peers.chosen_peers("cpu", ())
    names = [peer.name for peer in peers.all_peers()]
    assert len(set(names)) == len(names)
    assert {peer.name for peer in found} | set(absent) == set(names)
    assert all(absent.values())
    assert peers.chosen_peers("cpu", ("none",)) == ([], {})


def test_beside_pytorch_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    few = [
        case("grid/a", dtype="bf16", heads_kv=1),
        case("grid/b", dtype="fp32", causal=True),
        case("decode/c", seqlen_q=1, seqlen_k=90, causal=True),
        case("grid/d", causal=True, seqlen_k=90),
        case("ragged/e", lengths=(3, 40), dtype="bf16"),
    ]
    monkeypatch.setattr(cases, "listed", lambda: few)
    status, result = runner(monkeypatch, tmp_path, *FEW)("--threads", "1")
    assert status == 0
    assert "torch" in result["versions"]
    beside = {e["name"]: e["peers"] for e in result["cases"]}
    for name in ("grid/a", "grid/b", "decode/c"):
        assert {p: beside[name][p].get("message") for p in beside[name]} == {"sdpa-flash": None, "sdpa-math": None}
        assert beside[name]["sdpa-flash"]["ratio"] > 0
    assert "aligned at the top left" in beside["grid/d"]["sdpa-flash"]["message"]
    assert beside["grid/d"]["sdpa-math"]["ratio"] > 0
    assert "does not take variable length" in beside["ragged/e"]["sdpa-math"]["message"]
