"""`flashfit doctor` in CI: policies, GitHub's annotations, SARIF."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.doctor_command import L40, ROOT, doctor, judged, run

POLICY = """
[[machine]]
name = "training"
gpus = ["H100", "L40"]
driver = "550"
python = "3.11"
platform = "linux_x86_64"
glibc = "2.35"

[[machine]]
name = "the old rack"
gpus = ["V100"]
driver = "535"
python = "3.11"
platform = "linux_x86_64"
"""
LIST = "# what we need\nnumpy\ntorch==2.12.1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fleet.toml").write_text(POLICY)
    (tmp_path / "requirements.txt").write_text(LIST)
    return tmp_path


def test_every_machine_of_a_policy_is_asked(folder: Path) -> None:
    status, report = judged("requirements.txt", "--policy", "fleet.toml", cwd=folder)
    assert (status, report["schema"], report["verdict"]) == (1, 1, "misfit")
    assert [(m["machine"], m["verdict"]) for m in report["machines"]] == [
        ("training", "misfit"),
        ("the old rack", "misfit"),
    ]
    assert [g["asked"] for g in report["machines"][0]["asked"]["gpus"]] == ["H100", "L40"]
    codes = [[p["code"] for p in m["targets"][0]["problems"]] for m in report["machines"]]
    assert codes == [["FF105"], ["FF105", "FF101"]]
    lines = doctor("requirements.txt", "--policy", "fleet.toml", cwd=folder)[1]
    assert lines[0] == "0 of 2 machines of the policy are served"
    assert "== the old rack" in lines
    (folder / "requirements.txt").write_text("torch==2.6.0\n")
    assert doctor("requirements.txt", "--policy", "fleet.toml", cwd=folder)[0] == 0


def test_a_policy_may_be_json_and_lack_what_the_options_say(folder: Path) -> None:
    (folder / "fleet.json").write_text(json.dumps({"machine": [{"gpus": ["V100"]}]}))
    status, report = judged("requirements.txt", "--policy", "fleet.json", *L40, cwd=folder)
    assert status == 1
    (machine,) = report["machines"]
    assert machine["machine"] == "machine 1"
    assert machine["asked"]["python"] == "CPython 3.11"
    assert [g["asked"] for g in machine["asked"]["gpus"]] == ["V100"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "machine: an array of 1 to 256 tables is accepted: [[machine]] in TOML"),
        ("machines = 1", "machines: no such key; machine is accepted: an array of tables"),
        (
            "[[machine]]\ngpu = 'L40'",
            "machine[0].gpu: no such key; name, gpus, driver, python, platform, glibc and torch",
        ),
        ("[[machine]]\ngpus = 'L40'", "machine[0].gpus: an array of 1 to 64 names is accepted"),
        ("[[machine]]\ngpus = [8.9]", "machine[0].gpus: 8.9 is no text; a text in quotes is accepted"),
        ("[[machine]]\ndriver = 550", "machine[0].driver: 550 is no text"),
        ("[[machine]]\ndriver = 'abc'", "--policy 'fleet.toml': machine[0].driver: driver 'abc': "),
        ("[[machine]]\n[[machine]]\ngpus = ['L40', 'L40X']", "--policy 'fleet.toml': machine[1].gpus: gpu 'L40X': "),
        ("[[machine]]\npython = 'x'", "--policy 'fleet.toml': machine[0].python: python 'x': "),
        ("[[machine]]\nplatform = 'x'", "--policy 'fleet.toml': machine[0].platform: platform 'x': "),
        ("[[machine]]\nname = 'a'\n[[machine]]\nname = 'a'", "machine[1].name: 'a' is another machine's name already"),
        ("[[machine]\n", "line 1: no TOML: "),
        ("machine = [1]", "machine[0]: 1 is no table"),
        ("[[machine]]\ngpus = ['L400']", "machine[0].gpus: gpu 'L400'"),
        (
            "[[machine]]\ngpus = ['L40', 'all']",
            'machine[0].gpus: "all" is every compute capability; accepted: it alone',
        ),
        ("[[machine]]\ndriver = 'new'", "machine[0].driver: driver 'new'"),
    ],
)
def test_an_error_of_a_policy_names_the_key_and_what_is_accepted(folder: Path, text: str, message: str) -> None:
    (folder / "fleet.toml").write_text(text)
    ran = run("doctor", "requirements.txt", "--policy", "fleet.toml", cwd=folder)
    assert (ran.returncode, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert message in line


def test_options_that_do_not_go_together_are_refused(folder: Path) -> None:
    for words in (["--format", "xml"], ["--format", "sarif", "--json"], ["--policy", "fleet.toml", "--html", "x.html"]):
        ran = run("doctor", "requirements.txt", *words, *L40, cwd=folder)
        assert (ran.returncode, ran.stdout) == (2, ""), words
        assert len(ran.stderr.splitlines()) == 1
    assert run("doctor", "requirements.txt", "--policy", "none.toml", cwd=folder).returncode == 2


def test_annotations_are_github_commands_with_lines(folder: Path) -> None:
    ran = run("doctor", "requirements.txt", "--policy", "fleet.toml", "--format", "github", cwd=folder)
    assert ran.returncode == 1
    annotations = [line for line in ran.stdout.splitlines() if line.startswith("::")]
    assert len(annotations) == 3
    assert annotations[0].startswith(
        "::error file=requirements.txt,line=3,title=flashfit doctor FF105::training: torch==2.12.1: torch 2.12.1 of"
    )
    # The page shows what is printed, its lines broken.
    page = " ".join((ROOT / "docs/doctor-in-ci.md").read_text().split())
    assert annotations[0] in page
    assert annotations[2] in page


def test_nothing_in_a_name_is_a_command_of_github(tmp_path: Path) -> None:
    hostile = tmp_path / "a%b:c,d" / "requirements.txt"
    hostile.parent.mkdir()
    hostile.write_text("::error::x\n##[error]y\ntorch==2.6.7 # \r\n::set-env name=x::y\n")
    ran = run("doctor", hostile, *L40, "--format", "github", "-v")
    lines = ran.stdout.splitlines()
    pattern = r"::(error|warning|notice) file=[^,:]*(,line=\d+)?,title=flashfit doctor FF\d{3}::.*"
    assert len(lines) > 3
    assert all(re.fullmatch(pattern, line) for line in lines[:-1])
    assert lines[-1].startswith("flashfit doctor: ")
    assert "a%25b%3Ac%2Cd/requirements.txt" in lines[0]


def object_of(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


MESSAGE = {
    "type": "object",
    "anyOf": [{"required": ["text"]}, {"required": ["id"]}],
    "properties": {"text": {"type": "string"}},
}
ARTIFACT = object_of([], uri={"type": "string", "pattern": r"^([A-Za-z0-9/._~-]|%[0-9A-F]{2}|file:)*$"})
REGION = object_of([], startLine={"type": "integer", "minimum": 1})
RESULT = object_of(
    ["message"],
    ruleId={"type": "string"},
    ruleIndex={"type": "integer", "minimum": -1},
    level={"enum": ["none", "note", "warning", "error"]},
    message=MESSAGE,
    locations={
        "type": "array",
        "items": object_of(
            ["physicalLocation"], physicalLocation=object_of([], artifactLocation=ARTIFACT, region=REGION)
        ),
    },
)
RULE = object_of(
    ["id"],
    id={"type": "string"},
    shortDescription=MESSAGE,
    helpUri={"type": "string", "pattern": "^https://"},
    help=MESSAGE,
)
DRIVER = object_of(["name"], name={"type": "string"}, rules={"type": "array", "items": RULE, "uniqueItems": True})
RUN = object_of(
    ["tool"],
    tool=object_of(["driver"], driver=DRIVER),
    invocations={"type": "array", "items": object_of(["executionSuccessful"], exitCode={"type": "integer"})},
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": RESULT},
)
# What the official schema of SARIF 2.1.0 requires of the objects that the doctor writes, and of their values.
SARIF = object_of(["version", "runs"], version={"enum": ["2.1.0"]}, runs={"type": "array", "items": RUN})


def test_sarif_is_what_its_schema_requires(folder: Path) -> None:
    (folder / "a b").mkdir()
    (folder / "a b/requirements.txt").write_text("nonsense=>1\n")
    lists = ["requirements.txt", "a b/requirements.txt"]
    ran = run("doctor", *lists, "--policy", "fleet.toml", "--format", "sarif", cwd=folder)
    report = json.loads(ran.stdout)
    jsonschema.Draft7Validator.check_schema(SARIF)
    jsonschema.validate(report, SARIF)
    (one,) = report["runs"]
    assert one["invocations"] == [{"executionSuccessful": True, "exitCode": ran.returncode}]
    rules = one["tool"]["driver"]["rules"]
    for result in one["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        page = ROOT / rule["help"]["text"]
        assert page.read_text().startswith(f"# {rule['id']}: {rule['shortDescription']['text']}\n")
    found = [
        (r["ruleId"], r["level"], p["artifactLocation"]["uri"], p["region"]["startLine"])
        for r in one["results"]
        for p in [r["locations"][0]["physicalLocation"]]
    ]
    assert ("FF105", "error", "requirements.txt", 3) in found
    assert ("FF751", "warning", "a%20b/requirements.txt", 1) in found


def test_the_policy_of_the_page_is_one_and_its_commands_are_known(folder: Path) -> None:
    page = (ROOT / "docs/doctor-in-ci.md").read_text()
    (policy,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (folder / "fleet.toml").write_text(policy)
    (folder / "Dockerfile").write_text("FROM python:3.11\nRUN pip install numpy\n")
    commands = re.findall(r"run: flashfit doctor (.*?)(?: > .*)?\n", page)
    assert len(commands) == 2
    for words in commands:
        ran = run("doctor", *words.split(), cwd=folder)
        assert (ran.returncode, ran.stderr) == (1, "")
