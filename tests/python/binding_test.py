"""The two ways from Python to the C API, the compiled module and ctypes, are one to the caller."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import flashfit
import numpy as np
import pytest
from flashfit import _binding
from flashfit._binding import UNREADABLE, binding
from flashfit._frames import frames_attend
from flashfit._tensors import Memory

ROOT = Path(__file__).resolve().parents[2]
Q = np.random.default_rng(1).standard_normal((2, 3, 4, 8)).astype(np.float16)
K = np.random.default_rng(2).standard_normal((2, 5, 2, 8)).astype(np.float16)

needs_module = pytest.mark.skipif(
    sys.version_info < (3, 10), reason="the limited API of this Python has no METH_FASTCALL"
)


def memory(x: Any) -> Memory:
    strides = tuple(s // x.itemsize for s in x.strides)
    code, bits = (0, 32) if x.dtype == np.int32 else (2, 8 * x.itemsize)
    return Memory(x.ctypes.data, 1, 0, code, bits, x.shape, strides)


def module() -> Any:
    """_flashfit_native."""
    return binding().native


def ways() -> list[Any]:
    """attend() of each."""
    native = binding().native
    return [pytest.param(frames_attend, id="ctypes")] + ([pytest.param(native.attend, id="native")] if native else [])


@needs_module
def test_the_compiled_module_is_used() -> None:
    if os.environ.get("FLASHFIT_PYTHON_BINDING") != "ctypes":
        assert binding().name == "native"


@pytest.mark.parametrize(
    ("version", "flags", "ending"),
    [
        ((3, 9), "", None),
        ((3, 10), "", ".abi3.so"),
        ((3, 15), "d", ".abi3.so"),
        ((3, 13), "t", None),
        ((3, 14), "td", None),
        ((3, 15), "t", ".abi3t.so"),
    ],
)
def test_each_python_loads_the_file_for_its_objects(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: tuple[int, int], flags: str, ending: str | None
) -> None:
    """Loading by a file's path does not ask whether the file is for such a Python: another one's would crash."""
    loaded: list[Path] = []
    monkeypatch.setattr(_binding, "compiled_module", loaded.append)
    for name in ("abi3", "abi3t"):
        (tmp_path / f"_flashfit_native.{name}.so").touch()
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    monkeypatch.setattr(sys, "abiflags", flags, raising=False)
    _binding._find_module(tmp_path / "libflashfit.so")
    assert loaded == ([tmp_path / f"_flashfit_native{ending}"] if ending else [])


@pytest.mark.parametrize("attend", ways())
@pytest.mark.parametrize("heads_first", [False, True])
def test_both_compute_the_same(attend: Any, heads_first: bool) -> None:
    out, lse = np.zeros_like(Q), np.zeros((2, 4, 3), np.float32)
    views = [x.swapaxes(1, 2) if heads_first else x for x in (Q, K, K, out)]
    assert attend(*map(memory, views), memory(lse), None, None, 1, 0.5, 0, None, heads_first) == 0
    expected, expected_lse = flashfit.attention(Q, K, K, causal=True, softmax_scale=0.5, return_lse=True)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(lse, expected_lse)


@pytest.mark.parametrize("attend", ways())
def test_offsets_reach_the_c_api(attend: Any) -> None:
    q, k, out = Q.reshape(6, 4, 8), K.reshape(10, 2, 8), np.zeros((6, 4, 8), np.float16)
    cu_q, cu_k = np.array([0, 1, 6], np.int32), np.array([0, 4, 10], np.int32)
    assert attend(*map(memory, (q, k, k, out)), None, memory(cu_q), memory(cu_k), 0, 0.0, 0, None, False) == 0
    np.testing.assert_array_equal(out, flashfit.attention(q, k, k, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k))


@pytest.mark.parametrize("attend", ways())
def test_what_the_c_api_refuses_comes_back_as_a_status(attend: Any) -> None:
    five = memory(K)._replace(shape=(1, 2, 5, 2, 8), strides=(80, 80, 16, 8, 1))
    out = np.full_like(Q, 7)
    for k in (memory(K)._replace(shape=(2, 5, 3, 8)), memory(K)._replace(device_type=9), five):
        assert attend(memory(Q), k, k, memory(out), None, None, None, 0, 0.0, 0, None, False) == 1
    assert (out == 7).all()


@pytest.mark.parametrize("attend", ways())
def test_what_cannot_be_read_is_left_to_the_caller(attend: Any) -> None:
    for odd in (Q, 3, "q", object()):
        assert attend(odd, memory(K), memory(K), memory(Q), None, None, None, 0, 0.0, 0, None, False) == UNREADABLE


@needs_module
@pytest.mark.parametrize(
    "wrong",
    [
        (),
        (None,) * 11,
        (None,) * 7 + ("flags", 0.0, 0, None, False),
        (None,) * 7 + (0, "scale", 0, None, False),
        (None,) * 7 + (0, 0.0, "stream", None, False),
        (None,) * 7 + (0, 0.0, 0, "variant", False),
    ],
)
def test_wrong_use_of_the_module_raises(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        module().attend(*wrong)


@needs_module
@pytest.mark.parametrize(
    "tensor",
    [
        (),
        (0, 1, 0, 2, 16, (2, 3, 4, 8)),
        ("data", 1, 0, 2, 16, (2, 3, 4, 8), (96, 32, 8, 1)),
        (0, 1, 0, 2, 16, [2, 3, 4, 8], (96, 32, 8, 1)),
        (0, 1, 0, 2, 16, (2, 3, 4, 8), (96, 32, 8)),
        (0, 1, 0, 2, 16, (2, 3, 4, 2**70), (96, 32, 8, 1)),
        (0, 1, 0, 2, 16, (2, 3, None, 8), (96, 32, 8, 1)),
    ],
)
def test_malformed_tuples_are_unreadable(tensor: Any) -> None:
    k = memory(K)
    assert module().attend(tensor, k, k, k, None, None, None, 0, 0.0, 0, None, False) == UNREADABLE


def in_fresh_python(code: str, **environment: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().splitlines()[-1]


def test_ctypes_can_be_asked_for() -> None:
    code = (
        "import numpy as np, flashfit; from flashfit._binding import binding; "
        "x = np.ones((1, 4, 2, 8), 'f4'); print(binding().name, (flashfit.attention(x, x, x) == 1).all())"
    )
    assert in_fresh_python(code, FLASHFIT_PYTHON_BINDING="ctypes") == "ctypes True"


def test_another_binding_is_refused() -> None:
    words = in_fresh_python("from flashfit._binding import binding; binding()", FLASHFIT_PYTHON_BINDING="cffi")
    assert words.endswith("FLASHFIT_PYTHON_BINDING: 'cffi'; accepted: native, ctypes, or unset")
