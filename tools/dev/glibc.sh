#!/usr/bin/env bash
# usage: tools/dev/glibc.sh PREFIX PYTHON [MACHINE]
# Makes in PREFIX what a program or library for glibc 2.28 is linked with on MACHINE (default: this one): libraries that
# hold that release's symbols and no code, its start of a program, and the few functions of it that are always linked in
# (stat and others). Zig has all of these, for every release and machine, and comes as the package of
# requirements/glibc.txt, fetched by PYTHON's pip. Where that very version made them already, nothing is done.
set -euo pipefail
readonly prefix=$1 python=$2 machine=${3:-$(uname -m)} release=2.28
readonly list=$PWD/requirements/glibc.txt
version=$(sed -n 's/^ziglang==\([0-9.]*\).*/\1/p' "$list")
readonly version stamp=$prefix/glibc-$release-$machine-by-zig-$version
if [[ -e $stamp ]]; then exit; fi

die() {
  echo "dev: $*" >&2
  exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip install -q --disable-pip-version-check --require-hashes --no-deps --no-compile --target "$work" \
  -r "$list" ||
  die "pip could not fetch the package of requirements/glibc.txt (its lines above say why); without network," \
    "bring $prefix along from a machine that has it"
cd "$work"
echo 'int main(void) { return 0; }' >empty.c
# -v prints the linker's command, which names every file that we want. Relative folders: none of this machine's paths
# gets into a file.
ZIG_GLOBAL_CACHE_DIR=cache ZIG_LOCAL_CACHE_DIR=cache ziglang/zig cc -v -target "$machine-linux-gnu.$release" -pie -O2 \
  -fno-sanitize=all -rtlib=none empty.c -o empty >log 2>&1 || die "Zig failed:"$'\n'"$(tail -n 20 log)"
mkdir made
for file in $(tail -n 1 log); do
  case $file in
    cache/*/Scrt1.o | cache/*/libc_nonshared.a | cache/*.so.?) cp "$file" made/ ;;
  esac
done
cd made
loader=$(readelf -d libld.so.2 | sed -n 's/.*soname: \[\(.*\)\]/\1/p')
[[ $loader == ld-linux-* && -e Scrt1.o && -e libc_nonshared.a && -e libc.so.6 ]] ||
  die "Zig $version names other files than tools/dev/glibc.sh knows: $(echo ./*)"
mv libld.so.2 "$loader"
# What the linker looks for. Before glibc 2.34 threads and dlopen are in libraries of their own, which nobody names.
others=(libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1)
echo "GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( ${others[*]} $loader ) )" >libc.so
for library in libm.so.6 "${others[@]}"; do echo "INPUT ( $library )" >"${library%.*}"; done
touch "${stamp##*/}"
rm -rf "$prefix"
mkdir -p "${prefix%/*}"
mv "$work/made" "$prefix"
