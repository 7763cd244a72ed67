"""tools/dev/run_fuzz.sh: fuzz programs beside each other, each played by a script."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools/dev/run_fuzz.sh"
SOUND = "echo 'stat::number_of_executed_units: 123'; echo 'stat::average_exec_per_sec: 41'; echo stat::peak_rss_mb: 7"


def program(folder: Path, target: str, body: str) -> None:
    path = folder / f"tests/{target}_fuzz"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"#!/bin/sh\nfor word; do case $word in -artifact_prefix=*) prefix=${{word#*=}} ;; esac; done\n{body}\n"
    )
    path.chmod(0o755)


def run(folder: Path, *targets: str, cores: int = 2, seconds: int = 3) -> tuple[int, dict[str, list[str]]]:
    """Exit status, and the table by target, on a machine of so many cores."""
    nproc = folder / "nproc"
    nproc.write_text(f"#!/bin/sh\necho {cores}\n")
    nproc.chmod(0o755)
    done = subprocess.run(
        [SCRIPT, folder, str(seconds), folder / "out", *targets],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
    )
    assert done.stderr == ""
    assert (folder / "out/table.txt").read_text() == done.stdout
    return done.returncode, {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:]}


def test_targets_run_beside_each_other_and_are_counted(tmp_path: Path) -> None:
    # Each waits for the other.
    program(tmp_path, "a", f"touch $prefix.here; until [ -e {tmp_path}/out/b-.here ]; do sleep 0.05; done; {SOUND}")
    program(tmp_path, "b", f"touch $prefix.here; until [ -e {tmp_path}/out/a-.here ]; do sleep 0.05; done; {SOUND}")
    status, rows = run(tmp_path, "a", "b")
    assert status == 0
    for target in ("a", "b"):
        executions, cpu, rate, peak, findings = rows[target]
        assert (executions, rate, peak, findings) == ("123", "41", "7", "0")
        assert float(cpu) < 3
        assert (tmp_path / f"corpus-{target}").is_dir()


def test_no_more_run_at_once_than_there_are_cores(tmp_path: Path) -> None:
    for target in ("a", "b", "c"):
        program(tmp_path, target, f"mkdir {tmp_path}/alone && sleep 0.7 && rmdir {tmp_path}/alone && {{ {SOUND}; }}")
    status, rows = run(tmp_path, "a", "b", "c", cores=1)
    assert (status, [rows[target][-1] for target in "abc"]) == (0, ["0", "0", "0"])


def test_the_time_given_is_the_processors(tmp_path: Path) -> None:
    """It sleeps first: a second of wall time passes without one of the processor's."""
    program(tmp_path, "a", f"trap '{SOUND.replace(chr(39), '')}; exit 0' USR1; sleep 1.2; while :; do :; done")
    status, rows = run(tmp_path, "a", seconds=1)
    assert status == 0
    assert rows["a"][0] == "123"
    assert 1 <= float(rows["a"][1]) < 3


def test_a_finding_is_a_failure_and_the_others_go_on(tmp_path: Path) -> None:
    program(tmp_path, "bad", "touch ${prefix}crash-1; echo crashed >&2; exit 77")
    program(tmp_path, "good", f"sleep 1; {SOUND}")
    status, rows = run(tmp_path, "bad", "good")
    assert status == 1
    assert " ".join(rows["bad"]).endswith("1, ended with 77: see bad.log")
    assert rows["good"][-1] == "0"
    assert "crashed" in (tmp_path / "out/bad.log").read_text()


def test_a_program_that_does_not_start_is_a_failure(tmp_path: Path) -> None:
    status, rows = run(tmp_path, "absent")
    assert status == 1
    assert "ended with 127" in " ".join(rows["absent"])
