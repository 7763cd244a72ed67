"""The command line of flashfit.bench."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from .._errors import FlashfitError, InvalidArgument
from . import cases as case_list
from . import moe, race, route
from .machine import describe, without_folders
from .operation import ATTENTION, Operation
from .options import Parser, device_of, span, whole
from .peers import chosen_peers
from .profile import Profiler
from .results import ResultFile
from .session import able, interrupt, method_on, run, use_threads, versions, word_of

#: Operations that are not attention, each with a group of its own.
OTHERS: dict[str, Operation] = {route.GROUP: route.ROUTE, moe.GROUP: moe.MOE, race.GROUP: race.RACE}


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="python -m flashfit.bench",
        description="flashfit beside other attention, other routers, other layers of experts",
    )
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        help=f"of flashfit bench --list, repeatable; or {' or '.join(OTHERS)}, alone (default: all of the list)",
    )
    parser.add_argument(
        "--filter", action="append", default=[], help="part of the names to measure; repeatable: any of them"
    )
    parser.add_argument("--peers", help="names with commas between, or none (default: all that are installed)")
    parser.add_argument("--warmup", type=whole(0), default=10, help="rounds that are not kept (default 10)")
    parser.add_argument("--repeats", type=whole(1), default=100, help="rounds of a case (default 100)")
    parser.add_argument("--case-seconds", type=span, help="begin no round of a case after this, but the first 10")
    parser.add_argument("--minutes", type=span, help="begin no case after this")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample (docs/results.md)")
    parser.add_argument("--device", choices=["cuda", "cpu"], help="default: the GPU if flashfit and PyTorch see one")
    parser.add_argument("--threads", type=whole(1), help="of flashfit and PyTorch on the CPU (default: all)")
    parser.add_argument("--l2", choices=["warm", "flushed"], default="warm", help="the GPU's cache before a sample")
    parser.add_argument("--profile", action="store_true", help="count each case with Nsight Compute (ncu), too")
    return parser.parse_args(words)


def operation_of(groups: Sequence[str]) -> Operation:
    """Whose cases are measured: a file holds those of one."""
    own = next((group for group in groups if group in OTHERS), None)
    if own is None:
        return ATTENTION
    beside = [group for group in groups if group != own]
    if beside:
        raise InvalidArgument(f"group: {beside[0]!r} beside {own!r}, whose files are others; accepted: one run each")
    return OTHERS[own]


def main(words: Sequence[str] | None = None) -> int:
    """0: every case is right; 1: one is wrong, or lacked memory or a kernel; 2: wrong use; 3: it cannot run; 130: ended
    early."""
    given = sys.argv[1:] if words is None else list(words)
    signal.signal(signal.SIGTERM, interrupt)  # timeout's way to end it keeps what has been measured, too
    try:
        options = arguments(given)
        device = device_of(options.device)
        if device == "cpu":
            use_threads(options.threads)
            if options.l2 == "flushed":
                raise InvalidArgument("--l2: flushed; accepted on a CPU: warm")
        operation = operation_of(options.group)
        peers, absent = chosen_peers(device, options.peers.split(",") if options.peers else (), operation.peers())
        cases = case_list.chosen(operation.listed(device), options.group, options.filter, list(OTHERS))
        timing = {"warmup": options.warmup, "repeats": options.repeats, "case_seconds": options.case_seconds}
        method = method_on(device, peers, options.l2 == "flushed", operation=operation, **timing)
        cases = able(cases, method)
        if options.profile:
            method.profile = Profiler(device, cases[0])
        command = " ".join(["python -m flashfit.bench", *given])
        result = ResultFile(options.json, command, describe(device), versions(peers), operation.schema)
        for name, why in absent.items():
            print(f"not beside {name}: {without_folders(why)}")
        complete = run(cases, method, result, options.minutes)
        result.write(complete)
    except FlashfitError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 3
    except KeyboardInterrupt:  # before the first case
        return 130
    wrong = [f"{word_of(entry)}: {entry['name']}" for entry in result.cases if not entry["correct"]]
    print("\n  ".join([f"{len(result.cases) - len(wrong)} of {len(result.cases)} cases right", *wrong]))
    return 130 if not complete else int(bool(wrong))
