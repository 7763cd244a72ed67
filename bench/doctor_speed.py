"""How fast the doctor judges a wheel, beside unzip and NVIDIA's cuobjdump in the same run.

usage: doctor_speed.py [--command FLASHFIT] [--cuobjdump CUOBJDUMP] [--json RESULT] WHEEL...

The file cache is warm: every wheel is read once before anything is measured. Wall seconds are the best of three for the
doctor and one run for the others, which write gigabytes. RSS is the process's own peak (VmHWM's source, wait4).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = 3


def measure(words: list[str]) -> dict[str, float]:
    """Wall and user seconds, peak MB of one run."""
    begin = time.monotonic()
    # Straight from this process: a shell's peak would be counted, too.
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return {
        "wall_s": round(time.monotonic() - begin, 3),
        "user_s": round(usage.ru_utime, 3),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
    }


def best(words: list[str]) -> dict[str, float]:
    return min((measure(words) for _ in range(RUNS)), key=lambda m: m["wall_s"])


def largest_with_code(wheel: Path) -> str:
    """The member that cuobjdump is asked about; the others would add to its time."""
    with zipfile.ZipFile(wheel) as archive:
        members = [m for m in archive.infolist() if m.filename.endswith((".so", ".cubin")) or ".so." in m.filename]
        return max(members, key=lambda m: m.file_size).filename


def judge(command: str, wheel: Path, cuobjdump: str | None) -> dict[str, object]:
    doctor = [command, "doctor", str(wheel), "--gpu", "L40", "--platform", "linux_x86_64", "--json"]
    measure([*doctor, "--no-cache"])
    row: dict[str, object] = {"wheel": wheel.name, "mb": round(wheel.stat().st_size / 1e6, 1)}
    row["doctor"] = best([*doctor, "--no-cache"])
    measure(doctor)
    row["cached"] = best(doctor)
    with tempfile.TemporaryDirectory() as folder:
        row["unzip"] = measure(["unzip", "-q", "-o", str(wheel), "-d", folder])
        if cuobjdump:
            largest = largest_with_code(wheel)
            row["cuobjdump"] = {
                "member": largest,
                **measure([cuobjdump, "-lelf", "-lptx", str(Path(folder, largest))]),
            }
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default=str(ROOT / "build/bin/flashfit"))
    parser.add_argument("--cuobjdump")
    parser.add_argument("--json", type=Path)
    parser.add_argument("wheels", type=Path, nargs="+")
    given = parser.parse_args()
    rows = [judge(given.command, wheel, given.cuobjdump) for wheel in given.wheels]
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs; wall s (user s, peak MB)")
    for row in rows:
        print(f"{row['wheel']}  {row['mb']} MB")
        for name in ("doctor", "cached", "unzip", "cuobjdump"):
            if isinstance(m := row.get(name), dict):
                print(f"  {name:<10} {m['wall_s']:8.3f}  ({m['user_s']:.2f}, {m['peak_mb']:.0f})")
    if given.json:
        given.json.write_text(
            json.dumps({"load": os.getloadavg()[0], "cpus": os.cpu_count(), "rows": rows}, indent=2) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
