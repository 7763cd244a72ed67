#!/usr/bin/env python3
"""`./dev gpu`: every carried kernel on this machine's GPU against an fp64 reference, and its speed beside PyTorch's.

Needs a GPU, PyTorch and what ./dev build made, here or elsewhere; no network, nothing installed. Each part has a time
limit. Exits with 0 only if every check passed and every speed target was met. --json FILE keeps the raw samples.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import flashfit  # noqa: E402
import torch  # noqa: E402
from flashfit._library import library  # noqa: E402
from flashfit.bench import selftest, stats  # noqa: E402

from bench import call_cost  # noqa: E402
from tools.gpu import (  # noqa: E402
    agreement,
    correctness,
    devices,
    expert_gradients,
    grid,
    grid_cases,
    hard,
    ordering,
    packages,
    random_experts,
    speed,
    torch_ops,
)
from tools.gpu.variants import Candidate, candidates, past_own_limits  # noqa: E402
from tools.job import machine  # noqa: E402
from tools.job.show import section, table  # noqa: E402

QUERY = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.draw,power.limit,temperature.gpu"


def output_of(*command: str) -> str:
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def revision() -> str:
    """What the build wrote beside the library: the commit that it was made from."""
    try:
        return (ROOT / "build" / "lib" / "revision").read_text(encoding="utf-8").strip() or "unknown"
    except OSError:
        return "unknown"


class Report:
    """What is found, written to --json after each part."""

    def __init__(self, path: Path | None, device: str) -> None:
        self.path = path
        self.start = time.monotonic()
        self.failed: list[str] = []
        library_bytes = library().path.read_bytes()
        self.found: dict[str, Any] = {
            "machine": machine.describe(),
            "torch": torch.__version__,
            "torch_cuda": torch.version.cuda,
            "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
            "compute_capability": ".".join(map(str, torch.cuda.get_device_capability())) if device == "cuda" else None,
            "git": revision(),
            "library_sha256": hashlib.sha256(library_bytes).hexdigest(),
            "seconds": {},
            "nvidia_smi_query": QUERY,
            "nvidia_smi": {},
        }

    def clocks(self, when: str) -> None:
        self.found["nvidia_smi"][when] = output_of("nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader")

    def part(self, name: str, limit: float, work: Callable[[], None]) -> None:
        """Runs a part. Past its limit the process says where it hangs and ends; an error fails the part alone."""
        section(name)
        start = time.monotonic()
        faulthandler.dump_traceback_later(limit, exit=True)
        try:
            work()
        except Exception as error:
            self.fail(f"{name}: {type(error).__name__}: {error}")
        finally:
            faulthandler.cancel_dump_traceback_later()
        self.found["seconds"][name] = round(time.monotonic() - start, 2)
        print(f"({self.found['seconds'][name]:.1f} s)", flush=True)
        self.write()

    def fail(self, what: str) -> None:
        print(f"FAILED: {what}", flush=True)
        self.failed.append(what)

    def checks(self, found: Iterator[tuple[str, bool]], key: str, many: bool = False) -> None:
        """Keeps what each check found; of `many`, only failures are printed."""
        results = self.found.setdefault(key, [])
        for what, passed in found:
            results.append({"check": what, "passed": passed})
            if not passed:
                self.fail(what)
            elif not many:
                print(f"passed  {what}", flush=True)
        if many:
            print(f"{sum(result['passed'] for result in results)} of {len(results)} passed", flush=True)

    def write(self) -> None:
        self.found["failed"] = self.failed
        if self.path:
            self.path.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")


def check_results(report: Report, carried: list[Candidate], device: str, quick: bool) -> None:
    results = report.found["correctness"] = []
    for result in correctness.run_all(carried, device, quick):
        results.append(asdict(result))
        for problem in result.problems:
            report.fail(f"{result.candidate}: {result.case}: {problem}")
        if len(results) % 100 == 0:
            report.write()  # what is found before a time limit ends the process is kept
    rows = []
    for name in dict.fromkeys(result["candidate"] for result in results):
        mine = [result for result in results if result["candidate"] == name]
        wrong = sum(bool(result["problems"]) for result in mine)
        worst = max((r["error"] / r["bound"] for r in mine if r["bound"]), default=0.0)
        worst_lse = max((r["lse_error"] / r["lse_bound"] for r in mine if r["lse_bound"]), default=0.0)
        rows.append([name, len(mine), wrong, f"{worst:.2f}", f"{worst_lse:.2f}", "passed" if not wrong else "FAILED"])
    table(["variant", "cases", "wrong", "worst error / bound", "worst LSE error / bound", ""], rows)


def check_grid(report: Report, device: str, quick: bool) -> None:
    cases = [case for case in grid_cases.grid() if device == "cuda" or not case.gpu_only]
    cases = cases[:: 4 if quick else 1] if device == "cuda" else cases[::40]
    start = time.monotonic()
    results = list(grid.run_all(cases, device))
    found = report.found["grid"] = grid.summary(results, device, time.monotonic() - start)
    for failure in found["failures"][:100]:
        report.fail(f"{failure['case']}: {'; '.join(failure['problems'])}")
    if len(results) < len(cases):
        report.fail(f"the grid ended after {len(results)} of {len(cases)} cases")
    rows = [[tag, counts["cases"], counts["failed"]] for tag, counts in found["by"].items() if not tag.startswith("D")]
    table(["option", "cases", "wrong"], rows)


def check_hard(report: Report, carried: list[Candidate], device: str, quick: bool) -> None:
    """What random numbers of mean zero hide: see tools/gpu/hard.py."""
    found = report.found["hard"] = {}
    if device == "cuda":
        found["ptx_compile_seconds"] = round(hard.compile_ptx(carried), 1)
        print(f"the driver compiled all PTX in {found['ptx_compile_seconds']} s", flush=True)
    images = [c for c in carried if c.variant]
    start, results = time.monotonic(), []
    cases = hard.listed()[:: 4 if quick else 1]
    for result in hard.run_all(cases, images, device):
        results.append(result)
        for problem in result.problems:
            report.fail(f"{result.candidate}: {result.case}: {problem}")
        if len(report.failed) > 200:
            report.fail("stopped: too many are wrong")
            break
    if device == "cuda":
        results.extend(hard.far_rows(device, images))
    for seldom in [] if quick else hard.seldom_served(results, images):
        report.fail(seldom)
    served = [result for result in results if result.served]
    worst = sorted(((r.error / r.bound, r.case, r.candidate) for r in served if r.bound), reverse=True)[:10]
    found.update(
        seconds=round(time.monotonic() - start, 1),
        cases=len(cases),
        random=sum(map(hard.is_random, cases)),
        images=len(images),
        runs=len(served),
        wrong=sum(bool(r.problems) for r in results),
        largest_error_over_bound=[{"ratio": ratio, "case": case, "image": image} for ratio, case, image in worst],
        failures=[asdict(r) for r in results if r.problems],
    )
    print(f"{found['runs']} runs of {found['cases']} cases through {len(images)} images, {found['wrong']} wrong")


def nan_checks(carried: list[Candidate], device: str) -> Iterator[tuple[str, bool]]:
    for candidate in carried:
        yield from correctness.nan_stays(candidate, device)


def agree(report: Report) -> None:
    program = ROOT / "build" / "bin" / "flashfit_agreement"
    if not program.exists():
        print("not built: ./dev build --tests makes it")
        return
    answer = report.found["agreement"] = agreement.compare(program, revision(), 280)
    for check in answer["checks"]:
        if not check["passed"]:
            report.fail(f"{check['part']}/{check['check']}: {check['message']}")
    print(f"{sum(check['passed'] for check in answer['checks'])} of {len(answer['checks'])} agree with the emulator")


def time_all(report: Report, rounds: int, quick: bool) -> None:
    report.clocks("before speed")
    timings = report.found["speed"] = []
    rows = []
    for case, entry in speed.run_all(rounds, quick):
        timings.append(entry)
        report.write()
        if not entry["correct"]:
            report.fail(f"{case.name}: {entry['message']}")
            continue
        rate = case.work["flop"] / entry["median_us"] / 1e6
        rows.append([case.name, entry["variant"], f"{entry['median_us']:.4g}", f"{rate:.0f}", "", ""])
        for name, peer in entry["peers"].items():
            if "ratio" not in peer:
                # A variant is ours: what is wrong with it is a failure. PyTorch may lack a case.
                if name.startswith(selftest.FORCED):
                    report.fail(f"{case.name}: {name}: {peer['message']}")
                continue
            low, high = peer["ratio_interval"]
            aim = speed.target_of(case) if name in speed.PEERS else None
            aimed = "" if aim is None else f"{aim:g} {'met' if peer['ratio'] >= aim else 'MISSED'}"
            if aimed.endswith("MISSED"):
                report.fail(f"{case.name}: {peer['ratio']:.3f} of {name}'s time, the target is {aim}")
            ratio = f"{peer['ratio']:.3f} [{low:.3f}, {high:.3f}]"
            rows.append([case.name, name, f"{peer['median_us']:.4g}", "", ratio, aimed])
        print(f"timed {case.name}", flush=True)
    report.clocks("after speed")
    table(["case", "what ran", "us, median", "TFLOP/s", "of flashfit's time [95 %]", "target"], rows)


def time_host(report: Report) -> None:
    costs = report.found["host_seconds"] = call_cost.measure("cuda")
    rows = [[name, str(stats.bootstrap([sample * 1e6 for sample in samples]))] for name, samples in costs.items()]
    table(["a call keeps the host", "us, median [95 %]"], rows)


def layers_of_experts() -> Iterator[tuple[str, bool]]:
    """Their gradients, and problems of random sizes and options."""
    yield from ((f"gradients: {name}", passed) for name, passed, _ in expert_gradients.checks())
    for words, wrong in random_experts.defects("cuda", range(200)):
        yield f"random {words}{': ' * bool(wrong)}{wrong}", not wrong


def check_devices(report: Report) -> None:
    lacking = report.found["devices_missing"] = devices.missing()
    if lacking:
        print(f"not run: {lacking}")
    else:
        report.checks(devices.checks(), "devices")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything, raw samples too")
    parser.add_argument("--quick", action="store_true", help="a quarter of the cases, few rounds")
    parser.add_argument(
        "--only", choices=["correctness", "hard", "speed", "devices"], help="one part; devices needs two GPUs"
    )
    parser.add_argument("--rounds", type=int, default=40, help="samples of each time (default 40)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: the CPU backend's correctness")
    arguments = parser.parse_args()
    device = arguments.device
    if device == "cuda" and not torch.cuda.is_available():
        print("gpu: PyTorch sees no GPU on this machine; --device cpu checks the CPU backend", file=sys.stderr)
        return 1
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        report = Report(arguments.json, device)
    except flashfit.FlashfitError as error:
        print(f"gpu: {error}", file=sys.stderr)
        return 1
    quick = arguments.quick
    rounds = 10 if quick else arguments.rounds
    cpu = [Candidate("", dtype, head_dim, "CPU") for dtype in ("fp16", "bf16", "fp32") for head_dim in (32, 64, 128)]
    carried = candidates(report.found["compute_capability"]) if device == "cuda" else cpu
    print(f"{report.found['device']}, PyTorch {torch.__version__}, {len(carried)} variants x code to check")
    if not carried:
        report.fail("no carried image runs on this GPU")
    if arguments.only == "hard":
        report.part("Hard cases", 400, lambda: check_hard(report, carried, device, quick))
    if arguments.only in (None, "correctness"):
        limits = past_own_limits()
        report.checks(
            iter([(f"every image within its own GPU's shared memory {limits or ''}".rstrip(), not limits)]), "images"
        )
        report.part("Correctness", 200, lambda: check_results(report, carried, device, quick))
        report.part("Hard cases", 400, lambda: check_hard(report, carried, device, quick))
        report.part("Every option", 400, lambda: check_grid(report, device, quick))
        report.part("NaN", 60, lambda: report.checks(nan_checks(carried, device), "nan", many=True))
        if device == "cuda":
            for name, part in (
                ("Streams", ordering.streams),
                ("CUDA graphs", ordering.graphs),
                ("Chains of calls", ordering.chains),
                ("Threads", ordering.threads),
                ("Other packages", packages.all_packages),
            ):
                report.part(name, 60, partial(report.checks, part(), "ordering"))
            report.part("Agreement with the emulator", 300, lambda: agree(report))
            report.part("PyTorch's operators", 240, partial(report.checks, torch_ops.checks(), "torch_ops"))
            report.part("Layers of experts", 240, partial(report.checks, layers_of_experts(), "experts", many=True))
    if arguments.only in (None, "devices") and device == "cuda":
        report.part("Devices", 240, lambda: check_devices(report))
    if arguments.only in (None, "speed") and device == "cuda":
        report.part("Speed", 180, lambda: time_all(report, rounds, quick))
        report.part("Host cost", 30, lambda: time_host(report))
    report.write()
    section("Result")
    for what in report.failed:
        print(f"FAILED: {what}")
    if arguments.only == "devices" and not report.failed and "devices" not in report.found:
        print(f"not run: {report.found['devices_missing']}")
        return 0
    print(f"{'FAILED' if report.failed else 'passed'} in {time.monotonic() - report.start:.0f} s")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
