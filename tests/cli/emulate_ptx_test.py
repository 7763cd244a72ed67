"""`flashfit emulate --ptx`: anybody's PTX, as people and scripts run it."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("FLASHFIT_COMMAND", str(ROOT / "build/bin/flashfit"))
TRITON = ROOT / "tests/proof/ptx/triton"

# y[i] = a x[i] + y[i] for i < n, by hand.
AXPY = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry axpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<5>; .reg .b64 %rd<7>;
  ld.param.f32 %f1, [a]; ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.GUARD.s32 %p1, %r5, %r1;
  @%p1 bra $END;
  mul.wide.s32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  ld.global.f32 %f3, [%rd5];
  fma.rn.f32 %f4, %f1, %f2, %f3;
  st.global.f32 [%rd5], %f4;
$END:
  ret;
}
"""


def emulate(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "emulate", *arguments], capture_output=True, text=True, timeout=120, check=False)


def axpy(folder: Path, guard: str = "ge") -> str:
    path = folder / "axpy.ptx"
    path.write_text(AXPY.replace("GUARD", guard))
    return str(path)


def launch(path: str) -> list[str]:
    return ["--ptx", path, "--grid", "2", "--block", "64"]


ARGUMENTS = ["--arg", "2.5", "--arg", "x=in:fp32[100]=3", "--arg", "y=inout:fp32[100]=-1..1", "--arg", "100"]


def test_a_result_that_cannot_be_written_is_no_wrong_use(tmp_path: Path) -> None:
    ran = emulate(*launch(axpy(tmp_path)), *ARGUMENTS, "--save", f"y={tmp_path}/nowhere/y.npy")
    assert ran.returncode == 3
    assert ran.stderr.startswith(f"flashfit: --save '{tmp_path}/nowhere/y.npy': ")
    assert ran.stderr.count("\n") == 1


