"""`flashfit emulate moe.route`: what it runs and says, on kernels that are right and on kernels that are not."""

from __future__ import annotations

import pytest

from tests.cli.emulating import Emulate

LOGITS = ["normal", "ties", "equal", "shifted", "steep", "nan", "infinite", "hidden"]


emulate = Emulate("moe.route")


@pytest.mark.parametrize("logits", LOGITS)
def test_every_kind_of_logits_is_routed_right(logits: str) -> None:
    (run,) = emulate.runs("--gpu", "H100", "--experts", "60", "--top-k", "4", "--dtype", "bf16", "--logits", logits)
    assert run["clean"] is True
    assert run["finding"] is None
    assert run["gpu"] == "H100"
    assert run["variant"].startswith("route_warp_bf16_e128")
    assert run["grid"] > 0
    assert run["counts"]["shuffles"] > 0


def test_the_variant_is_the_one_that_explain_names() -> None:
    asked = ["--gpu", "H100", "--experts", "128", "--top-k", "8", "--tokens", "33"]
    said = emulate.explained(*asked)
    ran = emulate.runs(*asked, "--repeat", "3", "--seed", "5")
    assert [run["seed"] for run in ran] == [5, 6, 7]
    if said["fits"]:  # else this build carries no images, and any variant of the table is run
        assert {run["variant"] for run in ran} == {said["variant"]}
        assert {run["grid"] for run in ran} == {said["grid"]}


def test_people_are_told_what_ran() -> None:
    emulate.expect_words("fp32 routing to 2 of 8 experts, 9 tokens", "--gpu", "H100", "--tokens", "9", "--renormalize")


def test_without_tokens_nothing_is_launched() -> None:
    emulate.expect_no_launch()


@pytest.mark.parametrize(
    ("experts", "said"),
    [("128", "defective: block (0,0,0) warp 0 lane 0: reads past"), ("512", "(random, seed 1): wrong numbers: ")],
)
def test_a_defective_kernel_is_a_finding(experts: str, said: str) -> None:
    emulate.expect_finding(said, "--experts", experts)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--top-k 9", "--top-k '9': must be at most --experts 8"),
        ("--logits odd", "--logits 'odd': must be normal, ties, equal, shifted, steep, nan, infinite, hidden or tiny"),
        (
            "--tokens 1000000 --experts 512",
            "--tokens '1000000': must be at most 195312 with --experts 512: the emulator takes 100000000 logits",
        ),
        ("--schedule x", "--schedule 'x': must be round-robin, reversed or random"),
    ],
)
def test_wrong_use_is_one_line(arguments: str, line: str) -> None:
    emulate.expect_refusal(line, *arguments.split())
