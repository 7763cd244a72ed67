"""What is said of failed, skipped and slow tests at the end of a run: from files as ctest and pytest write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.dev import junit

CTEST = """<testsuite><testcase name="Plan.Fits  # GetParam() = 1" classname="Plan.Fits" status="fail" time="0.1">
<failure message="Failed"/><system-out>[ RUN ] Plan.Fits
plan_test.cpp:7: Failure
Expected 1, got 2</system-out></testcase>
<testcase name="Plan.Other" classname="Plan.Other" status="run" time="7.5"><system-out>fine</system-out></testcase>
<testcase name="Gpu.Runs" classname="Gpu.Runs" time="0" status="notrun">
<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>a_test.cpp:12: Skipped
no GPU here

[  SKIPPED ] Gpu.Runs (0 ms)</system-out></testcase>
<testcase name="example.memory" classname="example.memory" time="0" status="notrun">
<skipped message="SKIP_RETURN_CODE=77"/></testcase></testsuite>"""
PYTEST = """<testsuites><testsuite>
<testcase classname="tests.a_test" name="test_a"><failure message="assert 1 == 2">def test_a():
E   assert 1 == 2</failure></testcase>
<testcase classname="tests.a_test" name="test_b"><error message="none">E   fixture 'x' not found</error></testcase>
<testcase classname="tests.a_test" name="test_c"><skipped message="no GPU here"/></testcase>
<testcase classname="tests.a_test" name="test_d"/></testsuite></testsuites>"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Of ctest, of pytest, and one that is not there."""
    (tmp_path / "c.xml").write_text(CTEST)
    (tmp_path / "p.xml").write_text(PYTEST)
    monkeypatch.chdir(tmp_path)
    return [Path("c.xml"), Path("none.xml"), Path("p.xml")]


def test_names_and_last_lines_of_those_that_failed_alone(files: list[Path]) -> None:
    assert [line for file in files for line in junit.failures(file)] == [
        "failed: Plan.Fits Plan.Fits  (c.xml)",
        "    [ RUN ] Plan.Fits",
        "    plan_test.cpp:7: Failure",
        "    Expected 1, got 2",
        "failed: tests.a_test test_a  (p.xml)",
        "    def test_a():",
        "    E   assert 1 == 2",
        "failed: tests.a_test test_b  (p.xml)",
        "    E   fixture 'x' not found",
    ]


def test_skips_are_counted_by_reason(files: list[Path]) -> None:
    assert junit.skips(files) == [(2, "no GPU here"), (1, "the test says that it cannot run here")]


def test_the_slowest_come_first(files: list[Path]) -> None:
    assert list(junit.slowest(files[0], shown=2)) == ["    7.5 s  Plan.Other", "    0.1 s  Plan.Fits"]
