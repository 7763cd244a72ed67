"""`flashfit emulate` as the tests of its operations run it. The command is build/bin/flashfit, or what FLASHFIT_COMMAND
names; the one with defective kernels lies in that build's tests/flashfit_defective."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("FLASHFIT_COMMAND", str(ROOT / "build/bin/flashfit"))
DEFECTIVE = str(Path(COMMAND).parents[1] / "tests/flashfit_defective")


class Emulate:
    """`flashfit emulate OPERATION`; of attention without its name."""

    def __init__(self, *operation: str) -> None:
        self.operation = operation

    def __call__(self, *arguments: str, command: str = COMMAND) -> subprocess.CompletedProcess[str]:
        argv = [command, "emulate", *self.operation, *arguments]
        return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)

    def runs(self, *arguments: str) -> list[dict[str, Any]]:
        """What --json says of runs that found nothing."""
        ran = self(*arguments, "--json")
        assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
        found = json.loads(ran.stdout)
        assert isinstance(found, list)
        return found

    def explained(self, *arguments: str) -> dict[str, Any]:
        """What `flashfit explain` says of one GPU."""
        argv = [COMMAND, "explain", *self.operation, *arguments, "--json"]
        ran = subprocess.run(argv, capture_output=True, text=True, check=False)
        (said,) = json.loads(ran.stdout)
        return dict(said)

    def expect_words(self, problem: str, *arguments: str) -> None:
        """That people are told what ran, of a problem that is right."""
        ran = self(*arguments)
        assert ran.returncode == 0
        lines = ran.stdout.splitlines()
        assert lines[0] == "problem   " + problem
        assert lines[-1] == "finding   none"
        assert [line.split()[0] for line in lines if line[0] != " "] == (
            ["problem", "gpu", "variant", "block", "ran", "counts", "banks", "finding"]
        )

    def expect_no_launch(self) -> None:
        """That nothing runs without tokens."""
        (run,) = self.runs("--gpu", "H100", "--tokens", "0")
        assert (run["grid"], run["clean"]) == (0, True)

    def expect_finding(self, said: str, *arguments: str) -> None:
        """That a defective kernel is a finding, whose words have `said`."""
        ran = self("--gpu", "H100", *arguments, command=DEFECTIVE)
        assert ran.returncode == 1
        assert said in ran.stdout.splitlines()[-1]

    def expect_refusal(self, line: str, *arguments: str) -> None:
        """That wrong use is said in one line."""
        ran = self("--gpu", "H100", *arguments)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr.splitlines()[0] == "flashfit: " + line
