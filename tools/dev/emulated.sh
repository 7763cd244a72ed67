#!/usr/bin/env bash
# usage: tools/dev/emulated.sh ROOT FOLDER WHEEL
# Tries a wheel for aarch64 as a user would. FOLDER, made anew, becomes a virtual environment of the Python of ROOT (a
# tree of tools/dev/sysroot.sh), run by QEMU, with NumPy and the wheel in it; tests/install/installed_check.py says there
# whether it works. The system here cannot start programs of that processor, so that a script starts each.
set -euo pipefail
readonly root=$1 folder=$2 wheel=$3
check=$PWD/tests/install/installed_check.py
readonly check

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
  printf '#!/bin/sh\nexec qemu-aarch64-static -L %s -0 %s %s "$@"\n' "$root" "$PWD/bin/$1" "$2" >"bin/$1"
  chmod +x "bin/$1"
}
starter python "$root/usr/bin/$python"
"$OLDPWD/.venv/bin/python" -m pip --python "$PWD/bin/python" install -q --disable-pip-version-check --no-deps \
  --require-hashes --only-binary :all: -r "$OLDPWD/requirements/matrix.txt" || die "pip could not install NumPy"
"$OLDPWD/.venv/bin/python" -m pip --python "$PWD/bin/python" install -q --disable-pip-version-check --no-deps \
  --no-index "$wheel" || die "pip could not install $wheel"
mv bin/flashfit bin/flashfit.aarch64
starter flashfit "$PWD/bin/flashfit.aarch64"
bin/python -I "$check"
