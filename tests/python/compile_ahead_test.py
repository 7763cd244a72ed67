"""Processes that are started before they are asked for."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tools.gpu.compile_ahead import compilers, count

ECHO = [sys.executable, "-c", "import sys; print('READY', flush=True); print(sys.stdin.readline().strip(), flush=True)"]


def test_they_run_before_they_are_asked_for_and_none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUACK_COMPILE_WORKERS", "2")
    started: list[Any] = []

    class Counting(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Counting)
    options: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with compilers(ECHO):
        assert len(started) == 2
        ahead = list(started)
        for kernel in ("first", "second"):
            mine: list[Any] = [subprocess.Popen(ECHO, **options) for _ in range(2)]
            assert mine == ahead
            ahead = started[-2:]
            for process in mine:
                assert process.stdout.readline() == b"READY\n"
                assert process.communicate(f"{kernel}\n".encode())[0] == f"{kernel}\n".encode()
        assert subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True, check=True).stdout == b"7\n"
    assert subprocess.Popen is Counting
    assert all(process.poll() is not None for process in started)
    assert len(started) == 2 + 4 + 1


def test_as_many_as_quack_would_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUACK_COMPILE_WORKERS", raising=False)
    assert 1 <= count() <= 16
    monkeypatch.setenv("QUACK_COMPILE_WORKERS", "3")
    assert count() == 3
