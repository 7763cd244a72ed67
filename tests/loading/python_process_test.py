"""The Python package in processes unlike others: forks, subinterpreters, interpreters side by side, 10^5 calls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.loading import places

# As in odd_process_test.py; Python's own arenas come on top.
FLAT_KB = 2048

ONE_CALL = """
import flashfit, numpy as np
x = np.ones((2, 256, 8, 64), "float32")  # enough for several threads
assert abs(flashfit.attention(x, x, x) - 1).max() < 1e-3
"""

MANY_CALLS = """
import os, flashfit
{prepare}
def resident_kb():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024
def calls(count):
    for _ in range(count):
        flashfit.attention(x, x, x, return_lse=True)
        {refused}
calls(10_000)
before = resident_kb()
calls(90_000)
print(resident_kb() - before)
"""
REFUSED = """try:
            flashfit.attention(x, x, y)
        except ValueError:
            pass"""

# What an interpreter without NumPy can ask, a call on the fake GPU included; prints nothing where all is right.
WITHOUT_NUMPY = """
import flashfit
from flashfit._binding import binding
class OnGpu:
    def __init__(self, address):
        self.__cuda_array_interface__ = dict(shape=(1, 64, 2, 64), typestr="<f2", data=(address, False), version=3)
x, out = OnGpu(0x7f0000000000), OnGpu(0x7f0001000000)
for _ in range(100):
    assert flashfit.attention(x, x, x, out=out) is out
assert binding().name in ("native", "ctypes")
assert flashfit.explain("L4", batch=1, seqlen_q=512, seqlen_k=512, heads_q=8, heads_kv=8, head_dim=64, dtype="fp16")
flashfit.gpus()
try:
    flashfit.attention(None, None, None)
except TypeError as error:
    assert str(error).startswith("q: "), error
"""


def test_many_numpy_calls_are_flat() -> None:
    prepare = 'import numpy as np\nx = np.ones((1, 4, 1, 64), "float32"); y = np.ones((1, 4, 1, 32), "float32")'
    assert int(places.python(MANY_CALLS.format(prepare=prepare, refused="pass"))) < FLAT_KB
    assert int(places.python(MANY_CALLS.format(prepare=prepare, refused=REFUSED))) < FLAT_KB


def test_many_torch_calls_are_flat() -> None:
    pytest.importorskip("torch")
    prepare = "import torch\nx = torch.ones(1, 4, 1, 64); y = torch.ones(1, 4, 1, 32)"
    assert int(places.python(MANY_CALLS.format(prepare=prepare, refused=REFUSED))) < FLAT_KB


@pytest.mark.parametrize("parent_calls", [False, True])
def test_a_fork_computes(parent_calls: bool) -> None:
    code = f"""
import os
call = {ONE_CALL!r}
if {parent_calls}:
    exec(call)
else:
    import flashfit, numpy
child = os.fork()
if child == 0:
    try:
        exec(call)
    except BaseException:
        os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
exec(call)
"""
    assert places.python(code) == ""


def test_pools_of_processes_compute() -> None:
    code = f"""
import multiprocessing, warnings
warnings.simplefilter("ignore")
exec({ONE_CALL!r})
with multiprocessing.get_context("fork").Pool(4) as pool:
    pool.map(exec, [{ONE_CALL!r}] * 16)
"""
    assert places.python(code) == ""


def test_exit_while_threads_call() -> None:
    code = f"""
import threading, time
exec({ONE_CALL!r})
def forever():
    while True:
        flashfit.attention(x, x, x)
for _ in range(4):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.05)
"""
    for _ in range(3):
        assert places.python(code) == ""


def newer_pythons() -> list[str]:
    """Interpreters on this machine that have subinterpreters with a lock of their own (3.12 and later)."""
    found = []
    for path in [*sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3")), Path(sys.executable)]:
        version = subprocess.run(
            [path, "-c", "import sys; print(sys.version_info >= (3, 12))"], capture_output=True, text=True, check=True
        )
        if version.stdout.strip() == "True":
            found.append(str(path))
    return found


SUBINTERPRETERS = f"""
import sys, threading
try:
    import _interpreters as interpreters
    make = lambda: interpreters.create()
except ImportError:
    import _xxsubinterpreters as interpreters
    make = lambda: interpreters.create(isolated=False)
code = {WITHOUT_NUMPY!r}
exec(code)
failed = []
def one():
    mine = make()
    try:
        for _ in range(3):
            said = (interpreters.exec if hasattr(interpreters, "exec") else interpreters.run_string)(mine, code)
            if said is not None:
                failed.append(str(said))
    except Exception as error:
        failed.append(repr(error))
    interpreters.destroy(mine)
threads = [threading.Thread(target=one) for _ in range(2)]
[t.start() for t in threads]
[t.join() for t in threads]
exec(code)
print(failed[0] if failed else "right")
"""


@pytest.mark.skipif(not newer_pythons(), reason="no Python 3.12 or later on this machine")
def test_two_subinterpreters_at_once() -> None:
    for interpreter in newer_pythons():
        assert places.python(SUBINTERPRETERS, interpreter, **places.driver("whole")) == "right", interpreter


def test_two_environments_at_once(tmp_path: Path) -> None:
    processes = []
    for name in ("one", "two"):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / name], check=True)
        environment = {
            **os.environ,
            "PYTHONPATH": str(places.ROOT / "python"),
            "FLASHFIT_LIBRARY": str(places.LIBRARY),
            **places.driver("whole"),
        }
        processes.append(
            subprocess.Popen(
                [tmp_path / name / "bin" / "python", "-c", WITHOUT_NUMPY * 20],
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
