"""`flashfit emulate` of attention as people and scripts use it: exit status, stdout, stderr, JSON."""

from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.emulating import COMMAND, DEFECTIVE, Emulate

SMALL = ["--seqlen", "70", "--heads", "2"]
KEYS = {
    "gpu",
    "compute_capability",
    "variant",
    "target",
    "grid",
    "threads",
    "shared_memory_bytes",
    "shared_memory_limit_bytes",
    "schedule",
    "seed",
    "numerics",
    "clean",
    "finding",
    "error",
    "error_bound",
    "lse_error",
    "lse_error_bound",
    "flop",
    "seconds",
    "emulated_gflops",
    "counts",
    "worst_bank_conflicts",
}


emulate = Emulate()


OPTIONS = ("--window-left", "20", "--softcap", "15", "--alibi", "--sinks", "--batch-invariant")


def test_options() -> None:
    dense = emulate.runs("--gpu", "A100", *SMALL, "--causal", *OPTIONS, "--bias", "bool", "--seqused-k", "40")
    assert dense[0]["clean"] is True
    ragged = emulate.runs("--gpu", "A100", "--heads", "2", "--seqlens", "5,30", *OPTIONS, "--seqused-k", "5,0")
    assert ragged[0]["clean"] is True
    values = emulate.runs("--gpu", "A100", *SMALL, "--head-dim-v", "40")
    assert values[0]["clean"] is True


def test_a_bias_lies_as_the_plan_of_explain_has_it() -> None:
    """In rows of which two elements are loaded at once, as those of the variants over wgmma are."""
    asked = ("--gpu", "H100", "--bias", "fp32", "--head-dim", "128", "--seqlen-q", "1", "--seqlen-k", "200")
    forced = ("--heads", "2", "--variant", "fwd_wgmma_fp16_d128_128x128_w8_s2_b1_bias")
    (run,) = emulate.runs(*asked, *forced)
    assert run["variant"] == forced[-1]
    assert emulate(*asked).stdout.splitlines()[0].endswith(", full, fp32 bias")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--bias", "bool", "--seqlens", "5,6"), "--bias 'bool': goes with sequences of one length"),
        (("--seqused-k", "5,6"), "--seqused-k '5,6': must have 1 lengths, one a sequence"),
        (("--seqlen", "5", "--seqused-k", "6"), "--seqused-k '6': must be at most the keys of each: 6 is past 5"),
    ],
)
def test_options_that_contradict(arguments: tuple[str, ...], message: str) -> None:
    ran = emulate("--gpu", "L4", *arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"flashfit: {message}")


def test_lengths_of_sequences_are_said_to_be_means() -> None:
    said = emulate("--gpu", "L4", "--heads", "2", "--seqlens", "5,30").stdout
    assert "18 queries x 18 keys, full, variable length (means)" in said


