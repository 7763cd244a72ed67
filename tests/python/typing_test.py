"""The package's types as an installed user's mypy sees them, and that every public name says what it takes."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import flashfit
import pytest
from flashfit import flash_attn

USER = Path(__file__).with_name("typing_user.txt")
# assert_type joined typing in 3.11.
STRICT = ["--strict", "--warn-unused-ignores", "--python-version", "3.11", "--config-file", os.devnull]


def verdict(program: Path, installed: Path) -> str:
    """What mypy --strict says of a program whose flashfit is found as an installed package: by py.typed."""
    env = {**os.environ, "MYPYPATH": str(program.parent / "stubs"), "PYTHONPATH": str(installed)}
    command = [sys.executable, "-m", "mypy", *STRICT, "--cache-dir", str(installed / "cache"), str(program)]
    return subprocess.run(command, env=env, cwd=program.parent, capture_output=True, text=True, check=False).stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package alone in a folder of its own, with a torch that has Tensor: mypy sees no other torch."""
    folder = tmp_path_factory.mktemp("installed")
    package = Path(flashfit.__file__).parent
    shutil.copytree(package, folder / "flashfit", ignore=shutil.ignore_patterns("__pycache__", "*.so*"))
    return folder


@pytest.fixture
def program(tmp_path: Path) -> Path:
    stubs = tmp_path / "stubs" / "torch"
    stubs.mkdir(parents=True)
    (stubs / "__init__.pyi").write_text("class Tensor: ...\n")
    return Path(shutil.copy(USER, tmp_path / "user.py"))


def test_a_users_program(program: Path, installed: Path) -> None:
    pytest.importorskip("mypy")
    assert verdict(program, installed) == "Success: no issues found in 1 source file\n"


def test_the_check_sees_what_is_wrong(program: Path, installed: Path) -> None:
    pytest.importorskip("mypy")
    text = program.read_text()
    program.write_text(text.replace("return_lse=True, out=q), tuple[Array, Array])", "return_lse=True, out=q), Array)"))
    said = verdict(program, installed)
    assert "[assert-type]" in said
    assert said.rstrip().endswith("Found 1 error in 1 file (checked 1 source file)")


# What a docstring has to speak of, beside itself.
MENTIONS = {
    "doctor": ["gpu", "Raises InvalidArgument"],
    "attention": ["[batch, ", "fp16", "bf16", "fp32", "Raises", "InvalidArgument"],
    "explain": ["head_dim", "dtype", "Returns"],
    "images": ["bytes"],
    "gpus": ["driver"],
    "moe_route": ["[tokens, experts]", "fp16", "bf16", "fp32", "int32", "Returns", "Raises", "InvalidArgument"],
    "fused_moe": ["[tokens, hidden]", "fp16", "bf16", "fp32", "int32", "Returns", "Raises", "InvalidArgument"],
    "fused_moe_explain": ["fused_moe()", "Returns", "Raises", "InvalidArgument"],
    "Swiglu": ["alpha", "limit", "shift", "fused_moe()"],
    "grouped_mlp": ["[rows, hidden]", "fp16", "bf16", "fp32", "int32", "Returns", "Raises", "InvalidArgument"],
    "moe_route_explain": ["moe_route()", "Returns", "Raises", "InvalidArgument"],
    "flash_attn_func": ["[batch, ", "fp16", "fp32", "Returns", "Raises"],
    "flash_attn_varlen_func": ["[total_q, ", "int32", "fp16", "fp32", "Returns", "Raises"],
    "flash_attn_with_kvcache": ["[batch, ", "fp16", "Raises"],
    "unpad_input": ["[batch, ", "int32", "Returns", "Raises"],
    "unpad_input_for_concatenated_sequences": ["[batch, ", "int32", "Returns", "Raises"],
    "pad_input": ["[batch, ", "int64", "Returns", "Raises"],
    "index_first_axis": ["[rows, ", "int64", "Returns", "Raises"],
    "index_put_first_axis": ["[n, ", "int64", "Returns", "Raises"],
}
PACKED = ["dtypes", "errors", "head_dim]"]

PUBLIC: dict[str, Any] = {
    **{name: getattr(flashfit, name) for name in flashfit.__all__ if not name.startswith("__")},
    **{name: getattr(flash_attn, name) for name in flash_attn.__all__},
}


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings(name: str) -> None:
    said = PUBLIC[name].__doc__
    assert said
    if isinstance(PUBLIC[name], type) and issubclass(PUBLIC[name], Exception):
        assert issubclass(PUBLIC[name], flashfit.FlashfitError)
        assert said != flashfit.FlashfitError.__doc__ or PUBLIC[name] is flashfit.FlashfitError
        return
    for word in MENTIONS.get(name, PACKED):
        assert word in said, f"{name} does not mention {word}"


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_typed_and_told_of(name: str) -> None:
    if isinstance(PUBLIC[name], type):
        return
    signature = inspect.signature(PUBLIC[name])
    assert signature.return_annotation is not signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not parameter.empty
        if name in MENTIONS and name != "flash_attn_with_kvcache":
            assert parameter.name in PUBLIC[name].__doc__, f"{name} does not mention {parameter.name}"
