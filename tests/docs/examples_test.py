"""What docs/quick-start.md, docs/choose.md and README.md show runs, and prints what they say.

The build is build/, or what FLASHFIT_BUILD names.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FLASHFIT_BUILD", ROOT / "build"))
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/quick-start.md")}
CHOOSE = (ROOT / "docs/choose.md").read_text(encoding="utf-8")


def python_of(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run(*command: str | Path, **more: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{ROOT}", **more}
    done = subprocess.run(
        [*map(str, command)], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_python_runs(page: str) -> None:
    blocks = [b for b in python_of(PAGES[page]) if importlib.util.find_spec("torch") or "import torch" not in b]
    said = run(sys.executable, "-c", "\n".join(blocks))
    if page == "docs/quick-start.md":
        assert said == "k: shape is (2, 512, 2, 32); accepted: head_dim 64, as q\n"


def test_python_of_choose_runs() -> None:
    (block,) = python_of(CHOOSE)
    assert "machine code 8.9 runs on 8.9" in run(sys.executable, "-c", block)


def test_the_c_program_is_the_example_and_prints_what_the_page_says(tmp_path: Path) -> None:
    page = PAGES["docs/quick-start.md"]
    (program,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    assert program == (ROOT / "examples/hello.c").read_text(encoding="utf-8").partition("\n")[2]
    (command,) = re.findall(r"^    (cc .*) -o hello && ./hello$", page, re.MULTILINE)
    run("bash", "-c", f"{command.replace('build/lib', str(BUILD / 'lib'))} -o {tmp_path / 'hello'}")
    (said,) = re.findall(r"prints `(.*?)`", page)
    assert run(tmp_path / "hello") == f"{said}\n"


def test_the_command_prints_what_the_page_says() -> None:
    (session,) = re.findall(r"```console\n\$ flashfit (.*?)\n(.*?)```", CHOOSE, re.DOTALL)
    assert run(BUILD / "bin/flashfit", *session[0].split()) == session[1]


def test_commands_of_the_pages_are_known() -> None:
    text = "".join(PAGES.values()) + CHOOSE
    verbs = set(re.findall(r"^(?:    |\$ )flashfit ([a-z]+)", text, re.MULTILINE))
    assert len(verbs) > 5
    for verb in verbs:
        assert verb in run(BUILD / "bin/flashfit", verb, "--help"), verb