def test_a_kernel_is_run_and_its_result_written(tmp_path: Path) -> None:
    path = axpy(tmp_path)
    saved = tmp_path / "y.npy"
    ran = emulate(*launch(path), *ARGUMENTS, "--repeat", "3", "--save", f"y={saved}")
    assert (ran.returncode, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert lines[0] == f"ptx       {path}, entry axpy for sm_80"
    assert lines[1] == "launch    2 x 1 x 1 blocks of 64 x 1 x 1 threads, 0 of 232448 B shared memory"
    assert sum(line.startswith("tensor    inout y fp32[100]: ") for line in lines) == 3
    assert lines[-1] == "runs      3, 0 with a finding"
    raw = saved.read_bytes()
    assert raw[:6] == b"\x93NUMPY"
    assert b"'descr': '<f4'" in raw[:128]
    assert b"'shape': (100,)" in raw[:128]
    assert len(raw) == 128 + 400
    values = struct.unpack("<100f", raw[128:])
    assert all(6.5 <= v <= 8.5 for v in values)  # 2.5 * 3 + [-1, 1]
    # What was written is read again, as it is and as plain bytes.
    plain = tmp_path / "y.bin"
    again = emulate(
        *launch(path), "--arg", "0", "--arg", f"in:@{saved}", "--arg", f"y=inout:@{saved}", "--arg", "100",
        "--save", f"y={plain}", "--json",
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert plain.read_bytes() == raw[128:]
    (run,) = json.loads(again.stdout)
    assert run["clean"] is True
    assert run["counts"]["stores"] == 100
    (y,) = run["tensors"]
    assert (y["name"], y["dtype"], y["shape"], y["written"], y["nan"]) == ("y", "fp32", [100], 100, 0)
    assert y["as_the_first_run"] is True
    assert y["least"] == min(values)


def test_a_finding_names_the_instruction(tmp_path: Path) -> None:
    ran = emulate(*launch(axpy(tmp_path, "gt")), *ARGUMENTS)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "axpy.ptx:13: reads 4 bytes at byte 0 past the end of x (read-only, 400 bytes)" in ran.stdout
    as_json = emulate(*launch(axpy(tmp_path, "gt")), *ARGUMENTS, "--json")
    (run,) = json.loads(as_json.stdout)
    assert (as_json.returncode, run["clean"], run["tensors"]) == (1, False, None)


def test_what_depends_on_the_schedule_is_told(tmp_path: Path) -> None:
    # Each warp stores its number where all do.
    path = tmp_path / "last.ptx"
    path.write_text(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry last(.param .u64 y)\n.reqntid 1024\n{\n"
        ".reg .b32 %r<3>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [y]; mov.u32 %r1, %warpid;\n"
        "atom.exch.b32 %r2, [%rd1], %r1; ret;\n}\n"
    )
    ran = emulate("--ptx", str(path), "--arg", "y=inout:u32[1]=0", "--repeat", "8")
    assert ran.returncode == 0, ran.stderr
    assert "not the bytes of the first run" in ran.stdout


def test_a_kernel_of_triton() -> None:
    arguments = ["in:fp16[3,208]", "out=out:fp32[3,208]", "208", "0", "0"]
    ran = emulate(
        "--ptx", str(TRITON / "softmax_80.ptx"), "--grid", "3", "--shared-bytes", "16", "--gpu", "L4", "--json",
        *(word for a in arguments for word in ("--arg", a)),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    (run,) = json.loads(ran.stdout)
    assert run["block"] == [128, 1, 1]
    assert run["shared_memory_limit_bytes"] == 99 * 1024
    assert abs(run["tensors"][0]["mean"] * 208 - 1) < 1e-5


def test_a_struct_by_value(tmp_path: Path) -> None:
    text = AXPY.replace("GUARD", "ge").replace(
        ".param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n", ".param .align 8 .b8 all[32]"
    )
    for name, at in (("a", 0), ("x", 8), ("y", 16), ("n", 24)):
        text = text.replace(f"[{name}]", f"[all+{at}]")
    path = tmp_path / "struct.ptx"
    path.write_text(text)
    ran = emulate(*launch(str(path)), "--arg", "(fp32:2, in:fp32[100]=3, inout:fp32[100]=1, s32:100)", "--json")
    assert ran.returncode == 0, ran.stderr
    (run,) = json.loads(ran.stdout)
    assert (run["tensors"][0]["least"], run["tensors"][0]["most"]) == (7, 7)


WRONG = [
    ([], "--arg is given 0 times, and 'axpy' takes 4 arguments: .f32 a, .u64 x, .u64 y, .u32 n"),
    (["1", "fp99[4]", "0", "1"], "--arg 'fp99[4]': 'fp99' is none of fp16, bf16"),
    (["1", "x", "0", "1"], "--arg 'x': must be a number, TYPE:NUMBER"),
    (["1", "fp32[4", "0", "1"], "--arg 'fp32[4': must be a number"),
    (["1", "fp32[4]=3..1", "0", "1"], "--arg 'fp32[4]=3..1': after TYPE[N,...] come =NUMBER"),
    (["1", "out:fp32[4]=1", "0", "1"], "an 'out' begins with nothing"),
    (["1", "fp32[99999999999]", "0", "1"], "sizes are whole numbers from 0 to 2^32"),
    (["1", "fp32[4294967296,4294967296]", "0", "1"], "more than 1 GiB of tensors"),
    (["1", "0", "0", "1.5"], "--arg '1.5': must be a whole number: '.u32' is declared"),
    (["1", "0", "0", "4294967296"], "--arg '4294967296': does not fit into 4 bytes"),
    (["fp32[4]", "0", "0", "1"], "--arg 'fp32[4]': is 8 bytes, and 'a' is declared .f32 of 4"),
    (["1", "@nowhere.npy", "0", "1"], "--arg '@nowhere.npy': nowhere.npy: No such file"),
    (["1", "in:@/dev/null", "0", "1"], "/dev/null: is no plain file"),
    (["1", "fp32[4]@/dev/zero", "0", "1"], "/dev/zero: is no plain file"),
    (["1", "fp32[268435456]", "fp32[4]", "1"], "more than 1 GiB of tensors"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_arguments_that_are_wrong(tmp_path: Path, arguments: list[str], message: str) -> None:
    ran = emulate(*launch(axpy(tmp_path)), *(word for a in arguments for word in ("--arg", a)))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert message in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_wrong_use_is_one_line(tmp_path: Path) -> None:
    path = axpy(tmp_path)
    large, pipe = tmp_path / "large.ptx", tmp_path / "pipe.ptx"
    large.touch()
    os.truncate(large, (64 << 20) + 1)
    os.mkfifo(pipe)
    for arguments, message in (
        (["--ptx", "nowhere.ptx"], "--ptx 'nowhere.ptx': No such file"),
        (["--ptx", "/dev/zero"], "--ptx '/dev/zero': is no plain file"),
        (["--ptx", pipe], "pipe.ptx': is no plain file"),
        (["--ptx", large], "large.ptx': has more than 67108864 bytes"),
        (["--ptx", path, "--entry", "other"], "--entry 'other': is not there: there are axpy"),
        (["--ptx", path, *ARGUMENTS], "--block: not given, and the entry does not say it"),
        (["--ptx", path, "--block", "0", *ARGUMENTS], "--block '0': must be up to three whole numbers"),
        ([*launch(path), *ARGUMENTS, "--grid", "1,2,3,4"], "--grid"),
        (["--ptx", path, "--block", "2048", *ARGUMENTS], "--block '2048': blocks of 2048 x 1 x 1 threads: 1 to 1024"),
        (["--ptx", path, "--block", "1,1,65", *ARGUMENTS], "--block '1,1,65': blocks of 1 x 1 x 65 threads: "),
        (["--ptx", path, "--block", "64", "--grid", "1,65536", *ARGUMENTS], "--grid '1,65536': a grid of "),
        ([*launch(path), *ARGUMENTS, "--cluster", "3"], "--cluster '3': clusters of 3 blocks, in a grid of 2 along x"),
        (
            [*launch(path), *ARGUMENTS, "--shared-bytes", "300000"],
            "--shared-bytes '300000': 300000 bytes of shared memory, more than the 232448 that the GPU gives a block",
        ),
        ([*launch(path), *ARGUMENTS, "--gpu", "T4"], "--gpu 'T4': T4 (7.5) is older than the file's sm_80"),
        ([*launch(path), *ARGUMENTS, "--save", "z=file"], "--save 'z=file': must be NAME=FILE, of a tensor: x, y"),
        ([*launch(path), *ARGUMENTS, "--causal"], "--causal: is of the table's kernels"),
        (["--arg", "1"], "--arg: needs --ptx"),
    ):
        ran = emulate(*arguments)
        assert (ran.returncode, ran.stdout) == (2, ""), arguments
        assert message in ran.stderr, ran.stderr
        assert ran.stderr.count("\n") == 1, ran.stderr


def test_a_text_that_is_not_known_is_refused_by_its_instruction(tmp_path: Path) -> None:
    path = tmp_path / "odd.ptx"
    path.write_text(AXPY.replace("GUARD", "ge").replace("fma.rn.f32", "frob.f32"))
    ran = emulate(*launch(str(path)), *ARGUMENTS)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "flashfit: odd.ptx:15: frob.f32: this instruction is not known\n"
    path.write_bytes(bytes(range(1, 256)) * 40)
    assert emulate(*launch(str(path)), *ARGUMENTS).stderr.startswith("flashfit: odd.ptx:1: ")
    assert (
        emulate(*launch(axpy(tmp_path)), *ARGUMENTS, "--instructions", "10").stdout.count("has run 10 instructions")
        == 1
    )
