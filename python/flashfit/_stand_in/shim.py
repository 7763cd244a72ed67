"""`python -m flashfit shim flash-attn`: a package flash-attn that is flashfit, for hosts that look for that name.

It is written with a distribution's metadata, since hosts look for the distribution and for its version, and marked as
flashfit's there. A flash-attn that is not marked so is never touched.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib.metadata
import sys
import sysconfig
from pathlib import Path

from .._errors import FlashfitError
from .._version import __version__

#: What hosts' gates want: from 2.6.3 (diffusers) or 2.7.1 (xformers) to 2.8.4, and no suffix.
VERSION = "2.8.0"
#: The header of METADATA that says whose package this is.
MARKER = "Keywords: flashfit-stand-in"

_FOLDER = f"flash_attn-{VERSION}.dist-info"
_ABSENT = ("bert_padding_fused", "cute", "flash_attn_triton", "flash_blocksparse_attention", "layers", "losses")
_ABSENT_TOO = ("models", "modules", "ops", "utils")

_INIT = f'''"""flash-attn {VERSION}'s functions by flashfit {__version__}: a stand-in for hosts that look for it."""

from flashfit._stand_in.functions import *

__version__ = "{VERSION}"
'''
_INTERFACE = '''"""The functions under the module name that hosts import them from."""

import flash_attn_2_cuda as flash_attn_gpu
from flashfit._stand_in.interface import *
'''
_PADDING = '''"""The padding helpers."""

from flashfit.flash_attn.bert_padding import *
'''
_EXTENSION = '''"""The functions of flash-attn's compiled module."""

