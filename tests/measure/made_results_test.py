"""The made runs of these tests are what docs/results.schema.json allows, so that they stand for real ones."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.measure import made_results

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs/results.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("run", [made_results.gpu_run(), made_results.cpu_run()])
def test_a_made_run_keeps_to_the_schema(run: dict[str, Any]) -> None:
    jsonschema: Any = importlib.import_module("jsonschema")
    assert [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(run)] == []
