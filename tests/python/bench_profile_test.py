"""`--profile` of the Python harness: what the command counts, and what it says where nothing can be counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from flashfit import FlashfitError, InvalidArgument
from flashfit.bench import profile, session
from flashfit.bench.results import ResultFile

from tests.python.bench_parts import case, on_a_gpu

COUNTS = {"by": "ncu 2025.3.1.0", "ncu": {"dram__bytes.sum": {"value": 2.5, "unit": "byte"}}}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A command that writes what `answer` holds as its result file's cases, and its words into `asked`."""
    script = tmp_path / "flashfit"
    script.write_text(
        f"""#!/bin/sh
echo "$*" >>{tmp_path}/asked
[ -e {tmp_path}/refusal ] && {{ cat {tmp_path}/refusal >&2; exit 2; }}
for file; do :; done
cp {tmp_path}/answer "$file"
"""
    )
    script.chmod(0o700)
    monkeypatch.setattr(profile, "command", lambda: script)
    (tmp_path / "answer").write_text(json.dumps({"cases": [{"correct": True, "profile": COUNTS}]}))
    return tmp_path


def test_each_right_case_is_counted_once(made: Path) -> None:
    one, other = case("origin/a b"), case("edges/c", timed=False)
    how = on_a_gpu()
    how.profile = profile.Profiler("cuda", one)
    result = ResultFile(None, "x", {"gpu": {}}, {})
    assert session.run([one, other], how, result, None)
    assert [entry["profile"] for entry in result.cases] == [COUNTS, COUNTS]
    asked = (made / "asked").read_text().splitlines()
    assert len(asked) == 2
    assert asked[0].startswith("bench --device gpu --profile --case origin/a b --warmup 0 --repeats 1 ")


def test_where_nothing_can_be_counted_the_run_does_not_begin(made: Path) -> None:
    (made / "refusal").write_text("flashfit: --profile needs Nsight Compute: no ncu in the PATH\n")
    with pytest.raises(FlashfitError, match=r"^--profile needs Nsight Compute: no ncu in the PATH$"):
        profile.Profiler("cuda", case("a"))
    with pytest.raises(InvalidArgument, match="profile: counts what a GPU does"):
        profile.Profiler("cpu", case("a"))


def test_a_case_that_fails_says_why(made: Path) -> None:
    answers: list[tuple[dict[str, Any], str]] = [
        ({"correct": False, "message": "misfit: no window"}, "misfit: no window"),
        ({"correct": True, "profile": {"message": "ncu counted nothing"}}, "ncu counted nothing"),
    ]
    for answer, message in answers:
        (made / "answer").write_text(json.dumps({"cases": [answer]}))
        assert profile.counted(case("a")) == {"message": message}
    counts = profile.Profiler("cuda", case("a"))
    (made / "refusal").write_text("flashfit: the GPU is lost\n")
    assert counts(case("b")) == {"message": "the GPU is lost"}
