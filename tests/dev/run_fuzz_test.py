"""tools/dev/run_fuzz.sh: fuzz programs beside each other, each played by a script."""

from __future__ import annotations

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools/dev/run_fuzz.sh"
SOUND = "echo 'stat::number_of_executed_units: 123'; echo 'stat::average_exec_per_sec: 41'; echo stat::peak_rss_mb: 7"


def program(folder: Path, target: str, body: str) -> None:
    path = folder / f"tests/inspect_{target}_fuzz"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"#!/bin/sh\nfor word; do case $word in -artifact_prefix=*) prefix=${{word#*=}} ;; esac; done\n{body}\n"
    )
    path.chmod(0o755)


def run(folder: Path, *targets: str) -> tuple[int, dict[str, list[str]]]:
    """Exit status, and the table by target."""
    done = subprocess.run(
        [SCRIPT, folder, "3", folder / "out", *targets], capture_output=True, text=True, check=False, timeout=60
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
