"""`flashfit emulate moe.experts`: what it runs and says, on kernels that are right and on kernels that are not."""

from __future__ import annotations

import pytest

from tests.cli.emulating import Emulate

INPUTS = ["normal", "shifted", "scaled", "rising", "nan-tokens", "nan-expert", "nan-of-no-choice"]
CHOICES = ["random", "same", "repeated", "skewed", "foreign"]
ACTIVATIONS = ["swiglu", "geglu_tanh", "geglu_erf", "silu", "relu2"]
OF_MMA = "experts_mma_bf16_"
SMALL = ("--hidden", "64", "--intermediate", "40")
emulate = Emulate("moe.experts")


@pytest.mark.parametrize(
    "arguments",
    [["--inputs", name] for name in INPUTS]
    + [["--choices", name] for name in CHOICES]
    + [["--activation", name] for name in ACTIVATIONS]
    + [
        ["--alpha", "1.702", "--limit", "0.5", "--shift", "1", "--gate-up", "interleaved", "--b13", "--b2"],
        ["--transposed", "--weight-on", "input"],
        ["--experts-low", "2", "--experts-high", "5", "--schedule", "reversed"],
    ],
    ids=" ".join,
)
def test_every_kind_of_layer_is_computed_right(arguments: list[str]) -> None:
    (run,) = emulate.runs("--gpu", "H100", "--tokens", "20", *SMALL, *arguments)
    assert run["clean"] is True
    assert run["finding"] is None
    assert run["gpu"] == "H100"
    assert run["variant"].startswith(OF_MMA)
    assert run["counts"]["mma"] > 0
    assert run["grid"] == run["counts"]["blocks"]


#: The names of the variants' shapes: two warpgroups multiply, or three.
OF_TWO, OF_THREE = "144x256x64_w1x8_s4_b1", "192x192x64_w1x12_s4_b1"


@pytest.mark.parametrize(
    ("shape", "layout", "form"),
    [
        (OF_TWO, [], ""),
        (OF_TWO, ["--transposed", "--gate-up", "interleaved"], "_t"),
        (OF_TWO, ["--keeping"], "_z"),
        (OF_THREE, [], ""),
        (OF_THREE, ["--gate-up", "interleaved", "--b13", "--b2"], ""),
        (OF_THREE, ["--transposed", "--gate-up", "interleaved"], "_t"),
    ],
)
def test_the_variants_over_wgmma_run_too(shape: str, layout: list[str], form: str) -> None:
    name = f"experts_wgmma_bf16_{shape}{form}"
    (run,) = emulate.runs("--gpu", "H100", "--tokens", "20", *SMALL, *layout, "--variant", name)
    assert (run["variant"], run["clean"]) == (name, True)
    assert run["threads"] == (512 if shape == OF_THREE else 384)
    assert run["counts"]["wgmma"] > 0


def test_the_variant_is_the_one_that_explain_names() -> None:
    asked = ["--gpu", "H100", "--experts", "4", "--tokens", "33", *SMALL]
    said = emulate.explained(*asked)
    ran = emulate.runs(*asked, "--repeat", "2", "--seed", "5")
    assert [run["seed"] for run in ran] == [5, 6]
    if said["fits"]:  # else this build carries no images, and any variant of the table is run
        assert {run["variant"] for run in ran} == {said["variant"]}
        assert {run["grid"] for run in ran} == {sum(launch["grid"] for launch in said["launches"])}


def test_people_are_told_what_ran() -> None:
    problem = "bf16 experts, 2 of 8, hidden 64, intermediate 40, 9 tokens"
    emulate.expect_words(problem, "--gpu", "H100", "--tokens", "9", *SMALL)


def test_without_tokens_nothing_is_launched() -> None:
    emulate.expect_no_launch()


@pytest.mark.parametrize(
    ("dtype", "said"),
    [("fp16", "defective: block (0,0,0) warp 0 lane 0: reads past"), ("bf16", "(random, seed 1): wrong numbers: ")],
)
def test_a_defective_kernel_is_a_finding(dtype: str, said: str) -> None:
    emulate.expect_finding(said, "--dtype", dtype)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--top-k 9", "--top-k '9': must be at most --experts 8, as --choices random are distinct"),
        ("--choices odd", "--choices 'odd': must be random, same, repeated, skewed or foreign"),
        ("--alpha 0", "--alpha '0': must be a number from -1e+30 to 1e+30, and not 0"),
        ("--limit nan", "--limit 'nan': must be a number from 0 to 1e+30"),
        ("--limit 1e-46", "--limit '1e-46': must be a number from 0 to 1e+30 in fp32"),
        ("--alpha 1e-300", "--alpha '1e-300': must be a number from -1e+30 to 1e+30, and not 0 in fp32"),
        ("--experts-low 6 --experts-high 5", "--experts-low '6': must be less than --experts-high 5"),
        (
            "--gate-up interleaved --activation silu",
            "--gate-up 'interleaved': must be concatenated with --activation silu, which has no gate",
        ),
        ("--limit 2 --activation silu", "--activation 'silu': must be swiglu with --alpha, --limit or --shift"),
        (
            "--tokens 1000000",
            "--tokens '1000000': must be at most 13563 with --top-k 2 --hidden 128 --intermediate 96: the emulator "
            "takes 1000000000 products",
        ),
        (
            "--experts 512 --hidden 2048",
            "--hidden '2048': must be less with --experts 512 --intermediate 96: the emulator takes 50000000 weights, "
            "these are 301989888",
        ),
        (
            "--hidden 129",
            "--gpu 'H100': bf16 experts, 2 of 8, hidden 129, intermediate 96: on a GPU hidden and intermediate are "
            "multiples of 8",
        ),
    ],
)
def test_wrong_use_is_one_line(arguments: str, line: str) -> None:
    emulate.expect_refusal(line, *arguments.split())
