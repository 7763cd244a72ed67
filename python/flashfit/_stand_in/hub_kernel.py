"""`python -m flashfit hub-kernel DIR`: a folder that Transformers and diffusers load as kernels-community/flash-attn2.

Without flash-attn they load that kernel from a hub through the package `kernels`, which takes a folder instead where
LOCAL_KERNELS=kernels-community/flash-attn2=DIR says so. A folder of a kernel has one folder for each backend, with
metadata.json and the module, and flashfit's needs no compiled code of its own there. GPT-OSS asks for another kernel,
with sinks, which the same folder serves.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

from .._errors import FlashfitError

REPOSITORIES = ("kernels-community/flash-attn2", "kernels-community/vllm-flash-attn3")
_BACKENDS = ("cpu", "cuda")
_INIT = '''"""flash-attn's functions, computed by flashfit."""

from flashfit._stand_in import extension
from flashfit._stand_in.extension import bwd, fwd, fwd_kvcache, varlen_bwd, varlen_fwd
from flashfit._stand_in.functions import *
from flashfit.flash_attn import bert_padding

# Hosts ask this module for `flash_attn_interface._flash_attn_forward` and its like.
flash_attn_interface = extension
'''


def files() -> dict[str, str]:
    """The folder, path -> text."""
    made: dict[str, str] = {}
    for backend in _BACKENDS:
        metadata = {
            "id": f"_flashfit_flash_attn2_{backend}",
            "name": "flash-attn2",
            "version": 4,
            "license": "Apache-2.0",
            "python-depends": [],
            "backend": {"type": backend},
        }
        made[f"torch-{backend}/__init__.py"] = _INIT
        made[f"torch-{backend}/metadata.json"] = json.dumps(metadata, indent=2) + "\n"
    return made


def write(folder: Path) -> None:
    """Makes the folder. Raises FlashfitError if other files are in it, or it is a file."""
    made = files()
    if folder.exists() and not folder.is_dir():
        raise FlashfitError(f"DIR: {folder} is a file; accepted: a folder that is new, empty or made by this")
    if folder.is_dir():
        others = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        other = next((path for path in others if path.relative_to(folder).as_posix() not in made), None)
        if other is not None:
            raise FlashfitError(f"{folder}: {other} is there; accepted: a folder that is new, empty or made by this")
    for path, text in made.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def main(words: list[str]) -> int:
    """The verb: 0 done, 3 refused, in one line."""
    parser = argparse.ArgumentParser(prog="python -m flashfit hub-kernel", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder to make")
    folder: Path = parser.parse_args(words).folder.absolute()
    if ":" in str(folder):
        print(
            f"flashfit: DIR: {folder}; accepted: a path without ':', which ends one in LOCAL_KERNELS", file=sys.stderr
        )
        return 3
    try:
        write(folder)
    except (FlashfitError, OSError) as error:
        print(f"flashfit: {error}", file=sys.stderr)
        return 3
    value = ":".join(f"{repository}={folder}" for repository in REPOSITORIES)
    print(f"export LOCAL_KERNELS={shlex.quote(value)}")
    return 0