def test_words_of_a_run() -> None:
    ran = emulate(
        "--gpu", "L4", "--head-dim", "128", "--seqlen", "300", "--causal", "--schedule", "random", "--seed", "7"
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert lines[0] == "problem   fp16, head_dim 128, batch 1, 8 heads, 300 queries x 300 keys, causal"
    assert lines[1] == "gpu       L4 (8.9)"
    assert lines[2].startswith("variant   fwd_mma_fp16_d128_")
    assert lines[-1] == "finding   none"
    for words in (
        "random schedule, seed 7, fp32 sums",
        " mma",
        " ldmatrix",
        " barriers",
        " global bytes read",
        " shared bytes written",
        "no conflicts",
        "GFLOP/s emulated",
        "(against fp64)",
    ):
        assert words in ran.stdout, words
    assert "\r" not in ran.stdout, "no progress where nobody looks"


def test_the_variant_is_what_explain_says() -> None:
    problem = ["--gpu", "A100", "--head-dim", "64", *SMALL, "--causal"]
    said = subprocess.run(
        [COMMAND, "explain", *problem, "--json"], capture_output=True, text=True, timeout=60, check=False
    )
    (explained,) = json.loads(said.stdout)
    (run,) = emulate.runs(*problem)
    if "(0 images in all)" in (explained["reason"] or ""):  # a build without kernels for GPUs: any row of the table
        assert (run["target"], run["variant"][:17]) == ("8.0", "fwd_mma_fp16_d64_")
        assert "this build carries no images" in emulate(*problem).stdout
        return
    for key in ("variant", "target", "threads", "grid", "shared_memory_bytes", "shared_memory_limit_bytes"):
        assert run[key] == explained[key], key


def test_counts_follow_from_the_problem() -> None:
    (one,) = emulate.runs("--gpu", "8.0", "--head-dim", "64", "--seqlen", "64", "--heads", "1")
    (two,) = emulate.runs("--gpu", "8.0", "--head-dim", "64", "--seqlen", "64", "--heads", "2")
    assert set(one) == KEYS
    for name, count in one["counts"].items():
        if name != "switches":
            assert two["counts"][name] == 2 * count, name
    assert one["counts"]["mma"] > 0
    assert one["flop"] == 4 * 64 * 64 * 64
    # Q, K and V of 64 rows are read once by the one block, O and LSE written.
    assert one["counts"]["global_bytes_read"] == 3 * 64 * 64 * 2
    assert one["counts"]["global_bytes_written"] == 64 * 64 * 2 + 64 * 4


def test_a_seed_repeats_its_run_and_none_changes_the_result() -> None:
    first, second = emulate.runs("--gpu", "H100", *SMALL, "--seed", "5", "--repeat", "2")
    (again,) = emulate.runs("--gpu", "H100", *SMALL, "--seed", "5")
    assert (first["seed"], second["seed"]) == (5, 6)
    assert again["counts"] == first["counts"]
    assert (second["error"], second["lse_error"]) == (first["error"], first["lse_error"])


def test_numerics_are_told_apart() -> None:
    (plain,) = emulate.runs("--gpu", "H100", *SMALL)
    (exact,) = emulate.runs("--gpu", "H100", *SMALL, "--numerics", "tensor-core")
    assert (plain["numerics"], exact["numerics"]) == ("fp32", "tensor-core")
    assert plain["lse_error"] != exact["lse_error"]


def test_every_gpu_of_the_table() -> None:
    ran = emulate("--gpu", "all", "--head-dim", "32", "--seqlen", "33", "--heads", "1", "--json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert {"T4", "L4", "H200"} <= {run["gpu"] for run in found}
    assert all(run["clean"] and run["shared_memory_bytes"] <= run["shared_memory_limit_bytes"] for run in found)


@pytest.mark.parametrize("seed", ["2", "3", "4"])
def test_a_sink_alone_may_be_rounded(seed: str) -> None:
    """A row without keys has its sink as LSE, which kernels have in units of log2 meanwhile."""
    (run,) = emulate.runs("--gpu", "L4", "--seqlen", "4", "--seqlen-k", "0", "--sinks", "--data-seed", seed)
    assert 0 < run["lse_error"] <= run["lse_error_bound"]


@settings(max_examples=25, deadline=None)
@given(
    gpu=st.sampled_from(["T4", "A100", "8.6", "l4", "NVIDIA H200", "RTX 5090", "Thor"]),
    head_dim=st.sampled_from([32, 64, 128]),
    lengths=st.lists(st.tuples(st.integers(0, 140), st.integers(0, 140)), min_size=1, max_size=4),
    ragged=st.booleans(),
    heads=st.sampled_from([(1, 1), (2, 1), (6, 2)]),
    causal=st.booleans(),
    layout=st.sampled_from(["bshd", "bhsd", "padded", "packed", "mixed", "head_stride_0"]),
    schedule=st.sampled_from(["round-robin", "reversed", "random"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_sound_problem_is_clean(
    gpu: str,
    head_dim: int,
    lengths: list[tuple[int, int]],
    ragged: bool,
    heads: tuple[int, int],
    causal: bool,
    layout: str,
    schedule: str,
    seed: int,
) -> None:
    shape = (
        ["--seqlens", ",".join(str(q) for q, _ in lengths), "--seqlens-k", ",".join(str(k) for _, k in lengths)]
        if ragged
        else ["--seqlen", str(lengths[0][0]), "--seqlen-k", str(lengths[0][1]), "--batch", str(len(lengths))]
    )
    (run,) = emulate.runs(
        *("--gpu", gpu, "--head-dim", str(head_dim), "--heads", str(heads[0]), "--kv-heads", str(heads[1])),
        *shape,
        *(["--causal"] if causal else []),
        *("--layout", layout, "--schedule", schedule, "--seed", str(seed)),
    )
    assert run["clean"]
    assert run["finding"] is None
    assert run["error"] <= run["error_bound"]
    assert run["lse_error"] <= run["lse_error_bound"]


WRONG = [
    (["--gpu", "L5"], "--gpu 'L5': not known"),
    (["--gpu", "V100"], "--gpu 'V100': "),
    (["--gpu", "T4", "--dtype", "bf16"], "--gpu 'T4': "),
    (["--gpu", "L4", "--dtype", "fp32"], "--gpu 'L4': "),
    (["--gpu", "L4", "--dtype", "fp17"], "--dtype 'fp17': must be fp16, bf16 or fp32"),
    (["--gpu", "L4", "--head-dim", "513"], "--gpu 'L4': "),
    (["--gpu", "L4", "--variant", "nonsense"], "--variant 'nonsense' is no variant of the table"),
    (["--gpu", "L4", "--schedule", "fair"], "--schedule 'fair': must be round-robin, reversed or random"),
    (["--gpu", "L4", "--numerics", "fp64"], "--numerics 'fp64': must be fp32 or tensor-core"),
    (["--gpu", "L4", "--layout", "sbhd"], "--layout 'sbhd': must be bshd, "),
    (["--gpu", "L4", "--seed", "-1"], "--seed '-1': must be a whole number from 0"),
    (["--gpu", "L4", "--repeat", "0"], "--repeat '0': must be a whole number from 1"),
    (["--gpu", "L4", "--seqlens", "5,,6"], "--seqlens '5,,6': must be lengths from 0"),
    (["--gpu", "L4", "--seqlens", "5,-6"], "--seqlens '5,-6': must be lengths from 0"),
    (["--gpu", "L4", "--seqlens", "5,6", "--seqlens-k", "7"], "--seqlens-k '7': must have 2 lengths"),
    (["--gpu", "L4", "--seqlens-k", "7"], "--seqlens-k '7': needs --seqlens"),
    (["--gpu", "L4", "--seqlens", "5,6", "--batch", "2"], "--batch '2': is what --seqlens says"),
    (["--gpu", "L4", "--softmax-scale", "-1"], "--softmax-scale '-1': must be above 0"),
    (["--gpu", "L4", "--softmax-scale", "0"], "--softmax-scale '0': must be above 0 in fp32, and at most 1e30"),
    (["--gpu", "L4", "--softmax-scale", "1e-60"], "--softmax-scale '1e-60': must be above 0"),
    (["--gpu", "L4", "--softmax-scale", "nan"], "--softmax-scale 'nan': must be above 0"),
    (["--gpu", "L4", "--seqlen", "1000000", "--heads", "64"], "the emulator takes at most"),
    (["--gpu", "all", "--dtype", "fp32"], "--gpu 'all': no GPU of the table fits"),
    (["--gpu", "L4", "--tile", "64x64"], "'--tile' is not known here; see flashfit emulate --help"),
    (["--gpu", "L4", "--seqlens", ""], "--seqlens: is empty; a value is needed"),
    (["--ptx", ""], "--ptx: is empty; a value is needed"),
    (["--causal", "moe.experts", "--gpu", "L4"], "--causal: goes behind moe.experts"),
    (["--gpu", "L4", "--seqlens", "5,5", "--seqlen", "7"], "--seqlen excludes --seqlens"),
    (["--gpu", "L4", "--seqlen-k", "7", "--seqlens", "5,5"], "--seqlen-k excludes --seqlens"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_wrong_use_is_one_line(arguments: list[str], message: str) -> None:
    ran = emulate(*arguments, "--json")
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("flashfit: ")
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("head_dim", "finding"),
    [
        ("32", "reads past the end of k"),
        ("64", "wrong numbers: the result: lse of sequence 0, row 0, head 0, dim 0 is nan"),
        ("128", "wrong numbers: the result: "),
    ],
)
def test_a_finding_is_told_and_is_status_1(head_dim: str, finding: str) -> None:
    arguments = [DEFECTIVE, "emulate", "--gpu", "L4", "--head-dim", head_dim, *SMALL, "--repeat", "2", "--seed", "9"]
    said = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert (said.returncode, said.stderr) == (1, "")
    assert said.stdout.count(finding) == 2
    assert said.stdout.splitlines()[-1] == "runs      2, 2 with a finding"
    as_json = subprocess.run([*arguments, "--json"], capture_output=True, text=True, timeout=60, check=False)
    found = json.loads(as_json.stdout)
    assert as_json.returncode == 1
    assert [run["clean"] for run in found] == [False, False]
    assert all(finding in run["finding"] and set(run) == KEYS for run in found)


def test_help_has_an_example() -> None:
    ran = emulate("--help")
    assert ran.returncode == 0
    assert "flashfit emulate --gpu L4 --head-dim 128 --seqlen 300 --causal --schedule random --seed 7" in ran.stdout
