"""Code in an interpreter of its own, as what other tests have imported changes what it does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def python(code: str, *paths: Path, **more: str) -> str:
    """What it prints, once it ended well; `paths` come before all other packages, `more` into its environment."""
    environment = {**os.environ, "PYTHONPATH": ":".join([*map(str, paths), *sys.path]), **more}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
