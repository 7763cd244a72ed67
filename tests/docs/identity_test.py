"""What says who this project is agrees with itself, and nothing tells people to install a name that it does not own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flashfit import __version__

from tests.layers_test import read_tree

ROOT = Path(__file__).resolve().parents[2]
#: pip with the bare name: a file such as dist/flashfit-*.whl is ours.
BY_NAME = re.compile(r"(pip|pipx|uv add|uv tool)[\w ]* install[\w =-]* ['\"]?flashfit(?![\w*./-])")


def test_versions_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == __version__  # type: ignore[index]
    project = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert re.findall(r"^project\(flashfit VERSION (\S+)", project, re.MULTILINE) == [__version__]
    changes = re.findall(r"^## (\S+?),? ?(not released yet)?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [version for version, not_yet in changes if not not_yet]
    assert released[0] == __version__
    as_numbers = [tuple(map(int, version.split("."))) for version, _ in changes]
    assert as_numbers == sorted(as_numbers, reverse=True)


def test_nothing_installs_the_bare_name() -> None:
    kinds = (".md", ".py", ".yml", ".toml", ".sh", ".cff", "Dockerfile")
    tree = {path: text for path, text in read_tree().items() if path.endswith(kinds)}
    tree.pop("tests/docs/identity_test.py", None)
    assert len(tree) > 100
    assert [path for path, text in tree.items() if BY_NAME.search(text)] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- run: pip install flashfit\n", True),
        ("`pip install 'flashfit[torch]'`", True),
        ("python -m pip install --upgrade flashfit", True),
        ("pip install dist/flashfit-*.whl", False),
        ("pip install flashfit-0.3.0-py3-none-any.whl", False),
        ("pip uninstall flashfit-thing", False),
    ],
)
def test_the_bare_name_is_seen(text: str, told: bool) -> None:
    assert bool(BY_NAME.search(text)) is told
