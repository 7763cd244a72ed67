"""`./dev matrix`: installs a wheel beside each Python and PyTorch that can be had, checks it and prints one table.

An environment is kept, so that only the first run downloads. What could not be tried is said to be so, never passed.
One PyTorch is always tried; the others where they were installed before, and with --all, which installs them.

usage: python -m tools.dev.matrix WHEEL FOLDER_OF_ENVIRONMENTS [--all] [--junit FILE]
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.dev import junit

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "tests/install/installed_check.py"
REQUIREMENTS = ROOT / "requirements/matrix.txt"
MINORS = range(9, 16)
#: The PyTorch to try on a Python: the oldest served, two between, the newest. Other Pythons are tried without one.
TORCHES = {"3.10": "2.4.1", "3.11": "2.13.0", "3.12": "2.9.1", "3.13": "2.15.0"}
ALWAYS = "2.13.0"
#: What a PyTorch of CUDA takes with its libraries.
TORCH_BYTES = 9e9


NOT_RUN = "not run: "


@dataclass
class Row:
    """One environment's outcome. A result that starts with NOT_RUN is neither passed nor failed."""

    python: str
    torch: str
    result: str
    binding: str = "-"
    checks: str = "-"
    ns: str = "-"
    ctypes_ns: str = "-"


class UnavailableError(Exception):
    """Why an environment cannot be made."""


class FailedError(Exception):
    """What the wheel did wrong."""


def say(text: str) -> None:
    print(f"matrix: {text}", flush=True)


def run(*command: str | Path, binding: str = "", shown: bool = False) -> subprocess.CompletedProcess[str]:
    """In an environment untouched by this repository; on a terminal, `shown` lets what the command says through."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("FLASHFIT_", "PYTHON"))}
    if binding:
        own["FLASHFIT_PYTHON_BINDING"] = binding
    stdout = None if shown and sys.stdout.isatty() else subprocess.PIPE
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            list(map(str, command)),
            cwd=folder,
            env=own,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )


def pythons() -> dict[str, Path]:
    """The Pythons found, by version ("3.12", "3.13t" if free-threaded): those of PATH go before those of pyenv."""
    names = [f"python3.{m}{t}" for m in MINORS for t in ("", "t")]
    on_path = [Path(path) for name in ["python3", *names] if (path := shutil.which(name))]
    of_pyenv = sorted((Path.home() / ".pyenv/versions").glob("*/bin/python3"))
    found: dict[str, Path] = {}
    code = "import sys, sysconfig as s; print(*sys.version_info[:2], 't' * bool(s.get_config_var('Py_GIL_DISABLED')))"
    for candidate in [*on_path, *of_pyenv]:
        answer = run(candidate, "-c", code)
        if answer.returncode == 0:
            major, minor, *threads = answer.stdout.split()
            found.setdefault(f"{major}.{minor}{''.join(threads)}", candidate)
    return found


def pip(environment: Path, *arguments: str | Path, shown: bool = False) -> subprocess.CompletedProcess[str]:
    return run(
        environment / "bin/python",
        "-m",
        "pip",
        *arguments,
        "--disable-pip-version-check",
        "--no-cache-dir",
        shown=shown,
    )


def last_line(text: str) -> str:
    return ([line for line in text.splitlines() if line.strip()] or ["it says nothing"])[-1][:160]


def environment_key(version: str, torch: str | None) -> str:
    """Names all that decides what an environment holds."""
    key = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:8]
    return f"python{version}-{f'torch{torch}' if torch else 'bare'}-{key}"


def environment_of(python: Path, version: str, torch: str | None, folder: Path, every: bool) -> Path:
    """The environment with NumPy and, if asked for, this PyTorch; made where it is not there yet, which takes too long
    for every PyTorch unless that is wanted."""
    environment = folder / environment_key(version, torch)
    ready = environment / ".ready"
    if ready.exists() and run(environment / "bin/python", "-c", "").returncode == 0:
        return environment
    if torch and torch != ALWAYS and not every:
        raise UnavailableError(f"{junit.LEFT_OUT}: its torch is not installed here yet (./dev matrix --all)")
    if torch and (free := shutil.disk_usage(folder).free) < TORCH_BYTES:
        raise UnavailableError(f"torch needs {TORCH_BYTES / 1e9:.0f} GB, {folder} has {free / 1e9:.0f} GB free")
    say(f"Python {version}: makes an environment{f' with torch {torch}' if torch else ''} in {environment}")
    made = run(python, "-m", "venv", "--clear", environment)
    if made.returncode:
        raise UnavailableError(f"{python} -m venv failed: {last_line(made.stdout + made.stderr)}")
    wanted: list[list[str | Path]] = [["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", REQUIREMENTS]]
    if torch:
        wanted.append([f"torch=={torch}"])
    for arguments in wanted:
        installed = pip(environment, "install", *arguments, shown=True)
        if installed.returncode:
            shutil.rmtree(environment)
            raise UnavailableError(f"pip could not install {arguments[-1]}: {last_line(installed.stderr)}")
    ready.touch()
    return environment


@dataclass
class Verdict:
    """What tests/install/installed_check.py prints."""

    checks: list[str]
    failures: dict[str, str]
    binding: str
    ns: float | None


def check(environment: Path, binding: str) -> Verdict:
    """The verdict with this binding, or with the package's own choice."""
    result = run(environment / "bin/python", "-I", CHECK, binding=binding)
    if result.returncode:
        raise FailedError(f"exit status {result.returncode}: {result.stderr[-2000:]}")
    verdict = Verdict(**json.loads(result.stdout.splitlines()[-1]))
    if verdict.failures:
        raise FailedError("\n".join(f"{n} ({verdict.binding}):\n{text}" for n, text in verdict.failures.items()))
    return verdict


