"""The examples of docs/use-it-in.md run, and say what flashfit took. One whose host is not installed is skipped."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/use_it_in"
PAGE = (ROOT / "docs/use-it-in.md").read_text(encoding="utf-8")
#: Example -> the packages that it imports beside flashfit, and the host whose log it prints.
EXAMPLES = {
    "sdpa.py": (("torch",), "sdpa"),
    "transformers_model.py": (("torch", "transformers"), "transformers"),
    "diffusers_model.py": (("torch", "diffusers"), "diffusers"),
    "xformers_call.py": (("torch", "xformers"), "xformers"),
    "sageattention_call.py": (("torch",), "sageattention"),
    "seedvr_program.py": (("torch",), "seedvr"),
    "flash_attn_by_name.sh": (("torch",), ""),
}


def test_every_example_is_known_and_named_by_the_page() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_file()} == set(EXAMPLES)
    for name in EXAMPLES:
        assert f"examples/use_it_in/{name}" in PAGE


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name: str) -> None:
    packages, host = EXAMPLES[name]
    for package in packages:
        if not importlib.util.find_spec(package):
            pytest.skip(f"no {package}")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}", "PYTHON": sys.executable}
    command = [sys.executable, str(FOLDER / name)] if name.endswith(".py") else ["bash", str(FOLDER / name)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    if host:
        assert re.search(rf"^{host}: took: .* \(\d+ calls?\)$", done.stdout, re.MULTILINE)
        assert f"{host}: left" not in done.stdout
    else:
        assert "(1, 16, 4, 64)" in done.stdout
        assert "was removed from" in done.stdout


def test_python_of_the_page_runs() -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        compile(block, "docs/use-it-in.md", "exec")
