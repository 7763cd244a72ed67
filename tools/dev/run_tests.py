"""The stages of `./dev test`, which sets up what they need: each is a process of its own, so that one that fails ends
there and the others still run. A table at the end says what each took and how it ended, and the last line what was left
out.

usage: run_tests.py --set-up SECONDS [--torch] [--changed] [--all] [--ci]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.dev import junit, verdicts
from tools.dev.junit import LEFT_OUT

ROOT = Path(__file__).resolve().parents[2]
CORES = str(len(os.sched_getaffinity(0)))
RESULTS = ("build/tests.xml", "build/python-tests.xml", "build-asan/tests.xml", "build/matrix.xml", "build/lint.xml")
#: Seconds that a stage takes on two cores with nothing compiled, cached or installed before, as measured in parts.
BUDGETS = {
    "set-up": 100,
    "lint": 150,
    "build": 1000,
    "C++ tests": 1500,
    "Python tests": 400,
    "wheel and Pythons": 60,
    "build, sanitized": 690,
    "C++ tests, sanitized": 470,
}
#: Seconds after which CI stops what still runs, which fails unless it is one of IF_TIME_IS_LEFT. A stage over its
#: budget does not: the machine may be half as fast as the one that the budgets are of, and the table says so.
MOST_SECONDS = 4800
#: What CI leaves out where there is no time for it: with nothing cached, most of it.
IF_TIME_IS_LEFT = ("build, sanitized", "C++ tests, sanitized")
#: Seconds after which CI begins no more of what no earlier run has a kept verdict on; --all has no such limit.
TIDY_SECONDS = 120
MUTANT_SECONDS = 20  # a list of defects, and a part of what earlier stages left of their budgets
#: How many such parts there are: one for each list, of which there are 15, and as many for the stages to come.
MUTANT_PARTS = 30
#: Of cases that tests only sample, CI tries every so many (tests/share.hpp).
TEST_SHARE = 6


@dataclass
class Stage:
    """How a stage ended; of one that did not run, `seconds` is None and `result` says why."""

    name: str
    seconds: float | None
    cpu: float
    result: str

    @property
    def failed(self) -> bool:
        return not self.result.startswith(("passed", "left out"))


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Run:
    """The stages so far."""

    def __init__(self, set_up: float, in_ci: bool) -> None:
        self.stages: list[Stage] = []
        self.in_ci = in_ci
        self.end = time.monotonic() - set_up + MOST_SECONDS
        self.ended("set-up", set_up, 0, 0)

    def ended(self, name: str, seconds: float, cpu: float, status: int) -> None:
        result = "passed" if status == 0 else "FAILED"
        if status == 0 and seconds > BUDGETS.get(name, seconds):
            result += f", {seconds - BUDGETS[name]:.0f} s over its budget"
        self.stages.append(Stage(name, seconds, cpu, result))

    def left_over(self) -> float:
        """Seconds that the stages so far left of their budgets; less than 0 if they took more."""
        return sum(BUDGETS[s.name] - (s.seconds or 0) for s in self.stages if s.name in BUDGETS)

    def stage(self, name: str, *command: str) -> bool:
        """Whether it passed."""
        print(f"== {name}", flush=True)
        start, cpu = time.monotonic(), cpu_seconds()
        # A group of its own, so that all of it can be stopped.
        process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
        try:
            status = process.wait(max(0, self.end - start) if self.in_ci else None)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        seconds, used = time.monotonic() - start, cpu_seconds() - cpu
        if status is None:
            words = f"{LEFT_OUT}, stopped" if name in IF_TIME_IS_LEFT else "STOPPED: all the time was up"
            self.stages.append(Stage(name, seconds, used, words))
        else:
            self.ended(name, seconds, used, status)
        return status == 0

    def without(self, name: str, why: str) -> None:
        """A stage that does not run, which is a failure unless it was left out."""
        self.stages.append(Stage(name, None, 0, why))

    def table(self) -> Iterator[str]:
        yield f"{'stage':<26}{'seconds':>8}{'CPU s':>8}{'budget':>8}  result"
        for s in self.stages:
            seconds, cpu = (f"{s.seconds:.0f}", f"{s.cpu:.0f}") if s.seconds is not None else ("-", "-")
            yield f"{s.name:<26}{seconds:>8}{cpu:>8}{BUDGETS.get(s.name, '-'):>8}  {s.result}"

    @property
    def failed(self) -> bool:
        return any(s.failed for s in self.stages)

    def last_line(self, left_out: list[str]) -> str:
        seconds = sum(s.seconds or 0 for s in self.stages)
        cpu = sum(s.cpu for s in self.stages)
        words = "FAILED" if self.failed else "passed"
        if left_out:
            words += f"; {LEFT_OUT}: {', '.join(left_out)}"
        return f"{'total':<26}{seconds:>8.0f}{cpu:>8.0f}{MOST_SECONDS:>8}  {words}"


def within_time(run: Run) -> list[str]:
    """What a command is called by where time is short."""
    if not run.in_ci:
        return []
    limits = {
        "FLASHFIT_TIDY_SECONDS": TIDY_SECONDS,
        "FLASHFIT_MUTANT_SECONDS": MUTANT_SECONDS + max(0, round(run.left_over() / MUTANT_PARTS)),
        "FLASHFIT_TEST_SHARE": TEST_SHARE,
    }
    return ["env", *(f"{name}={value}" for name, value in limits.items())]


def run_cpp_tests(run: Run, changed: bool) -> None:
    tests = verdicts.Build(ROOT / "build").tests()
    passed = verdicts.Passed(ROOT / "build/passed-cpp")
    todo = passed.left_to_run(tests) if changed else tests
    if changed:
        print(f"C++ tests: {len(todo)} of {len(tests)} may end otherwise than when they last passed")
    if todo:
        command = ["ctest", "--test-dir", "build", "--no-tests=error", "--output-on-failure", "-j", CORES]
        # ctest's way to name them: by their numbers, after an empty range; without an end of line it drops the last.
        chosen = ROOT / "build/chosen-tests"
        chosen.write_text(",".join(["0", "0", "0", *(str(t.number) for t in todo)]) + "\n")
        run.stage("C++ tests", *within_time(run), *command, "--output-junit", "tests.xml", "-I", str(chosen))
        cases = list(junit.read(ROOT / RESULTS[0]))
        if not run.in_ci:  # a share that passes says nothing of the rest
            passed.remember(tests, {t.name for t in todo}, {c.name for c in cases if c.outcome == "passed"})
        print("\n".join(junit.slowest(ROOT / RESULTS[0])))
    else:
        run.ended("C++ tests", 0, 0, 0)


def run_python_tests(run: Run, changed: bool) -> None:
    tests = verdicts.python_tests(verdicts.Build(ROOT / "build"))
    passed = verdicts.Passed(ROOT / "build/passed-python")
    todo = passed.left_to_run(tests) if changed else tests
    if changed:
        print(f"Python tests: {len(todo)} of {len(tests)} files may end otherwise than when they last passed")
    if todo:
        command = [sys.executable, "-m", "pytest", "-n", CORES, "--dist", "loadfile", "--junit-xml", RESULTS[1]]
        run.stage("Python tests", *within_time(run), *command, *(t.name for t in todo if changed))
        outcomes: dict[str, set[str]] = {}
        for case in junit.read(ROOT / RESULTS[1]):
            outcomes.setdefault(case.group.replace(".", "/") + ".py", set()).add(case.outcome)
        whole = {name for name, seen in outcomes.items() if seen == {"passed"}}
        if not run.in_ci:
            passed.remember(tests, {t.name for t in todo}, whole)
    else:
        run.ended("Python tests", 0, 0, 0)


def run_stages(run: Run, options: argparse.Namespace) -> None:
    run.stage("lint", *within_time(run), "./dev", "lint")
    built = run.stage("build", "./dev", "build", "--tests")
    if built:
        run_cpp_tests(run, options.changed)
        run_python_tests(run, options.changed)
    else:
        for name in ("C++ tests", "Python tests"):
            run.without(name, "not run: nothing was built")
    if built and (options.ci or options.all):
        run.stage("wheel and Pythons", "./dev", "matrix", *(["--all"] if options.all else []))
    if options.changed:
        run.without("C++ tests, sanitized", "left out: ./dev test runs them")
    elif run.stage("build, sanitized", "./dev", "build", "--sanitize"):
        command = ["ctest", "--test-dir", "build-asan", "--no-tests=error", "--output-on-failure", "-j", CORES]
        run.stage("C++ tests, sanitized", *within_time(run), *command, "--output-junit", "tests.xml")
    elif run.stages[-1].failed:
        run.without("C++ tests, sanitized", "not run: nothing was built")
    else:
        run.without("C++ tests, sanitized", LEFT_OUT)
    if built and options.all:
        run.stage("every emulated case", "./dev", "emulate-all")


def what_was_left_out(run: Run, options: argparse.Namespace) -> list[str]:
    """What a full run would have tried, shortly."""
    names = [s.name for s in run.stages if s.result.startswith("left out")]
    cases = (case for name in RESULTS for case in junit.read(ROOT / name))
    left_out = [c for c in cases if c.outcome == "skipped" and c.said.startswith(LEFT_OUT)]
    names += [c.name if c.group == "matrix" else c.said.partition(": ")[2] for c in left_out]
    if not (options.torch or options.ci or options.all):
        names.append("PyTorch (--torch)")
    if not (options.ci or options.all):
        names.append("the wheel beside other Pythons (./dev matrix)")
    if not options.all:
        share = f", of which this tried every {TEST_SHARE}th" if run.in_ci else ""
        names.append(f"emulated cases beyond a sample{share} (--all)")
    return names


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--set-up", type=float, required=True)
    for option in ("--torch", "--changed", "--all", "--ci"):
        parser.add_argument(option, action="store_true")
    options = parser.parse_args()
    results = [ROOT / name for name in RESULTS]
    for file in results:
        file.unlink(missing_ok=True)
    run = Run(options.set_up, options.ci and not options.all)
    run_stages(run, options)
    if skips := junit.skips(results):
        print("\n== tests that did not run")
        for count, reason in skips:
            print(f"{count:5} {reason}")
    print("\n== summary")
    for line in run.table():
        print(line)
    for file in results:
        for line in junit.failures(file):
            print(line)
    print(run.last_line(what_was_left_out(run, options)), flush=True)
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