def try_wheel(wheel: Path, environment: Path, row: Row) -> None:
    """Fills the row in; raises FailedError."""
    for arguments in (["install", "--force-reinstall", "--no-deps", "--no-index", wheel], ["check"]):
        result = pip(environment, *arguments)
        if result.returncode:
            raise FailedError(f"pip {arguments[0]}: {result.stdout[-1000:]}{result.stderr[-1000:]}")
    chosen, ctypes = check(environment, ""), check(environment, "ctypes")
    row.binding, row.checks = chosen.binding, str(len(chosen.checks))
    row.ns, row.ctypes_ns = (f"{v.ns:.0f}" if v.ns else "-" for v in (chosen, ctypes))


def rows(wheel: Path, folder: Path, every: bool) -> Iterator[Row]:
    """A row for each environment, as it is done."""
    found = pythons()
    for version in [f"3.{m}" for m in MINORS] + sorted(v for v in found if v.endswith("t")):
        torch = TORCHES.get(version)
        row = Row(version, torch or "none", "passed")
        try:
            if version not in found:
                raise UnavailableError(f"no Python {version} here")
            environment = environment_of(found[version], version, torch, folder, every)
            try_wheel(wheel, environment, row)
        except UnavailableError as reason:
            row.result = f"{NOT_RUN}{reason}"
        except FailedError as failure:
            row.result = "FAILED"
            print(f"Python {version}, torch {row.torch}: {failure}", file=sys.stderr)
        say(f"Python {row.python}, torch {row.torch}: {row.result}")
        yield row


def table(done: list[Row]) -> str:
    lines = [("Python", "torch", "binding", "checks", "ns a call", "by ctypes", "result")]
    lines += [(r.python, r.torch, r.binding, r.checks, r.ns, r.ctypes_ns, r.result) for r in done]
    widths = [max(len(line[i]) for line in lines) for i in range(6)]
    return "\n".join("  ".join([*(c.ljust(w) for c, w in zip(line, widths)), line[6]]) for line in lines)


def write_junit(done: list[Row], file: Path) -> None:
    """For tools/dev/junit.py, which tells of all tests."""
    cases = []
    for row in done:
        torch = f"PyTorch {row.torch}" if row.torch != "none" else "no PyTorch"
        outcome, said = "failed", row.result
        if row.result.startswith(NOT_RUN):
            outcome, said = "skipped", row.result[len(NOT_RUN) :]
        elif row.result == "passed":
            outcome = "passed"
        cases.append(junit.Case("matrix", f"{torch} on Python {row.python}", outcome, said, 0))
    junit.write(file, cases)


def main() -> int:
    """0 if what ran passed and something ran."""
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--junit", type=Path)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = list(rows(options.wheel.resolve(), folder, options.all))
    if options.junit:
        write_junit(done, options.junit)
    print(f"\n{table(done)}")
    passed, failed = (sum(r.result == result for r in done) for result in ("passed", "FAILED"))
    print(f"{passed} passed, {failed} failed, {len(done) - passed - failed} not run")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
