"""What the shared library shows and needs: the symbols of abi/symbols.txt alone, and nothing but the C library."""

import re
import subprocess
import sys
from pathlib import Path

NEEDED = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux-[a-z0-9_-]+)\.so\.\d+")


def lines(*command: str) -> list[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def main(library: str, nm: str, readelf: str, symbols: str) -> int:
    """Returns the number of complaints."""
    shown = {line.split()[-1] for line in lines(nm, "-D", "--defined-only", library)}
    dynamic = "\n".join(lines(readelf, "-d", library))
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    wanted = set(Path(symbols).read_text().split())
    complaints = [f"shows {name}" for name in sorted(shown - wanted)]
    complaints += [f"does not show {name}" for name in sorted(wanted - shown)]
    complaints += [f"needs {name}" for name in needed if not NEEDED.fullmatch(name)]
    if re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) != ["libflashfit.so.0"]:
        complaints.append("its SONAME is not libflashfit.so.0")
    if "RUNPATH" in dynamic or "RPATH" in dynamic:
        complaints.append("it has a run path")
    for complaint in complaints:
        print(f"{library} {complaint}", file=sys.stderr)
    return len(complaints)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
