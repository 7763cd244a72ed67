"""`flashfit emulate moe.route`: what it runs and says, on kernels that are right and on kernels that are not."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("FLASHFIT_COMMAND", str(ROOT / "build/bin/flashfit"))
DEFECTIVE = str(Path(COMMAND).parents[1] / "tests/flashfit_defective")
LOGITS = ["normal", "ties", "equal", "shifted", "steep", "nan", "infinite", "hidden"]


def emulate(*arguments: str, command: str = COMMAND) -> subprocess.CompletedProcess[str]:
    argv = [command, "emulate", "moe.route", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


def runs(*arguments: str) -> list[dict[str, Any]]:
    ran = emulate(*arguments, "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    found = json.loads(ran.stdout)
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("logits", LOGITS)
def test_every_kind_of_logits_is_routed_right(logits: str) -> None:
    (run,) = runs("--gpu", "H100", "--experts", "60", "--top-k", "4", "--dtype", "bf16", "--logits", logits)
    assert run["clean"] is True
    assert run["finding"] is None
    assert run["gpu"] == "H100"
    assert run["variant"].startswith("route_warp_bf16_e128")
    assert run["grid"] > 0
    assert run["counts"]["shuffles"] > 0


def test_the_variant_is_the_one_that_explain_names() -> None:
    asked = ["--gpu", "H100", "--experts", "128", "--top-k", "8", "--tokens", "33"]
    explained = subprocess.run(
        [COMMAND, "explain", "moe.route", *asked, "--json"], capture_output=True, text=True, check=False
    )
    (said,) = json.loads(explained.stdout)
    ran = runs(*asked, "--repeat", "3", "--seed", "5")
    assert [run["seed"] for run in ran] == [5, 6, 7]
    if said["fits"]:  # else this build carries no images, and any variant of the table is run
        assert {run["variant"] for run in ran} == {said["variant"]}
        assert {run["grid"] for run in ran} == {said["grid"]}


def test_people_are_told_what_ran() -> None:
    ran = emulate("--gpu", "H100", "--tokens", "9", "--renormalize")
    assert ran.returncode == 0
    lines = ran.stdout.splitlines()
    assert lines[0] == "problem   fp32 routing to 2 of 8 experts, 9 tokens"
    assert lines[-1] == "finding   none"
    assert [line.split()[0] for line in lines if line[0] != " "] == (
        ["problem", "gpu", "variant", "block", "ran", "counts", "banks", "finding"]
    )


def test_without_tokens_nothing_is_launched() -> None:
    (run,) = runs("--gpu", "H100", "--tokens", "0")
    assert (run["grid"], run["clean"]) == (0, True)


@pytest.mark.parametrize(
    ("experts", "said"),
    [("128", "defective: block (0,0,0) warp 0 lane 0: reads past"), ("512", "(random, seed 1): wrong numbers: ")],
)
def test_a_defective_kernel_is_a_finding(experts: str, said: str) -> None:
    ran = emulate("--gpu", "H100", "--experts", experts, command=DEFECTIVE)
    assert ran.returncode == 1
    assert said in ran.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--gpu", "H100", "--top-k", "9"], "flashfit: --top-k '9': must be at most --experts 8"),
        (
            ["--gpu", "H100", "--logits", "odd"],
            "flashfit: --logits 'odd': must be normal, ties, equal, shifted, steep, nan, infinite, hidden or tiny",
        ),
        (
            ["--gpu", "H100", "--tokens", "1000000", "--experts", "512"],
            "flashfit: --tokens '1000000': must be at most 195312 with --experts 512: the emulator takes 100000000 "
            "logits",
        ),
        (["--gpu", "H100", "--schedule", "x"], "flashfit: --schedule 'x': must be round-robin, reversed or random"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], line: str) -> None:
    ran = emulate(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.splitlines()[0] == line
