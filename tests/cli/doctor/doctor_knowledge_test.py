"""`--knowledge`: what the doctor knows of releases is a file that users may replace; one that is wrong is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doctor_command import L40, ROOT, judged, problems, run

BUILT_IN = ROOT / "data/knowledge.json"


@pytest.fixture
def knowledge() -> Any:
    return json.loads(BUILT_IN.read_text())


def write(folder: Path, data: Any) -> Path:
    file = folder / "knowledge.json"
    file.write_text(json.dumps(data))
    return file


def test_a_newer_file_knows_a_newer_torch(tmp_path: Path, knowledge: Any) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("torch==2.16.0\n")
    (problem,) = problems(judged(requirements, *L40)[1]["targets"][0])
    assert problem[1] == "FF755"
    assert f"known on {knowledge['date']}" in problem[3]
    knowledge["torch"]["releases"].append({"version": "2.16.0", "python": [11, 15], "cuda": ["13.2"]})
    assert judged(requirements, *L40, "--knowledge", write(tmp_path, knowledge))[0] == 0


def test_companions_are_those_of_the_file(tmp_path: Path, knowledge: Any) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("torch==2.9.1\ntorchvision==0.23.0\n")
    (problem,) = problems(judged(requirements, *L40)[1]["targets"][0])
    assert problem == (2, "FF406", "misfit", "is built for torch ==2.8.0; the list's is 2.9.1")
    knowledge["companions"] = []
    assert judged(requirements, *L40, "--knowledge", write(tmp_path, knowledge))[0] == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("[" * 100_000, "no JSON object of this kind: nested too deep"),
        ('{"format": 7}', "format: 7; accepted: a number from 0 to 1"),
    ],
)
def test_what_is_no_such_file_is_refused_in_one_line(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "knowledge.json"
    file.write_text(text)
    ran = run("doctor", tmp_path, "--knowledge", file, *L40)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"flashfit: --knowledge {file}: {why}; accepted: a file as data/knowledge.json\n"
