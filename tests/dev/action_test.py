"""action.yml and the script that it runs: what GitHub wants of an action, and the doctor's answers through it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools/action/doctor.sh"
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")


def problems(text: str) -> list[str]:
    """What GitHub would refuse, or take and not do."""
    yaml = pytest.importorskip("yaml")
    action: dict[str, Any] = yaml.safe_load(text)
    wrong = [f"no {key}" for key in ("name", "description", "inputs", "runs") if not action.get(key)]
    if wrong:
        return wrong
    wrong += [f"{key} is no key of an action" for key in set(action) - {*("name", "description", "inputs"), *OTHERS}]
    inputs = action["inputs"]
    for name, each in inputs.items():
        wrong += [] if each.get("description") else [f"input {name} has no description"]
        wrong += [] if each.get("required") or "default" in each else [f"input {name} has no default"]
    runs = action["runs"]
    if runs.get("using") != "composite":
        wrong.append("it is not composite")
    used = set(re.findall(r"\$\{\{ inputs\.(\w+) \}\}", text))
    wrong += [f"input {name} is used and not there" for name in used - set(inputs)]
    wrong += [f"input {name} is not used" for name in set(inputs) - used]
    steps = runs.get("steps", [])
    identifiers = {step.get("id") for step in steps}
    for step in steps:
        if "run" in step and "shell" not in step:
            wrong.append("a step has no shell")
        if "${{" in step.get("run", ""):  # an input would be run as code
            wrong.append("a step's code has an expression in it")
    for step in re.findall(r"\$\{\{ steps\.(\w+)\.", text):
        wrong += [] if step in identifiers else [f"step {step} is not there"]
    return wrong


OTHERS = ("outputs", "runs", "author", "branding")
BROKEN = {
    "no description": ("description: Says", "about: Says"),
    "input wheel is not used": ("WHEEL: ${{ inputs.wheel }}", "WHEEL: none"),
    "input targets is used and not there": ("  targets:\n", "  target:\n"),
    "a step has no shell": ("      shell: bash\n", ""),
    "a step's code has an expression in it": ('"$GITHUB_ACTION_PATH/', '"${{ github.action_path }}/'),
    "step doctor is not there": ("- id: doctor", "- id: other"),
}


def test_github_takes_the_action() -> None:
    assert problems(ACTION) == []


@pytest.mark.parametrize("problem", BROKEN)
def test_a_broken_action_is_seen(problem: str) -> None:
    old, new = BROKEN[problem]
    assert old in ACTION
    assert problem in problems(ACTION.replace(old, new))


def run(tmp_path: Path, status: int = 0, **given: Any) -> tuple[int, str, list[str]]:
    """The script with a stand-in for the command: exit status, what was printed, the arguments that came through."""
    command = tmp_path / "flashfit"
    command.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{tmp_path}/arguments"\nexit {status}\n')
    command.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "COMMAND": str(command), "GITHUB_OUTPUT": str(tmp_path / "output")}
    environment.update({"TARGETS": "requirements.txt", **given})
    done = subprocess.run(["bash", str(SCRIPT)], env=environment, capture_output=True, text=True, check=False)
    arguments = tmp_path / "arguments"
    return done.returncode, done.stdout, arguments.read_text().splitlines() if arguments.exists() else []


def test_arguments_come_through_as_words(tmp_path: Path) -> None:
    given: Any = {
        "TARGETS": "a.txt  Dockerfile\nc*.txt",
        "POLICY": "my fleet.toml",
        "OPTIONS": "--gpu L40\n--driver 550",
    }
    _, _, arguments = run(tmp_path, **given)
    want = ["doctor", "a.txt", "Dockerfile", "c*.txt", "--policy", "my fleet.toml", "--gpu", "L40", "--driver", "550"]
    assert arguments == [*want, "--format", "github"]


def test_nothing_of_an_input_is_run(tmp_path: Path) -> None:
    _, _, arguments = run(tmp_path, TARGETS=f"$(touch {tmp_path}/ran) `id` ;")
    assert arguments[1:3] == ["$(touch", f"{tmp_path}/ran)"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("status", "unknown", "ends"), [(0, "fail", 0), (1, "pass", 1), (2, "fail", 2), (2, "pass", 0)]
)
def test_statuses(tmp_path: Path, status: int, unknown: str, ends: int) -> None:
    assert run(tmp_path, status, UNKNOWN=unknown)[0] == ends
    assert (tmp_path / "output").read_text() == f"status={status}\n"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"TARGETS": ""}, "targets: empty; accepted: files, separated by blanks or newlines"),
        ({"UNKNOWN": "maybe"}, "unknown: maybe; accepted: fail, pass"),
        ({"COMMAND": "", "WHEEL": "absent.whl"}, "wheel: absent.whl is not there; accepted: a file"),
        ({"COMMAND": ""}, "wheel: empty, and command too; accepted: one of them"),
    ],
)
def test_wrong_inputs(tmp_path: Path, given: dict[str, Any], words: str) -> None:
    status, said, arguments = run(tmp_path, **given)
    assert (status, said, arguments) == (3, f"::error title=flashfit doctor::{words}\n", [])


def test_the_real_command(tmp_path: Path) -> None:
    command = Path(os.environ.get("FLASHFIT_COMMAND", ROOT / "build/bin/flashfit"))
    if not command.is_file():
        pytest.skip("no build/bin/flashfit")
    (tmp_path / "requirements.txt").write_text("torch==2.12.1\n")
    given: Any = {"COMMAND": str(command), "TARGETS": str(tmp_path / "requirements.txt")}
    status, said, _ = run(tmp_path, OPTIONS="--gpu V100 --driver 535 --python 3.11 --platform linux_x86_64", **given)
    assert status == 1
    assert "::error file=" in said
