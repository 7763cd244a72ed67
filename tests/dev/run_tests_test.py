"""What ./dev test makes of stages that pass, fail, take too long or do not run: here they are small programs."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.dev import junit, reach, run_tests, verdicts

ROOT = Path(__file__).resolve().parents[2]


def options(*given: str) -> argparse.Namespace:
    return argparse.Namespace(**{name: name in given for name in ("torch", "changed", "all", "ci")})


class Stub(run_tests.Run):
    """Notes the commands; those of `failing` stages fail."""

    def __init__(self, failing: tuple[str, ...] = (), in_ci: bool = False) -> None:
        super().__init__(3, in_ci)
        self.commands: list[str] = []
        self.failing = failing

    def stage(self, name: str, *command: str) -> bool:
        self.commands.append(" ".join(command))
        self.ended(name, 1, 1, name in self.failing)
        return name not in self.failing

    @property
    def results(self) -> dict[str, str]:
        return {s.name: s.result for s in self.stages}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose build has one C++ test, and that has one file of Python tests."""
    for name in ("build", "build-asan", "tests", "python"):
        (tmp_path / name).mkdir()
    (tmp_path / "tests/conftest.py").touch()
    (tmp_path / "tests/a_test.py").touch()
    (tmp_path / "build/compile_commands.json").write_text("[]")
    (tmp_path / "build/CTestTestfile.cmake").write_text("add_test(one /bin/true)")
    for module in (run_tests, verdicts, reach):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    reach.scripts_by_name.cache_clear()
    reach.common.cache_clear()
    return tmp_path


def test_each_stage_runs_and_is_in_the_table(folder: Path) -> None:
    run = Stub()
    run_tests.run_stages(run, options())
    assert list(run.results) == [name for name in run_tests.BUDGETS if name != "wheel and Pythons"]
    assert set(run.results.values()) == {"passed"}
    table = list(run.table())
    assert table[0].split() == ["stage", "seconds", "CPU", "s", "budget", "result"]
    assert table[1].split() == ["set-up", "3", "0", str(run_tests.BUDGETS["set-up"]), "passed"]
    assert run.last_line([]).split() == ["total", "9", "6", str(run_tests.MOST_SECONDS), "passed"]


def test_one_that_fails_stops_no_other_and_fails_the_whole(folder: Path) -> None:
    run = Stub(failing=("lint", "C++ tests"))
    run_tests.run_stages(run, options("ci"))
    assert run.results == {name: "FAILED" if name in ("lint", "C++ tests") else "passed" for name in run_tests.BUDGETS}
    assert run.failed
    assert run.last_line([]).endswith("  FAILED")


def test_tests_of_what_was_not_built_are_no_success(folder: Path) -> None:
    run = Stub(failing=("build", "build, sanitized"))
    run_tests.run_stages(run, options())
    for name in ("C++ tests", "Python tests", "C++ tests, sanitized"):
        assert run.results[name] == "not run: nothing was built"
    run.stages = [s for s in run.stages if s.name.endswith("tests")]
    assert run.failed


def test_a_stage_over_its_budget_passes_and_is_named() -> None:
    run = run_tests.Run(run_tests.BUDGETS["set-up"] + 7, in_ci=True)
    run.ended("lint", run_tests.BUDGETS["lint"] + 9, 0, 1)
    assert [s.result for s in run.stages] == ["passed, 7 s over its budget", "FAILED"]
    assert [s.failed for s in run.stages] == [False, True]


def test_ci_alone_tells_lint_and_mutants_how_long_they_have(folder: Path) -> None:
    for given, told in (("ci", True), ("torch", False), ("all", False)):
        run = Stub(in_ci=told)
        run_tests.run_stages(run, options(given))
        limited = [c for c in run.commands if c.startswith("env FLASHFIT_TIDY_SECONDS=")]
        called = [next(word for word in c.split()[1:] if "=" not in word) for c in limited]
        assert called == (["./dev", "ctest", sys.executable, "ctest"] if told else [])
        assert all(f" FLASHFIT_TEST_SHARE={run_tests.TEST_SHARE} " in c for c in limited)
        shown = run_tests.what_was_left_out(run, options(given))[-1:]
        assert shown == (
            []
            if given == "all"
            else ["emulated cases beyond a sample" + (", of which this tried every 6th" if told else "") + " (--all)"]
        )


