#!/usr/bin/env bash
# usage: tools/dev/system.sh run|test|fuzz [ROOT]
# Sees to the system packages that flashfit's build (run), its tests (test) or libFuzzer (fuzz) need: installs what is missing on the systems it knows, as root or
# through sudo, and elsewhere names what is missing and exits with 1. ROOT (default: none) stands before the paths looked at, for tests.
set -euo pipefail
readonly needs=$1 root=${2:-}

die() {
  echo "dev: $*" >&2
  exit 1
}

# Debian's package and what shows that it is there: a command or a header. Files are looked for, not dpkg's records, so that the same look
# serves any system and takes no time.
commands=("g++=${CXX:-c++}" "cmake=cmake" "ninja-build=ninja" "python3=python3" "nasm=nasm" "make=make")
python_headers='import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
headers=("libexpected-dev=tl/expected.hpp" "libhwy-dev=hwy/highway.h" "libxxhash-dev=xxhash.h" "libdlpack-dev=dlpack/dlpack.h"
  "libcli11-dev=CLI/CLI.hpp" "rapidjson-dev=rapidjson/writer.h" "nlohmann-json3-dev=nlohmann/json.hpp" "libfmt-dev=fmt/format.h" "libzstd-dev=zstd.h"
  "liblz4-dev=lz4.h" "libtomlplusplus-dev=toml++/toml.h" "libre2-dev=re2/re2.h" "libmd-dev=sha2.h" "libboost-context-dev=boost/context/fiber.hpp")
# shellcheck disable=SC1091  # the system's own file
system=$(. "$root/etc/os-release" 2>/dev/null && echo "${ID:-?} ${VERSION_ID:-}") || system='this system'
if [[ $needs == test ]]; then
  commands+=("pkg-config=pkg-config" "ccache=ccache")
  # Ubuntu has Chromium as a snap alone: tests that want a browser say so there.
  if [[ $system == debian* ]]; then commands+=("chromium-headless-shell=chromium-headless-shell"); fi
  headers+=("zlib1g-dev=zlib.h" "libgtest-dev=gtest/gtest.h" "libgmock-dev=gmock/gmock.h")
fi

files=("libjs-chart.js=usr/share/javascript/chart.js/chart.min.js")
if [[ $needs == fuzz ]]; then
  commands+=("clang-16=clang++-16")
  files+=("libclang-rt-16-dev=usr/lib/llvm-16/lib/clang/16/lib/linux/libclang_rt.fuzzer-$(uname -m).a")
fi

missing_packages() {
  local pair
  for pair in "${files[@]}"; do
    [[ -e $root/${pair#*=} ]] || echo "${pair%%=*}"
  done
  for pair in "${commands[@]}"; do
    command -v "${pair#*=}" >/dev/null || echo "${pair%%=*}"
  done
  python3 -c 'import importlib.util as i, sys; sys.exit(not i.find_spec("ensurepip"))' 2>/dev/null || echo python3-venv
  python3 -c "$python_headers" 2>/dev/null || echo python3-dev
  for pair in "${headers[@]}"; do
    compgen -G "$root/usr/include/${pair#*=}" >/dev/null || compgen -G "$root/usr/include/*/${pair#*=}" >/dev/null ||
      compgen -G "$root/usr/local/include/${pair#*=}" >/dev/null || echo "${pair%%=*}"
  done
}

mapfile -t missing < <(missing_packages)
if ((!${#missing[@]})); then exit; fi

case $system in
  'debian 12' | 'ubuntu 22.04' | 'ubuntu 24.04') ;;
  *) die "missing system packages, by Debian's names: ${missing[*]} (./dev installs them on Debian 12 and Ubuntu 22.04 or 24.04 alone; this is $system)" ;;
esac
as_root=()
if (($(id -u) != 0)); then
  # sudo may ask for a password where someone can answer.
  { command -v sudo && { [[ -t 0 ]] || sudo -n true; }; } >/dev/null 2>&1 ||
    die "missing system packages: ${missing[*]} (neither root nor sudo here; as root: apt-get install ${missing[*]})"
  as_root=(sudo)
fi

echo "dev: installs system packages: ${missing[*]}"
output=/dev/null
if [[ -t 1 ]]; then output=/dev/stdout; fi
{
  "${as_root[@]}" apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
} >"$output" || die "apt-get could not install: ${missing[*]} (its lines above say why)"
hash -r
mapfile -t missing < <(missing_packages)
((!${#missing[@]})) || die "still missing after apt-get installed them: ${missing[*]}"
