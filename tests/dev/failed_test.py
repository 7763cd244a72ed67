"""What is said of failed tests at the end of a run: from files as ctest and pytest write them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.dev import failed

CTEST = """<testsuite><testcase name="Plan.Fits  # GetParam() = 1" classname="Plan.Fits" status="fail" time="0.1">
<failure message="Failed"/><system-out>[ RUN ] Plan.Fits
plan_test.cpp:7: Failure
Expected 1, got 2</system-out></testcase>
<testcase name="Plan.Other" classname="Plan.Other" status="run"><system-out>fine</system-out></testcase></testsuite>"""
PYTEST = """<testsuites><testsuite>
<testcase classname="tests.a_test" name="test_a"><failure message="assert 1 == 2">def test_a():
E   assert 1 == 2</failure></testcase>
<testcase classname="tests.a_test" name="test_b"><error message="none">E   fixture 'x' not found</error></testcase>
<testcase classname="tests.a_test" name="test_c"><skipped message="no network"/></testcase>
<testcase classname="tests.a_test" name="test_d"/></testsuite></testsuites>"""


def test_names_and_last_lines_of_those_that_failed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.xml").write_text(CTEST)
    (tmp_path / "p.xml").write_text(PYTEST)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["failed.py", "c.xml", "none.xml", "p.xml"])
    failed.main()
    assert capsys.readouterr().out.splitlines() == [
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