def test_mutants_have_longer_where_earlier_stages_left_time(folder: Path) -> None:
    def seconds_after(build: float) -> int:
        run = run_tests.Run(run_tests.BUDGETS["set-up"], in_ci=True)
        run.ended("build", build, 0, 0)
        (word,) = [word for word in run_tests.within_time(run) if word.startswith("FLASHFIT_MUTANT_SECONDS=")]
        return int(word.partition("=")[2])

    least, budget = run_tests.MUTANT_SECONDS, run_tests.BUDGETS["build"]
    assert seconds_after(budget + 100) == seconds_after(budget) == least
    assert seconds_after(budget - 40 * run_tests.MUTANT_PARTS) == least + 40


def test_what_passed_on_a_share_is_not_kept_as_passed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []
    monkeypatch.setattr(verdicts.Passed, "remember", lambda *_: kept.append(True))
    run_tests.run_stages(Stub(in_ci=True), options("ci"))
    assert not kept
    run_tests.run_stages(Stub(), options())
    assert len(kept) == 2


def test_the_budgets_fit_in_ci_and_ci_in_90_minutes() -> None:
    assert sum(run_tests.BUDGETS.values()) <= run_tests.MOST_SECONDS <= 5400


@pytest.mark.parametrize("in_ci", [False, True])
def test_ci_stops_what_runs_when_all_the_time_is_up(in_ci: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tests, "MOST_SECONDS", 2)
    run = run_tests.Run(1, in_ci)
    # A process of the stage's process is stopped, too.
    assert run.stage("lint", "sh", "-c", "sleep 3 & wait") != in_ci
    assert not run.stage("C++ tests", "sh", "-c", "sleep 0.1; exit 1")
    results = [s.result for s in run.stages[1:]]
    assert results == (["STOPPED: all the time was up"] * 2 if in_ci else ["passed", "FAILED"])
    assert run.failed


@pytest.mark.parametrize("slow", run_tests.IF_TIME_IS_LEFT)
def test_what_ci_has_no_time_for_is_left_out_and_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    class Slow(Stub):
        def stage(self, name: str, *command: str) -> bool:
            return run_tests.Run.stage(self, name, "sleep", "60") if name == slow else super().stage(name, *command)

    monkeypatch.setattr(run_tests, "MOST_SECONDS", 4)
    run = Slow(in_ci=True)
    run_tests.run_stages(run, options("ci"))
    assert not run.failed
    after = run_tests.IF_TIME_IS_LEFT[run_tests.IF_TIME_IS_LEFT.index(slow) :]
    assert run_tests.what_was_left_out(run, options("ci"))[:-1] == list(after)


def test_a_stage_is_a_process_of_its_own_with_its_times(capfd: pytest.CaptureFixture[str]) -> None:
    run = run_tests.Run(0, in_ci=False)
    spin = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nprint('ran')"
    assert run.stage("spins", sys.executable, "-c", spin)
    assert not run.stage("fails", sys.executable, "-c", "raise SystemExit(3)")
    assert capfd.readouterr().out == "== spins\nran\n== fails\n"
    _, spins, fails = run.stages
    assert spins.seconds is not None
    assert spins.seconds >= 0.3 <= spins.cpu
    assert (spins.result, fails.result) == ("passed", "FAILED")


def test_what_a_full_run_would_have_tried_is_named(folder: Path) -> None:
    (folder / "build/matrix.xml").write_text(
        '<testsuite><testcase classname="matrix" name="PyTorch 2.9.1 on Python 3.12">'
        f'<skipped message="{junit.LEFT_OUT}: why"/></testcase>'
        '<testcase classname="matrix" name="no PyTorch on Python 3.9">'
        '<skipped message="no Python 3.9 here"/></testcase></testsuite>'
    )
    (folder / "build/tests.xml").write_text(
        '<testsuite><testcase name="mutants"><skipped message="SKIP_RETURN_CODE=77"/>'
        f"<system-out>ok none\n{junit.LEFT_OUT}: 9 of 10 defects of mutants\n10 mutants</system-out></testcase>"
        "</testsuite>"
    )
    run = Stub()
    run_tests.run_stages(run, options("ci"))
    assert run_tests.what_was_left_out(run, options("ci")) == [
        "9 of 10 defects of mutants",
        "PyTorch 2.9.1 on Python 3.12",
        "emulated cases beyond a sample (--all)",
    ]
    (folder / "build/tests.xml").unlink()
    assert run_tests.what_was_left_out(run, options("all")) == ["PyTorch 2.9.1 on Python 3.12"]
    (folder / "build/matrix.xml").unlink()
    assert run_tests.what_was_left_out(run, options("torch")) == [
        "the wheel beside other Pythons (./dev matrix)",
        "emulated cases beyond a sample (--all)",
    ]
    assert "PyTorch (--torch)" in run_tests.what_was_left_out(run, options())
    assert run.last_line(["a", "b"]).endswith("  passed; left out for time: a, b")


