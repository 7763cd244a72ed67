"""Runs Python with the fake driver of tests/fake_cuda as libcuda.so.1: a GPU whose kernels compute nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAKES = ROOT / "build" / "tests" / "fake_cuda"


def with_fake_driver(code: str, kind: str = "whole", **environment: str) -> subprocess.CompletedProcess[str]:
    """`code` in a process of its own; FAKE_CUDA_... in `environment` says what the fake pretends."""
    if not (FAKES / kind / "libcuda.so.1").exists():
        raise FileNotFoundError(f"{FAKES / kind}/libcuda.so.1 is missing: ./dev build --tests makes it")
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}:{ROOT}", "LD_LIBRARY_PATH": str(FAKES / kind), **environment}
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
