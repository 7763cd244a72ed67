"""`python -m flashfit.bench`: flashfit beside other attention."""

from __future__ import annotations

import sys


def main() -> int:
    """The command's status; 3 without NumPy, which all of it computes with."""
    try:
        from . import command
    except ImportError as error:
        print(f"bench: needs NumPy: {error}", file=sys.stderr)
        return 3
    return command.main()


if __name__ == "__main__":
    sys.exit(main())
