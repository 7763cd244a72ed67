#!/usr/bin/env bash
# usage: tools/dev/isal.sh PREFIX PYTHON [MACHINE]
# Makes PREFIX/lib/libisal.a and PREFIX/include/isa-l: the doctor's inflate, in programs that run where no libisal is
# installed. Debian and Ubuntu have the shared library alone. The sources are those of requirements/isal.txt, fetched by
# PYTHON's pip; where that very version is there already, nothing is done. MACHINE (default: this one): by Debian's
# cross compiler for it.
set -euo pipefail
readonly prefix=$1 python=$2 machine=${3:-}
readonly list=$PWD/requirements/isal.txt
version=$(sed -n 's/^isal==\([0-9.]*\).*/\1/p' "$list")
readonly version stamp=$prefix/isal-$version
if [[ -e $stamp ]]; then exit; fi

die() {
  echo "dev: $*" >&2
  exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip download -q --disable-pip-version-check --require-hashes --no-deps --no-binary isal \
  -d "$work" -r "$list" ||
  die "pip could not fetch the sources of requirements/isal.txt (its lines above say why); without network," \
    "bring $prefix along from a machine that has it"
tar -xzf "$work/isal-$version.tar.gz" -C "$work"
cd "$work/isal-$version/src/isal/isa-l"
compiler=()
if [[ $machine ]]; then
  compiler=(host_cpu="$machine" CC="$machine-linux-gnu-gcc" AR="$machine-linux-gnu-ar")
fi
make -s -j"$(nproc)" -f Makefile.unx units="igzip crc" "${compiler[@]}" lib >"$work/log" 2>&1 ||
  die "ISA-L does not compile:"$'\n'"$(tail -n 20 "$work/log")"
mkdir -p "$prefix/lib" "$prefix/include/isa-l"
cp include/igzip_lib.h include/crc.h "$prefix/include/isa-l/"
cp bin/isa-l.a "$work/libisal.a"
mv "$work/libisal.a" "$prefix/lib/libisal.a" # in one step, as another build may link it now
touch "$stamp"
