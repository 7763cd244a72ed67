"""libflashfit.so on machines and in processes unlike others: each case is a process of odd_process.c."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.loading import places

NO_GPU, CUDA, MISFIT = "3", "4", "2"
# Growth that is the allocator's, not a leak: a leak of 24 bytes a call would be 2100 KB.
FLAT_KB = 1024


def status_and_message(**environment: str) -> tuple[str, str]:
    status, _, message = places.odd_process("gpu", **environment).partition(" ")
    return status, message


def grown_kb(*arguments: str, **environment: str) -> int:
    words = places.odd_process(*arguments, **environment).split()
    assert words[0] == "grew"
    return int(words[1])


@pytest.mark.parametrize("flags", ["local", "lazy-global", "global-deepbind"])
@pytest.mark.parametrize("bind_now", ["", "1"])
def test_opens_with_any_flags(flags: str, bind_now: str) -> None:
    assert places.odd_process("open", flags, LD_BIND_NOW=bind_now) == "right"


def test_the_fake_gpu_works() -> None:
    assert status_and_message(**places.driver("whole"))[0] == "0"


def test_no_driver(tmp_path: Path) -> None:
    status, message = status_and_message(LD_LIBRARY_PATH=str(tmp_path))
    assert status == NO_GPU
    assert message.startswith("no NVIDIA driver: dlopen: libcuda.so.1: ")


def test_old_driver() -> None:
    status, message = status_and_message(**places.driver("old", FAKE_CUDA_VERSION="11080"))
    assert status == MISFIT
    assert "11.8" in message


def test_stub_of_the_toolkit() -> None:
    status, message = status_and_message(**places.driver("whole", FAKE_CUDA_FAIL="cuInit:34"))
    assert status == NO_GPU
    assert "is the CUDA toolkit's link-time stub, not a driver" in message


@pytest.mark.parametrize("visible", [None, "", "-1"])
def test_container_without_gpus(visible: str | None) -> None:
    hidden = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    status, message = status_and_message(**places.driver("whole", FAKE_CUDA_GPUS=""), **hidden)
    assert status == NO_GPU
    assert "shows this process no GPU" in message
    assert ("CUDA_VISIBLE_DEVICES" in message) == (visible is not None)


@pytest.mark.parametrize("kind", ["text", "empty", "other-machine", "folder"])
def test_damaged_driver(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "libcuda.so.1"
    if kind == "folder":
        path.mkdir()
    else:
        whole = (places.FAKES / "whole" / "libcuda.so.1").read_bytes()
        path.write_bytes(
            {"text": b"not a library\n", "empty": b"", "other-machine": whole[:18] + b"\x28" + whole[19:]}[kind]
        )
    status, message = status_and_message(LD_LIBRARY_PATH=str(tmp_path))
    assert status == NO_GPU
    assert message.startswith("no NVIDIA driver: dlopen: ")
    assert "\n" not in message


@pytest.mark.parametrize("parent", ["cpu", "gpu"])
def test_fork(parent: str) -> None:
    status, _, message = places.odd_process("fork", parent, **places.driver("whole")).partition(" ")
    if parent == "cpu":
        assert status == "0"
    else:
        assert status == CUDA
        assert "this process was forked from one that had used CUDA" in message


def test_small_stack() -> None:
    assert places.odd_process("stack", str(64 * 1024), **places.driver("whole")) == "right"


def test_three_copies_in_one_process(tmp_path: Path) -> None:
    copy = shutil.copy(places.LIBRARY, tmp_path / "another.so")
    assert places.odd_process("copies", str(copy), **places.driver("whole")) == "right"


def test_closed_and_opened_again_is_flat() -> None:
    assert grown_kb("reload", "1000") < FLAT_KB


def test_closed_while_threads_call() -> None:
    assert places.odd_process("close-under-threads") == ""


@pytest.mark.parametrize("attempt", range(5))
def test_exit_while_threads_call(attempt: int) -> None:
    assert places.odd_process("exit", **places.driver("whole")) == ""


@pytest.mark.parametrize("where", ["cpu", "gpu"])
def test_many_calls_are_flat(where: str) -> None:
    assert grown_kb(f"many-{where}", "100000", **places.driver("whole")) < FLAT_KB


def test_a_whole_life() -> None:
    assert places.odd_process("life", **places.driver("whole")) == "right"
