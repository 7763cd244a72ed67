"""What `./dev gpu` takes from build/bin/flashfit_agreement, played by a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.gpu import agreement

#: Answers the checks that --only names, by whole name; $2 is the file, $4 the revision.
ANSWERS = r"""
file="$2" revision="$4"; shift 4; checks=
while [ $# -gt 0 ]; do
  part="${2%%/*}" check="${2##*/}"; shift 2
  checks="$checks${checks:+, }{\"part\": \"$part\", \"check\": \"$check\", \"passed\": false}"
done
printf '{"revision": "%s", "checks": [%s]}' "$revision" "$checks" >"$file"; exit 1
"""


def program(folder: Path, body: str, names: str = "maps/a scalars/b maps/c") -> Path:
    script = folder / "flashfit_agreement"
    script.write_text(f'#!/bin/sh\nif [ "$1" = --list ]; then printf "%s\\n" {names}; exit 0; fi\n{body}\n')
    script.chmod(0o755)
    return script


@pytest.mark.parametrize("cores", [1, 2, 16])
def test_all_cores_answers_become_one_in_the_programs_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(agreement, "cpu_count", lambda: cores)
    found = agreement.compare(program(tmp_path, ANSWERS), "abc", 10)
    assert found["revision"] == "abc"
    assert [(check["part"], check["check"], check["passed"]) for check in found["checks"]] == [
        ("maps", "a", False),
        ("scalars", "b", False),
        ("maps", "c", False),
    ]


def test_a_check_without_an_answer_is_an_error(tmp_path: Path) -> None:
    script = program(tmp_path, """printf '{"checks": [{"part": "maps", "check": "a"}]}' >"$2"; exit 1""")
    with pytest.raises(ValueError, match="ended without scalars/b and 1 more checks"):
        agreement.compare(script, "abc", 10)


def test_no_answer_is_an_error_in_the_programs_own_words(tmp_path: Path) -> None:
    script = program(tmp_path, "echo 'flashfit_agreement: no NVIDIA driver' >&2; exit 2")
    with pytest.raises(ValueError, match="status 2: flashfit_agreement: no NVIDIA driver"):
        agreement.compare(script, "abc", 10)


def test_a_program_that_names_no_check_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--list ended with status 0"):
        agreement.compare(program(tmp_path, "exit 0", names='""'), "abc", 10)