from flashfit._stand_in.extension import bwd, fwd, fwd_kvcache, varlen_bwd, varlen_fwd
'''


def _absent(name: str) -> str:
    return f"""raise ModuleNotFoundError(
    "flash_attn.{name}: not in flashfit's stand-in for flash-attn; "
    "there are: flash_attn, flash_attn.flash_attn_interface, flash_attn.bert_padding, flash_attn_2_cuda",
    name="flash_attn.{name}",
)
"""


def files() -> dict[str, str]:
    """The package, path -> text, without RECORD."""
    made = {
        "flash_attn/__init__.py": _INIT,
        "flash_attn/flash_attn_interface.py": _INTERFACE,
        "flash_attn/bert_padding.py": _PADDING,
        "flash_attn_2_cuda.py": _EXTENSION,
        f"{_FOLDER}/METADATA": f"Metadata-Version: 2.1\nName: flash-attn\nVersion: {VERSION}\n"
        f"Summary: flashfit's stand-in for flash-attn, written by python -m flashfit shim\n{MARKER}\n"
        f"License: Apache-2.0\n",
        f"{_FOLDER}/WHEEL": f"Wheel-Version: 1.0\nGenerator: flashfit {__version__}\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{_FOLDER}/INSTALLER": "flashfit\n",
        f"{_FOLDER}/top_level.txt": "flash_attn\nflash_attn_2_cuda\n",
    }
    made.update({f"flash_attn/{name}/__init__.py": _absent(name) for name in (*_ABSENT, *_ABSENT_TOO)})
    return made


def _record(made: dict[str, str]) -> str:
    """RECORD of these files, as the wheel format has it."""
    lines = []
    for path, text in made.items():
        content = text.encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{_FOLDER}/RECORD,,\n"


def _found(folder: Path) -> list[importlib.metadata.Distribution]:
    """The distributions flash-attn in a folder."""
    every = importlib.metadata.distributions(path=[str(folder)])
    return [d for d in every if (d.metadata["Name"] or "").lower().replace("_", "-") == "flash-attn"]


def _is_ours(distribution: importlib.metadata.Distribution) -> bool:
    return MARKER in (distribution.read_text("METADATA") or "").splitlines()


def _refuse_a_real_one(folder: Path) -> bool:
    """Whether the stand-in is there; raises FlashfitError for anything else by these names."""
    found = _found(folder)
    for distribution in found:
        if not _is_ours(distribution):
            raise FlashfitError(
                f"flash-attn: {distribution.version} is in {folder}, and it is not flashfit's stand-in; accepted: a "
                "folder without flash-attn"
            )
    for name in ("flash_attn", "flash_attn.py", "flash_attn_2_cuda.py"):
        if not found and (folder / name).exists():
            raise FlashfitError(
                f"flash-attn: {folder / name} is there without metadata, so that it is not flashfit's stand-in; "
                "accepted: a folder without flash-attn"
            )
    return bool(found)


def _refuse_a_compiled_one(folder: Path) -> None:
    """Raises FlashfitError for flash-attn's compiled module, which Python imports rather than the stand-in's."""
    for compiled in sorted((*folder.glob("flash_attn_2_cuda*.so"), *folder.glob("flash_attn_2_cuda*.pyd"))):
        raise FlashfitError(
            f"flash-attn: {compiled} is there, which is a real flash-attn's; accepted: a folder without flash-attn"
        )


def remove(folder: Path) -> bool:
    """Takes the stand-in out of a folder; returns whether it was there. Raises FlashfitError for a real flash-attn."""
    if not _refuse_a_real_one(folder):
        return False
    folders: set[Path] = set()
    for path in (*files(), f"{_FOLDER}/RECORD"):
        (folder / path).unlink(missing_ok=True)
        folders.update(parent for parent in Path(path).parents if parent != Path())
    for path_of in sorted(folders, key=lambda each: -len(each.parts)):
        here = folder / path_of
        for cached in here.glob("__pycache__/*.pyc"):
            cached.unlink()
        for empty in (here / "__pycache__", here):
            if empty.is_dir() and not any(empty.iterdir()):
                empty.rmdir()
    cache = folder / "__pycache__"
    for cached in cache.glob("flash_attn_2_cuda.*.pyc"):
        cached.unlink()
    if cache.is_dir() and not any(cache.iterdir()):
        cache.rmdir()
    return True


def write(folder: Path) -> None:
    """Puts the stand-in into a folder, anew where it is there. Raises FlashfitError for a real flash-attn."""
    _refuse_a_compiled_one(folder)
    remove(folder)
    made = files()
    for path, text in {**made, f"{_FOLDER}/RECORD": _record(made)}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _refuse_one_elsewhere(folder: Path) -> None:
    """Raises FlashfitError for a real flash-attn in another folder of this Python's, which the stand-in would hide, or
    be hidden by."""
    for other in map(Path, sys.path):
        if other.is_dir() and not other.samefile(folder):
            try:
                _refuse_a_compiled_one(other)
                _refuse_a_real_one(other)
            except FlashfitError as error:
                raise FlashfitError(f"{error}, or --target DIR for a folder that this is not asked of") from None


def main(words: list[str]) -> int:
    """The verb: 0 done, 3 refused, in one line."""
    parser = argparse.ArgumentParser(prog="python -m flashfit shim", description=__doc__)
    parser.add_argument("name", choices=["flash-attn"], help="the package to stand in for")
    parser.add_argument("--remove", action="store_true", help="takes the stand-in out again")
    parser.add_argument(
        "--target", type=Path, help="a folder of packages (default: this Python's, where no flash-attn may be)"
    )
    options = parser.parse_args(words)
    folder: Path = options.target or Path(sysconfig.get_path("purelib"))
    try:
        if not folder.is_dir():
            raise FlashfitError(f"--target: {folder}; accepted: a folder that is there")
        if options.remove:
            was_there = remove(folder)
            print(f"flash-attn: flashfit's stand-in was {'removed from' if was_there else 'not in'} {folder}")
        else:
            if options.target is None:
                _refuse_one_elsewhere(folder)
            write(folder)
            print(f"flash-attn: flashfit's stand-in for {VERSION} is in {folder}; --remove takes it out")
    except (FlashfitError, OSError) as error:
        print(f"flashfit: {error}", file=sys.stderr)
        return 3
    return 0
