"""`flashfit doctor --error` as people and scripts use it, with wheels of tests/doctor/made/make.cpp beside the error.

What is read out of texts is tried in tests/doctor/pasted; here are the ways in, the answer's shape, and the walk from
an error to the command that mends it.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.doctor_command import APEX, NEW_ABI, NEW_TORCH, OLD_ABI, OLD_ABI_310, PLACE, ROOT
from tests.doctor_command import run as command

CASES = ROOT / "tests/doctor/pasted/cases"
# No environment is active: what the text and the files say is tried alone. doctor_kinds_test.py has environments.
ALONE = {"VIRTUAL_ENV": "", "CONDA_PREFIX": "", "LD_LIBRARY_PATH": "", "PATH": "/nowhere"}


def run(*words: str | Path, text: str | None = None, cwd: Path | None = None) -> Any:
    return command(*words, text=text, cwd=cwd, env=ALONE)


def pasted(case: str) -> str:
    return (CASES / f"{case}.txt").read_text().split("---\n", 1)[1]


def asked(case: str, *words: str | Path, cwd: Path | None = None) -> tuple[int, list[str]]:
    ran = run("doctor", "--error", "-", *words, text=pasted(case), cwd=cwd)
    assert ran.stderr == ""
    return ran.returncode, ran.stdout.splitlines()


def test_origin_1_the_culprit_is_named_and_flash_attn_is_cleared(made: Path) -> None:
    status, lines = asked("origin_1_seedvr2", NEW_ABI, APEX, *PLACE, cwd=made)
    assert status == 1
    assert lines[0] == "FF810: a library has no code for the GPU"
    (culprit,) = [x for x in lines if x.startswith("culprit: ")]
    assert culprit.startswith(f"culprit: {APEX}: fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so: FF101 ")
    assert f"cleared: {NEW_ABI}: nothing in it makes this error" in lines
    assert [x for x in lines if x.startswith("red herring: ")] == [
        "red herring: line 15: x = torch.cat([vid, txt], dim=0)",
        "red herring: line 26: KeyError: 'modulation'",
    ]
    assert "       the GPU is the one that the text names" in lines
    assert any(x.startswith("look for: ") for x in lines)


def test_files_with_the_same_fault_are_one_line(made: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(made / APEX) as wheel:
        (library,) = [x for x in wheel.namelist() if x.endswith(".so")]
        for number in range(5):
            (tmp_path / f"part{number}.so").write_bytes(wheel.read(library))
    status, lines = asked("origin_1_seedvr2", tmp_path, *PLACE)
    assert status == 1
    (culprit,) = [x for x in lines if x.startswith("culprit: ")]
    assert ": part0.so, part1.so, part2.so and 2 more: FF101 " in culprit
    assert not any("more: flashfit doctor" in x for x in lines)


@pytest.mark.parametrize(
    ("asked_for", "mend", "said"),
    [
        # The newest build that is not for a newer CUDA than the one asked for.
        ("2.6.0+cu128", "--torch-backend=cu126 torch==2.6.0+cu126 (with", "PyTorch has no build cu128 of 2.6; it has"),
        ("2.7.0+cu121", "--torch-backend=cu118 torch==2.7.0+cu118 (with", "PyTorch has no build cu121 of 2.7; it has"),
        ("2.9.9", "try: pip install torch==2.9.1 (with", "PyTorch has no such release; the last 2.9 is 2.9.1"),
        ("2.9.1", "try: pip install torch==2.9.1 (with", ""),
        ("2.6.0+cu124", "--torch-backend=cu124 torch==2.6.0+cu124 (with", ""),
    ],
)
def test_no_pytorch_is_named_that_does_not_exist(asked_for: str, mend: str, said: str) -> None:
    text = f"ERROR: No matching distribution found for torch=={asked_for}\n"
    ran = run("doctor", "--error", "-", text=text)
    (line,) = [x for x in ran.stdout.splitlines() if x.startswith("try: ")]
    assert mend in line
    assert said in ran.stdout


def test_origin_1_without_files_asks_for_them() -> None:
    status, lines = asked("origin_1_seedvr2", *PLACE)
    assert status == 2
    assert not [x for x in lines if x.startswith(("culprit", "cleared", "try", "look for"))]
    assert (
        "to find the cause: flashfit doctor --error FILE --env /workspace/venv/lib/python3.10/site-packages "
        "--driver VERSION"
    ) not in lines, "the text names the driver"
    assert "to find the cause: flashfit doctor --error FILE --env /workspace/venv/lib/python3.10/site-packages" in lines


def test_origin_1_with_files_that_fit_alone_does_not_guess(made: Path) -> None:
    status, lines = asked("origin_1_seedvr2", NEW_ABI, *PLACE, cwd=made)
    assert status == 2
    assert "none of what was given explains it" in lines
    assert not [x for x in lines if x.startswith(("culprit", "try"))]


def test_origin_2_is_told_and_mended_by_the_name_in_the_log() -> None:
    status, lines = asked("origin_2_wheel_for_another_python", *PLACE)
    assert status == 1
    assert any("FF201 cp310 is not your cp311; the platform fits" in x for x in lines)
    assert any(x.startswith("look for: cp311-cp311") for x in lines)
    assert any(x.startswith("files: next in line waits FF210: named for torch 2.7 and the old C++ ABI") for x in lines)
    # No GPU is needed to install a wheel.
    assert (
        "try: pip install setuptools wheel packaging ninja psutil && pip install --no-build-isolation --no-cache-dir "
        "--no-binary flash-attn flash-attn==2.8.3" in lines
    )


def test_origin_2_with_the_wheel_at_hand_says_the_same_of_its_files(made: Path) -> None:
    status, lines = asked("origin_2_wheel_for_another_python", OLD_ABI_310, *PLACE, cwd=made)
    assert status == 1
    (culprit,) = [x for x in lines if x.startswith("culprit: ")]
    assert culprit.endswith("FF201 cp310 is not your cp311; the platform fits")
    (following,) = [x for x in lines if x.startswith("files: ")]
    assert following.startswith("files: next in line waits FF401: needs the old C++ ABI (pre-cxx11)")
    assert any(x.startswith("look for: cp311-cp311") for x in lines)
    assert any(x.startswith("try: ") and x.endswith(" flash-attn==2.8.3") for x in lines)


def test_origin_2_goes_on_to_the_abi(made: Path) -> None:
    status, lines = asked("origin_2_next_the_abi", OLD_ABI, "--torch", NEW_TORCH, *PLACE, cwd=made)
    assert status == 1
    assert any(x.startswith(f"culprit: {OLD_ABI}: ") and " FF401 " in x for x in lines)


def test_origin_3_names_the_limit_of_the_gpu_and_of_every_gpu() -> None:
    status, lines = asked("origin_3_shared_memory", "--gpu", "L4", *PLACE)
    assert status == 1
    assert any("L4 (8.9): 99 KB a block by opting in; 160 KB do not fit" in x for x in lines)
    opt_in = "dynamic shared memory instead of static, with cudaFuncAttributeMaxDynamicSharedMemorySize"
    assert (
        f"try: a smaller tile or fewer stages: 48 KB at most as static shared memory; 99 KB at most as {opt_in}"
        in lines
    )
    # An H100's block may have them.
    assert f"try: {opt_in} set to 163840" in asked("origin_3_shared_memory", "--gpu", "H100", *PLACE)[1]
    assert any(
        x.startswith("try: a smaller tile or fewer stages (BLOCK_M") for x in asked("origin_3_shared_memory", *PLACE)[1]
    )


def test_origin_4_is_no_error() -> None:
    status, lines = asked("origin_4_slow_is_no_error", *PLACE)
    assert status == 2
    assert lines[0] == "unknown: no error of a known kind is in the text, which neither blames nor clears anything"


def test_origin_4_what_was_held_impossible_fits_by_opt_in() -> None:
    status, lines = asked("origin_4_fits_by_opt_in", "--gpu", "L4", *PLACE)
    assert status == 1
    assert any(x.endswith("cudaFuncAttributeMaxDynamicSharedMemorySize set to 58112") for x in lines)


def test_an_unknown_text_shows_the_misfits_beside_it_and_clears_nobody(made: Path) -> None:
    status, lines = asked("none_key_error", NEW_ABI, APEX, *PLACE, "--gpu", "L40", cwd=made)
    assert status == 2
    assert lines[0].startswith("unknown: ")
    (culprit,) = [x for x in lines if x.startswith("culprit: ")]
    assert culprit.startswith(f"culprit: {APEX}: ")
    assert " FF101 " in culprit
    assert "these are misfits in any case; whether one makes this error is not known" in lines
    assert not [x for x in lines if x.startswith(("cleared", "silent"))]
    status, lines = asked("none_key_error", NEW_ABI, *PLACE, "--gpu", "L40", cwd=made)
    assert status == 2
    assert "nothing of what was given is a misfit by the rules for files" in lines
    assert any(x.startswith("to find the cause: flashfit doctor --error FILE") for x in lines)


def test_an_unknown_text_may_hold_its_own_answer() -> None:
    status, lines = asked("none_named_gpu", *PLACE)
    assert status == 2
    assert any(x.startswith("the text names: torch 2.8.0+cu128 carries nothing for GTX 1080 Ti (6.1): ") for x in lines)
    assert any(x.startswith("try: ") and "+cu126" in x for x in lines)
    answer = json.loads(
        run("doctor", "--error", "-", "--json", *PLACE, text=pasted("none_named_gpu")).stdout,
    )
    assert answer["error"] is None
    assert answer["named"]["torch"] == "2.8.0+cu128"
    assert any("carries nothing for GTX 1080 Ti" in line for line in answer["concluded"])


def test_what_is_no_misfit_says_so() -> None:
    status, lines = asked("out_of_memory", *PLACE)
    assert (status, lines[0]) == (1, "FF822: the GPU's memory is full (no misfit)")
    status, lines = asked("none_key_error", *PLACE)
    assert status == 2
    assert lines[1:3] == ["  line 5: KeyError: 'scale'", "  raised by Python code, cache.py:88, in get: see there"]
    status, lines = asked("nccl_alone", *PLACE)
    assert status == 2
    assert lines[0] == "FF829: communication between GPUs (out of scope)"


@pytest.mark.parametrize("carried", [["118", "126", "130"], ["118", "131"], ["118"]])
def test_the_file_that_a_package_picks_by_cuda_is_found_beside_it(
    tmp_path: Path, made: Path, carried: list[str]
) -> None:
    package = tmp_path / "bitsandbytes"
    package.mkdir()
    library = (made / APEX).read_bytes()  # any library does
    with zipfile.ZipFile(io.BytesIO(library)) as wheel:
        content = wheel.read("fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so")
    for cuda in carried:
        (package / f"libbitsandbytes_cuda{cuda}.so").write_bytes(content)
    status, lines = asked("kind_12_file_by_cuda_version", tmp_path, "--gpu", "H100", *PLACE)
    assert status == 1
    assert f"files: carried: libbitsandbytes_cuda {', '.join(carried)}" in lines
    assert ("try: export BNB_CUDA_VERSION=130" in lines) == ("130" in carried)


def test_a_file_a_text_and_standard_input_say_the_same(tmp_path: Path) -> None:
    text = pasted("kind_14_driver_too_old")
    file = tmp_path / "my log.txt"
    file.write_text(text)
    ways: list[tuple[str | Path, str | None]] = [(file, None), (text, None), ("-", text)]
    answers = [run("doctor", "--error", given, *PLACE, text=piped) for given, piped in ways]
    assert [a.returncode for a in answers] == [1, 1, 1]
    assert len({a.stdout for a in answers}) == 1


def test_a_name_without_a_file_is_a_text_if_that_is_an_error() -> None:
    ran = run("doctor", "--error", "logs/build.log", *PLACE)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == (
        "flashfit: --error 'logs/build.log': no file has that name, and as a text it is no known error\n"
    )
    ran = run("doctor", "--error", "at/cudaErrorNoKernelImageForDevice", *PLACE)
    assert ran.returncode == 2
    assert "       no file has that name: it was taken as the text itself\n" in ran.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--error", " \n"], "--error ' \\x0a': is empty; the traceback or the log is needed"),
        (["--error", "."], "--error '.': must be a text, a file with one, or - for standard input"),
        (["--error", "x", "--gpu", "L40X"], "gpu 'L40X': not known"),
        (["--error", ""], "--error '': is empty; the traceback or the log is needed"),
        (["--error", "x", "--env", "nowhere"], "--env 'nowhere': no such folder"),
        (["--error", "x", "y.whl", "--probe"], "--probe: goes with an environment, not with targets"),
        (["--error", "x", "y.whl", "--root", "/tmp"], "--root: goes with an environment, not with targets"),
        (["--error", "x", "--root", "/no/root"], "--root '/no/root': must be a folder that holds a root file system"),
    ],
)
def test_wrong_use_is_one_line(words: list[str], message: str) -> None:
    ran = run("doctor", *words)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_json_has_what_the_page_lists(made: Path) -> None:
    ran = run("doctor", "--error", "-", "--json", NEW_ABI, APEX, *PLACE, text=pasted("origin_1_seedvr2"), cwd=made)
    answer = json.loads(ran.stdout)
    assert ran.returncode == 1
    assert answer["schema"] == 1
    assert answer["cause_found"] is True
    assert (answer["error"]["class"], answer["error"]["code"], answer["error"]["line"]) == (
        "no-kernel-image",
        "FF810",
        16,
    )
    assert [h["line"] for h in answer["red_herrings"]] == [15, 26]
    assert [c["target"] for c in answer["culprits"]] == [APEX]
    assert answer["cleared"] == [NEW_ABI]
    assert answer["named"]["gpu"] == "L40"
    page = (ROOT / "docs/errors.md").read_text()
    keys = page.split("## JSON")[1].split("## What it cannot know")[0]
    assert [k for k in answer if k != "schema" and f"`{k}`" not in keys] == []
    empty = json.loads(run("doctor", "--error", "KeyError", "--json", *PLACE).stdout)
    assert empty["error"] is None
    assert empty["cause_found"] is False


def test_a_log_without_end_is_read_from_its_end(tmp_path: Path) -> None:
    log = tmp_path / "long.log"
    with log.open("w") as file:
        for _ in range(40):
            file.write("step 1 of many, loss 0.1234\n" * 40_000)
        file.write("OSError: /x/_C.so: invalid ELF header\n")
    ran = run("doctor", "--error", log, *PLACE)
    assert ran.stdout.startswith("FF839")
    assert "were not read: the text is too long" in ran.stdout


def test_the_first_page_links_to_pages_that_are_there() -> None:
    page = (ROOT / "docs/doctor/README.md").read_text()
    links = re.findall(r"\]\(([^)#]+)\)", page)
    assert len(links) > 20
    assert [x for x in links if not (ROOT / "docs/doctor" / x).exists()] == []


def test_a_text_that_powershell_wrote_is_read(tmp_path: Path) -> None:
    """`python x.py > error.txt` makes UTF-16 with a mark there, and Windows speaks the user's language."""
    words = "ImportError: DLL load failed while importing exllamav2_ext: 找不到指定的程序。\r\n"
    for encoding in ("utf-16", "utf-16-be", "utf-8-sig"):
        mark = "\ufeff" if encoding == "utf-16-be" else ""
        (tmp_path / "error.txt").write_bytes((mark + words).encode(encoding))
        lines = run("doctor", "--error", tmp_path / "error.txt").stdout.splitlines()
        assert lines[0] == "FF830: a DLL lacks a function that another one asks for", encoding
        assert lines[1] == "  line 1: " + words.rstrip(), encoding


def test_what_is_no_text_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(bytes(range(256)) * 20)
    ran = run("doctor", "--error", tmp_path / "picture.png")
    assert ran.returncode == 2
    assert "looks like no text" in ran.stdout
    assert "looks like no text" not in run("doctor", "--error", "-", text="KeyError: 'x'\n").stdout


def test_an_error_named_as_a_list_is_told_where_it_belongs(tmp_path: Path) -> None:
    path = tmp_path / "error.txt"
    path.write_text("ImportError: /x/a.so: undefined symbol: _ZN2at4_ops3fooE\n")
    for name in ("error.txt", "build.log"):
        path = path.rename(tmp_path / name)
        ran = run("doctor", path)
        assert ran.returncode == 2
        assert f"{path} reads like an error: flashfit doctor --error {path} says what it means" in ran.stdout
    (tmp_path / "requirements.txt").write_text("torch == = 2\n")
    assert "reads like an error" not in run("doctor", tmp_path / "requirements.txt").stdout
