from __future__ import annotations

from pathlib import Path

import pytest

from tests.doctor_command import make


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels and libraries of tests/doctor/made/make.cpp; nobody writes there."""
    return make(tmp_path_factory.mktemp("made"))
