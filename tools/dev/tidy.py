"""Runs clang-tidy over every source file of the compile commands, as many at once as there are processors.

A file that passed is not looked at again, in whichever clone, until it, a header of ours that it includes, its compile
command, .clang-tidy or clang-tidy changes. With FLASHFIT_TIDY_SECONDS in the environment, files that have yet to pass
are left out when so many seconds are over; RESULT, a JUnit file, says how many.

usage: python -m tools.dev.tidy COMPILE_COMMANDS FOLDER_OF_WHAT_PASSED RESULT
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.dev import junit
from tools.dev.own_files import own_files_of

ROOT = Path(__file__).resolve().parents[2]
#: The header that a build reads before each file, precompiled; clang-tidy takes files as they are.
PRECOMPILED = re.compile(r" -Winvalid-pch -include \S+")


def of_each_source(entry: dict[str, str], batches: Path) -> list[dict[str, str]]:
    """The compile command of each source where a build compiles several at once (tools/dev/batches.py)."""
    batch = Path(entry["file"])
    if not batch.is_relative_to(batches):
        return [entry]
    folders = [Path(f) for f in re.findall(r"-I\s*(\S+)", entry["command"])]
    # As CMake names it where each source is compiled by itself.
    target = re.search(r" -o (\S+/CMakeFiles/[^/]+\.dir)/\S+", entry["command"])
    if not target:
        raise SystemExit(f"{batch}: no object of a target in {entry['command']}")
    below = ROOT / target[1].partition("/CMakeFiles/")[0]
    found = []
    for name in re.findall(r'^#include "(.*)"$', batch.read_text(encoding="utf-8"), re.MULTILINE):
        source = next(f / name for f in folders if (f / name).is_file())
        place = os.path.relpath(source, below).replace("..", "__")
        command = entry["command"].replace(target[0], f" -o {target[1]}/{place}.o").replace(str(batch), str(source))
        found.append({**entry, "file": str(source), "command": command})
    return found


def read_commands(compile_commands: Path) -> list[dict[str, str]]:
    batches = compile_commands.parent / "batches"
    return [e for entry in json.loads(compile_commands.read_text()) for e in of_each_source(entry, batches)]


def key(source: Path, command: str, version: str) -> str:
    """Changes when the verdict on the source may."""
    folders = [Path(f) for f in re.findall(r"-I\s*(\S+)", command) if Path(f).is_relative_to(ROOT)]
    state = hashlib.sha256(f"{version}\n{command.replace(str(ROOT), '.')}\n".encode())
    for file in [ROOT / ".clang-tidy", *sorted(own_files_of(source, folders))]:
        state.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return state.hexdigest()


def main(compile_commands: Path, passed: Path, result_file: Path) -> int:
    """Prints the output of each file with findings and a line of counts; returns the exit status."""
    end = time.monotonic() + float(os.environ.get("FLASHFIT_TIDY_SECONDS") or "inf")
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True, check=True).stdout
    passed.mkdir(parents=True, exist_ok=True)
    entries = read_commands(compile_commands)
    for entry in entries:
        entry["command"] = PRECOMPILED.sub("", entry["command"])
    commands = {Path(c["file"]): c["command"] for c in entries}
    ours = {
        f: c for f, c in commands.items() if f.is_relative_to(ROOT) and not f.is_relative_to(compile_commands.parent)
    }
    keys = {f: key(f, c, version) for f, c in ours.items() if f.is_file()}
    todo = sorted(f for f, k in keys.items() if not (passed / k).exists())

    def tidy(source: Path) -> tuple[Path, subprocess.CompletedProcess[str] | None]:
        if time.monotonic() > end:
            return source, None
        command = ["clang-tidy", "--quiet", "-p", read, str(source)]
        return source, subprocess.run(command, capture_output=True, text=True, check=False)

    findings = left_out = 0
    with (
        tempfile.TemporaryDirectory(prefix="flashfit-tidy-") as read,
        concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool,
    ):
        Path(read, compile_commands.name).write_text(json.dumps(entries))
        for count, future in enumerate(concurrent.futures.as_completed([pool.submit(tidy, f) for f in todo]), 1):
            source, result = future.result()
            if sys.stdout.isatty():
                print(f"\r[{count}/{len(todo)}] ", end="", flush=True)
            if result is None:
                left_out += 1
            elif result.returncode == 0:
                (passed / keys[source]).touch()
            else:
                findings += 1
                # Standard error only counts the warnings of system headers, unless clang-tidy itself could not run.
                print(result.stdout or result.stderr, end="")
    print(f"clang-tidy: {len(todo) - left_out} of {len(keys)} files looked at, {findings} with findings")
    words = f"{junit.LEFT_OUT}: clang-tidy on {left_out} of {len(keys)} files" if left_out else ""
    junit.write(result_file, [junit.Case("lint", "clang-tidy", "skipped" if words else "passed", words, 0)])
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), Path(sys.argv[3])))
