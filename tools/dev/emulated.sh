#!/usr/bin/env bash
# usage: tools/dev/emulated.sh ROOT FOLDER WHEEL
# Tries a wheel for aarch64 as a user would. FOLDER, made anew, becomes a virtual environment of the Python of ROOT (a
# tree of tools/dev/sysroot.sh), run by QEMU, with NumPy and the wheel in it; tests/install/installed_check.py says
# there whether it works. The system here cannot start programs of that processor, so that a script starts each.
set -euo pipefail
repository=$PWD root=$(realpath "$1") folder=$(realpath -m "$2") wheel=$(realpath "$3")
readonly repository root folder wheel

die() {
  echo "dev: $*" >&2
  exit 1
}

python=$(basename "$(readlink -f "$root/usr/bin/python3")")
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/lib/$python/site-packages"
cd "$folder"
printf 'home = %s/usr/bin\ninclude-system-site-packages = false\nversion = %s\n' "$root" "${python#python}" >pyvenv.cfg
# NAME FILE: bin/NAME starts the FILE.
starter() {
  printf '#!/bin/sh\nexec qemu-aarch64-static -L %s -0 %s %s "$@"\n' "$root" "$folder/bin/$1" "$2" >"bin/$1"
  chmod +x "bin/$1"
}
starter python "$root/usr/bin/$python"
pip=("$repository/.venv/bin/python" -m pip --python "$folder/bin/python" install -q --no-deps)
"${pip[@]}" --require-hashes --only-binary :all: -r "$repository/requirements/matrix.txt" ||
  die "pip could not install NumPy"
"${pip[@]}" --no-index "$wheel" || die "pip could not install $wheel"
starter flashfit-by-qemu "$folder/bin/flashfit"
verdict=$(FLASHFIT_COMMAND=$folder/bin/flashfit-by-qemu bin/python -I "$repository/tests/install/installed_check.py") ||
  die "the checks of $wheel ended"
"$repository/.venv/bin/python" - "$verdict" <<'CODE' || die "$wheel does not do what it should"
import json, sys

verdict = json.loads(sys.argv[1])
print(f"aarch64 under QEMU, {verdict['binding']}: {', '.join(verdict['checks'])}")
print(*verdict["failures"].values(), sep="\n")
sys.exit(1 if verdict["failures"] else 0)
CODE
