"""What ./dev matrix makes of environments that fail, that pass and that cannot be had; no environment is made here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.dev import junit, matrix

GOOD = matrix.Verdict(["check_numpy"], {}, "native", 1234.5)


@pytest.fixture(autouse=True)
def no_environments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(matrix, "pythons", lambda: {"3.11": Path(sys.executable)})
    monkeypatch.setattr(matrix, "environment_of", lambda *_: tmp_path)
    monkeypatch.setattr(matrix, "pip", lambda *_, **__: subprocess.CompletedProcess([], 0, "", ""))
    monkeypatch.setattr(matrix, "check", lambda *_: GOOD)


def outcome(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, str], str]:
    """The exit status, the result of each Python and the last line."""
    arguments = [
        "matrix.py",
        str(tmp_path / "a.whl"),
        str(tmp_path / "environments"),
        "--junit",
        str(tmp_path / "m.xml"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", arguments)
        status = matrix.main()
    table = capsys.readouterr().out.split("\n\n")[1].splitlines()
    column = table[0].index("result")
    return status, {line.split()[0]: line[column:] for line in table[1:-1]}, table[-1]


def test_what_passed_and_what_is_not_here_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, results, last = outcome(tmp_path, capsys)
    assert status == 0
    assert results.pop("3.11") == "passed"
    assert set(results) == {f"3.{m}" for m in matrix.MINORS if m != 11}
    assert all(result == f"not run: no Python {version} here" for version, result in results.items())
    assert last == "1 passed, 0 failed, 6 not run"


def test_nothing_ran_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "pythons", dict)
    status, results, last = outcome(tmp_path, capsys)
    assert status == 1
    assert "passed" not in results.values()
    assert last == "0 passed, 0 failed, 7 not run"


def test_one_failure_fails_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(_environment: Path, binding: str) -> matrix.Verdict:
        if binding == "ctypes":
            raise matrix.FailedError("check_numpy: wrong")
        return GOOD

    monkeypatch.setattr(matrix, "check", check)
    monkeypatch.setattr(matrix, "pythons", lambda: dict.fromkeys(("3.11", "3.14t"), Path(sys.executable)))
    status, results, last = outcome(tmp_path, capsys)
    assert status == 1
    assert (results["3.11"], results["3.14t"]) == ("FAILED", "FAILED")
    assert last == "0 passed, 2 failed, 6 not run"


def test_failures_in_the_verdict_are_failures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    line = '{"checks": ["a"], "failures": {"a": "AssertionError: off by one"}, "binding": "native", "ns": null}'
    monkeypatch.setattr(matrix, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, f"noise\n{line}\n", ""))
    with pytest.raises(matrix.FailedError, match="off by one"):
        matrix.check(tmp_path, "")


def test_a_package_that_cannot_be_had_is_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(matrix, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, "", ""))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 0, 10**12))
    refusal = subprocess.CompletedProcess([], 1, "", "WARNING: retries\nERROR: No matching distribution\n\n")
    monkeypatch.setattr(matrix, "pip", lambda *_, **__: refusal)
    key = matrix.environment_key("3.12", "2.9.1")
    (tmp_path / key).mkdir()
    with pytest.raises(matrix.UnavailableError, match="ERROR: No matching distribution"):
        matrix.environment_of(Path(sys.executable), "3.12", "2.9.1", tmp_path, every=True)
    assert not (tmp_path / key).exists(), "half an environment would be taken for a whole one"


def test_a_full_disk_is_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12 - 10**9, 10**9))
    with pytest.raises(matrix.UnavailableError, match=r"torch needs 9 GB, .* has 1 GB free"):
        matrix.environment_of(Path(sys.executable), "3.12", "2.9.1", tmp_path, every=True)


@pytest.mark.parametrize(
    ("torch", "every", "made"),
    [(matrix.ALWAYS, False, True), ("2.9.1", False, False), ("2.9.1", True, True), (None, False, True)],
)
def test_one_torch_is_always_installed_and_the_others_when_all_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, torch: str | None, every: bool, made: bool
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 0, 10**12))
    monkeypatch.setattr(matrix, "run", lambda *_, **__: subprocess.CompletedProcess([], 1, "", "no"))
    says = "venv failed" if made else "^left out for time: its torch is not installed here yet"
    with pytest.raises(matrix.UnavailableError, match=says):
        matrix.environment_of(Path(sys.executable), "3.12", torch, tmp_path, every)


def test_a_torch_that_is_there_is_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(matrix, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, "", ""))
    environment = tmp_path / matrix.environment_key("3.12", "2.9.1")
    environment.mkdir()
    (environment / ".ready").touch()
    assert matrix.environment_of(Path(sys.executable), "3.12", "2.9.1", tmp_path, every=False) == environment


def test_the_torch_that_is_always_tried_is_one_of_them() -> None:
    assert matrix.ALWAYS in matrix.TORCHES.values()


def test_its_results_are_read_with_those_of_other_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def environment_of(_python: Path, version: str, torch: str | None, *_: object) -> Path:
        if version == "3.12":
            raise matrix.UnavailableError(f"{junit.LEFT_OUT}: why")
        return tmp_path

    def check(*_: object) -> matrix.Verdict:
        raise matrix.FailedError("wrong")

    monkeypatch.setattr(matrix, "pythons", lambda: dict.fromkeys(("3.11", "3.12"), Path(sys.executable)))
    monkeypatch.setattr(matrix, "environment_of", environment_of)
    monkeypatch.setattr(matrix, "check", check)
    outcome(tmp_path, capsys)
    found = {c.name: (c.outcome, c.said) for c in junit.read(tmp_path / "m.xml")}
    assert found["PyTorch 2.13.0 on Python 3.11"] == ("failed", "FAILED")
    assert found["PyTorch 2.9.1 on Python 3.12"] == ("skipped", "left out for time: why")
    assert found["no PyTorch on Python 3.9"] == ("skipped", "no Python 3.9 here")
