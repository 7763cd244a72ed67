"""The verb `trace`: runs a program as `python script.py ...` does, and says what attention it called."""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import time
import traceback
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from .._errors import FlashfitError
from .._reports import explain
from . import hooks, report
from .calls import Calls


def _run(script: str, words: list[str]) -> int:
    """The program's exit status. It sees its own arguments and its own folder first on its path. Where it ends with an
    exception, or is interrupted as a server is, what it called until then is told all the same."""
    before, path = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [script, *words], str(Path(script).resolve().parent)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        sys.stdout.flush()
        traceback.print_exception(type(error), error, _of_program(error.__traceback__))
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        sys.argv, sys.path[0] = before, path
    return 0


def _of_program(frames: TracebackType | None) -> TracebackType | None:
    """Without the frames of what runs the program."""
    own = (__file__, "<frozen runpy>", runpy.__file__)
    while frames is not None and frames.tb_next is not None and frames.tb_frame.f_code.co_filename in own:
        frames = frames.tb_next
    return frames


def _check(options: argparse.Namespace) -> None:
    """What could only be refused after the program has run otherwise."""
    if not Path(options.script).is_file():
        raise FlashfitError(f"script: {options.script}; accepted: a Python file")
    for name in ("json", "html"):
        path = getattr(options, name)
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise FlashfitError(f"--{name}: {path}; accepted: a file in a folder that is there")
    for gpu in options.gpu:
        explain(gpu, head_dim=64)


def main(words: list[str]) -> int:
    """The program's exit status; 3 if there is nothing to run or to write to."""
    parser = argparse.ArgumentParser(prog="python -m flashfit trace", description=__doc__)
    parser.add_argument("--gpu", action="append", default=[], help="also says what would run on this GPU: L4, 8.9, all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes the trace there")
    parser.add_argument("--html", type=Path, metavar="FILE", help="writes it there as a page")
    parser.add_argument("script", help="the program")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="its arguments")
    options = parser.parse_args(words)
    try:
        _check(options)
        try:
            import torch
        except ImportError:
            raise FlashfitError("script: there is no PyTorch in this Python, whose calls are what is traced") from None
        calls = Calls()
        with ExitStack() as seen:
            seen.enter_context(hooks.seen_in_packages(calls))
            seen.enter_context(hooks.seen_in_pytorch(calls))
            seen.enter_context(hooks.seen_in_modules(calls))
            start = time.perf_counter()
            status = _run(options.script, options.words)
            if torch.cuda.is_available() and torch.cuda.is_initialized():
                torch.cuda.synchronize()
            seconds = time.perf_counter() - start
        here: list[str | None] = [None] if torch.cuda.is_available() else []
        found = report.document(options.script, seconds, calls.span, calls.finished(), [*here, *options.gpu])
        sys.stdout.flush()
        print(report.text(found), end="", file=sys.stderr)
        if options.json:
            options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        if options.html:
            options.html.write_text(report.page(found), encoding="utf-8")
    except (FlashfitError, OSError) as error:
        print(f"flashfit: {error}", file=sys.stderr)
        return 3
    return status
