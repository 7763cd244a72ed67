"""When torch.ops.flashfit is registered, and that doing so again, anywhere, does no harm. Each in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import flashfit
import pytest

pytest.importorskip("torch")

PACKAGE = Path(flashfit.__file__).parent


def prints(code: str, *arguments: object) -> list[str]:
    """The lines that a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_flashfit_imports_no_torch_and_torch_ops_registers() -> None:
    code = """
        import sys, flashfit
        print("torch" in sys.modules)
        import flashfit.torch_ops
        import torch
        q = torch.ones(1, 4, 2, 32)
        print(torch.equal(torch.ops.flashfit.attention(q, q, q), q))
    """
    assert prints(code) == ["False", "True"]


@pytest.mark.parametrize("first", ["torch", "flashfit"])
def test_either_may_be_imported_first(first: str) -> None:
    code = """
        import sys
        __import__(sys.argv[1])
        import torch, flashfit
        print(hasattr(torch.ops.flashfit, "attention"))
        q = torch.ones(1, 4, 2, 32)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            print(flashfit.attention(q, q, q).dtype)
    """
    assert prints(code, first) == ["False", "torch.bfloat16"]


def test_reloaded_and_imported_again() -> None:
    code = """
        import gc, importlib, sys, torch
        q = torch.ones(1, 4, 2, 32)
        from flashfit import torch_ops
        importlib.reload(torch_ops)
        torch.ops.flashfit.attention(q, q, q)
        for name in [name for name in sys.modules if name.startswith("flashfit")]:
            del sys.modules[name]
        del torch_ops
        gc.collect()
        from flashfit import torch_ops
        gc.collect()
        print(torch.equal(torch_ops.call(q, q, q), q))
    """
    assert prints(code) == ["True"]


def test_two_copies_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "flashfit_too").symlink_to(PACKAGE)
    code = """
        import sys, torch
        sys.path.append(sys.argv[1])
        q = torch.ones(1, 4, 2, 32)
        import flashfit.torch_ops, flashfit_too.torch_ops
        for each in (flashfit, flashfit_too):
            print(torch.equal(each.torch_ops.call(q, q, q), q))
        print(flashfit.torch_ops.call is flashfit_too.torch_ops.call)
    """
    library = {"FLASHFIT_LIBRARY": str(flashfit._library.library().path)}
    os.environ.update(library)
    try:
        assert prints(code, tmp_path) == ["True", "True", "False"]
    finally:
        del os.environ["FLASHFIT_LIBRARY"]


def test_threads_that_all_come_first(tmp_path: Path) -> None:
    """Several copies, so that the import lock, which is one a module, does not order them."""
    names = [f"flashfit_{i}" for i in range(4)]
    for name in names:
        (tmp_path / name).symlink_to(PACKAGE)
    code = """
        import importlib, sys, threading, torch
        sys.path.append(sys.argv[1])
        sys.setswitchinterval(1e-6)
        q, found = torch.ones(1, 4, 2, 32), []
        together = threading.Barrier(len(sys.argv) - 2)
        def work(name):
            together.wait()
            ops = importlib.import_module(name + ".torch_ops")
            found.append(torch.equal(torch.ops.flashfit.attention_lse(q, q, q)[0], q))
        threads = [threading.Thread(target=work, args=(name,)) for name in sys.argv[2:]]
        for each in threads: each.start()
        for each in threads: each.join()
        print(found)
    """
    assert prints(code, tmp_path, *names) == ["[True, True, True, True]"]
