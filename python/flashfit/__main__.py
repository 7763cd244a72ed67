"""`python -m flashfit`: the command, asked about this Python."""

from __future__ import annotations

import importlib
import os
import sys

from ._command import command, this_python
from ._errors import FlashfitError

#: Verbs that are not the command's, since they are about Python's packages: the module whose main() each is.
_VERBS = {"shim": "_stand_in.shim", "hub-kernel": "_stand_in.hub_kernel", "trace": "trace.main"}


def main() -> int:
    """Becomes the command; returns only if there is none."""
    words = sys.argv[1:]
    if words[:1] == ["selftest"]:  # the one verb that is not the command's: it measures Python packages
        try:
            from .bench import selftest
        except ImportError as error:
            print(f"flashfit: selftest needs NumPy: {error}", file=sys.stderr)
            return 3
        return selftest.main(words[1:])
    verb = _VERBS.get(words[0]) if words else None
    if verb is not None:
        return int(importlib.import_module(f".{verb}", __package__).main(words[1:]))
    if words in (["--help"], ["-h"]):
        print(f"python -m flashfit, beside the command's own: {', '.join(('selftest', *_VERBS))}.", flush=True)
    asks = bool(words) and words[0] in ("doctor", "choose")

    def given(option: str) -> bool:
        return any(w == option or w.startswith(f"{option}=") for w in words)

    if asks and not given("--active"):
        words[1:1] = ["--active", sys.prefix]
    # An environment that was named, or lies in another root, has a Python of its own.
    if asks and not any(map(given, ("--python", "--env", "--root"))):
        words[1:1] = ["--python", this_python()]
    try:
        path = str(command())
    except FlashfitError as error:
        print(f"flashfit: {error}", file=sys.stderr)
        return 3
    try:
        os.execv(path, [path, *words])
    except OSError as error:  # one for another processor, as under an emulator
        print(f"flashfit: {path} cannot be started: {error.strerror}", file=sys.stderr)
    return 3


if __name__ == "__main__":
    sys.exit(main())
