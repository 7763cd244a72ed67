"""FLASHFIT_LOG and FLASHFIT_DISABLE, each in a process of its own: the environment is read once."""

from __future__ import annotations

import os
import subprocess
import sys

failures: list[str] = []


def run(client: str, call: str, driver: str = "", **environment: str) -> tuple[str, list[str]]:
    """The client's answers ("STATUS message" a call, joined by |) and its lines on stderr."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FLASHFIT_") and k != "LD_LIBRARY_PATH"}
    if driver:
        clean["LD_LIBRARY_PATH"] = driver
    done = subprocess.run([client, call], env={**clean, **environment}, capture_output=True, text=True, timeout=60)
    if done.returncode:
        failures.append(f"{call} with {environment} ended with {done.returncode}: {done.stderr[:300]}")
    return done.stdout.strip(), done.stderr.splitlines()


def expect(what: str, got: object, wanted: object) -> None:
    if got != wanted:
        failures.append(f"{what}: {got!r} instead of {wanted!r}")


def main(client: str, fake_driver: str) -> int:
    def thrice(answer: str) -> str:
        return "|".join([answer] * 3)

    disabled = "FLASHFIT_DISABLED attention: FLASHFIT_DISABLE={} is set; accepted: {}"
    nothing = thrice(disabled.format(1, "no call"))
    misspelt = 'FLASHFIT_INVALID_ARGUMENT FLASHFIT_DISABLE: "yes"; accepted: 1, gpu, 0 or nothing'
    for value, call, answer in [
        ("", "cpu", thrice("FLASHFIT_OK")),
        ("0", "cpu", thrice("FLASHFIT_OK")),
        ("1", "cpu", nothing),
        ("1", "gpu", nothing),
        ("gpu", "cpu", thrice("FLASHFIT_OK")),
        ("gpu", "gpu", thrice(disabled.format("gpu", "tensors on the CPU"))),
        ("yes", "cpu", thrice(misspelt)),
    ]:
        expect(f"{call} with {value!r}", run(client, call, FLASHFIT_DISABLE=value, FLASHFIT_LOG="0"), (answer, []))

    problem = "flashfit: attention fp16 head_dim 64, batch 1, heads 2/2, 3 queries x 3 keys: "
    scale = "softmax_scale: -1; accepted: above 0 and finite, or 0 for 1 / sqrt(head_dim)"
    for call, driver, start in [
        ("cpu", "", problem + "cpu, "),
        ("gpu", "", problem + "refused: no NVIDIA driver"),
        ("gpu", fake_driver, problem + "cuda:0 NVIDIA L4 (8.9), driver for CUDA 12.9: fwd_mma_fp16_d64_"),
        ("wrong", "", f"flashfit: attention: refused: {scale}"),
    ]:
        _, log = run(client, call, driver, FLASHFIT_LOG="1")
        expect(f"{call}: lines", len(log), 1)  # five calls on two threads, one decision
        expect(f"{call}: line", log[0][: len(start)] if log else None, start)
    _, log = run(client, "many", FLASHFIT_LOG="1")
    expect("most lines", len(log), 1001)
    expect("the last", log[-1] if log else None, "flashfit: 1000 distinct decisions; later ones are not logged")
    for failure in failures:
        print(failure, file=sys.stderr)
    return len(failures)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