def test_all_tries_every_torch_and_every_emulated_case(folder: Path) -> None:
    run = Stub()
    run_tests.run_stages(run, options("all"))
    assert {"./dev matrix --all", "./dev emulate-all"} <= set(run.commands)


def test_changed_runs_what_did_not_pass_as_it_is_and_says_what_it_leaves_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Stub()
    run_tests.run_stages(run, options("changed"))
    assert "1 of 1 may end otherwise" in capsys.readouterr().out
    assert any("ctest" in c for c in run.commands)
    assert run.commands[-1].endswith(" tests/a_test.py")
    assert run.results["C++ tests, sanitized"].startswith("left out")
    assert run_tests.what_was_left_out(run, options("changed"))[0] == "C++ tests, sanitized"
    for kind, tests in (
        ("cpp", verdicts.Build(folder / "build").tests()),
        ("python", verdicts.python_tests(verdicts.Build(folder / "build"))),
    ):
        names = {t.name for t in tests}
        verdicts.Passed(folder / f"build/passed-{kind}").remember(tests, names, names)
    run = Stub()
    run_tests.run_stages(run, options("changed"))
    assert run.commands == ["./dev lint", "./dev build --tests"]
    assert run.results["C++ tests"] == run.results["Python tests"] == "passed"


@pytest.mark.parametrize(
    ("outcome", "kept"), [("", True), ("<skipped message='no GPU'/>", False), ("<failure message='1'/>", False)]
)
def test_a_test_that_was_skipped_or_failed_is_not_kept(folder: Path, outcome: str, kept: bool) -> None:
    class Writes(Stub):
        def stage(self, name: str, *command: str) -> bool:
            for group, case, file in (("one", "one", "tests.xml"), ("tests.a_test", "test_a", "python-tests.xml")):
                text = f'<testsuite><testcase classname="{group}" name="{case}">{outcome}</testcase></testsuite>'
                (folder / "build" / file).write_text(text)
            return super().stage(name, *command)

    run_tests.run_stages(Writes(), options())
    for kind in ("cpp", "python"):
        assert bool((folder / f"build/passed-{kind}").read_text()) == kept, kind


def test_ctest_takes_the_chosen_tests_alone(folder: Path) -> None:
    lines = [f"add_test({name} {program})" for name, program in zip("abcd", ("/bin/true", "/bin/false") * 2)]
    (folder / "build/CTestTestfile.cmake").write_text("\n".join(lines))
    tests = verdicts.Build(folder / "build").tests()
    passed = verdicts.Passed(folder / "build/passed-cpp")
    passed.remember(tests, {"b", "d"}, {"b", "d"})
    run = run_tests.Run(0, in_ci=False)
    run_tests.run_cpp_tests(run, changed=True)
    assert run.stages[-1].result == "passed", "a and c are true"
    listed = re.findall(r'testcase name="(\w)"', (folder / "build/tests.xml").read_text())
    assert listed == ["a", "c"]
    assert not passed.left_to_run(tests)


def test_dev_hands_its_options_over(tmp_path: Path) -> None:
    """./dev test itself, with stand-ins for what it sets up."""
    for name, body in {
        "tools/dev/system.sh": "exit 0",
        ".venv/bin/python": 'echo "$@"',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "dev").write_bytes((ROOT / "dev").read_bytes())
    (tmp_path / "dev").chmod(0o755)
    for name in ("run", "test", "hosts", "hosts_alone"):
        (tmp_path / "requirements").mkdir(exist_ok=True)
        (tmp_path / f"requirements/{name}.txt").write_text("numpy==1\n")
    said = subprocess.run([str(tmp_path / "dev"), "test", "--ci"], capture_output=True, text=True, check=True).stdout
    assert "dev: installs torch 2.13.0" in said
    assert re.search(r"^-m tools\.dev\.run_tests --set-up \d+ --ci$", said, re.MULTILINE)
