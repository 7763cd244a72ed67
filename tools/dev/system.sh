#!/usr/bin/env bash
# usage: tools/dev/system.sh run|test|fuzz|aarch64 [ROOT]
# Sees to the system packages that flashfit's build (run), its tests (test), libFuzzer (fuzz) or the wheel for aarch64
# need, those of system_packages.txt: installs what is missing on the systems it knows, as root or through sudo, and
# elsewhere names what is missing and exits with 1. ROOT (default: none) stands before the paths looked at, for tests.
set -euo pipefail
readonly needs=$1 root=${2:-} table=${BASH_SOURCE[0]%/*}/system_packages.txt
machine=$(uname -m)
readonly machine
# Where the compiler and CMake look on their own, in their order.
readonly header_folders=(usr/local/include "usr/include/$machine-linux-gnu" usr/include)
readonly library_folders=(usr/local/lib "usr/lib/$machine-linux-gnu" usr/lib64 usr/lib)
readonly cmake_folders=(usr/local/lib/cmake usr/local/share/cmake "usr/lib/$machine-linux-gnu/cmake" usr/lib64/cmake
  usr/lib/cmake usr/share/cmake)

die() {
  echo "dev: $*" >&2
  exit 1
}

# FILE FOLDER...: the path of the first one that is there.
first_of() {
  local file=$1 folder
  shift
  for folder in "$@"; do
    if [[ -e $root/$folder/$file ]]; then
      echo "$root/$folder/$file"
      return
    fi
  done
  return 1
}

readonly python_headers='import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'

# Whether what one word of the table says is so.
is_shown() {
  local what=${1#*:} header
  case $1 in
    command:c++) command -v "${CXX:-c++}" ;;
    command:*) command -v "$what" ;;
    header:*=*) header=$(first_of "${what%%=*}" "${header_folders[@]}") && grep -qw -- "${what#*=}" "$header" ;;
    header:*) first_of "$what" "${header_folders[@]}" ;;
    library:*) first_of "$what" "${library_folders[@]}" ;;
    cmake:*) first_of "$what" "${cmake_folders[@]}" ;;
    file:*) [[ -e $root/${what/MACHINE/$machine} ]] ;;
    python:venv) python3 -c 'import importlib.util as i, sys; sys.exit(not i.find_spec("ensurepip"))' ;;
    python:headers) python3 -c "$python_headers" ;;
    *) false ;;
  esac
} >/dev/null 2>&1

# shellcheck disable=SC1091  # the system's own file
system=$(. "$root/etc/os-release" 2>/dev/null && echo "${ID:-?} ${VERSION_ID:-}") || system='this system'

# Prints a line for each package that is missing: its name and the first word that is not so.
missing_packages() {
  local wanted=" run $needs " purpose package shown word
  if [[ $needs == test && $system == debian* ]]; then wanted+='test-debian '; fi
  while read -r purpose package shown; do
    [[ $purpose != '#'* && $wanted == *" $purpose "* ]] || continue
    for word in $shown; do
      is_shown "$word" && continue
      echo "$package $word"
      break
    done
  done <"$table"
}

mapfile -t missing < <(missing_packages)
if ((!${#missing[@]})); then exit; fi

packages=("${missing[@]%% *}")
case $system in
  'debian 12' | 'ubuntu 22.04' | 'ubuntu 24.04') ;;
  *)
    die "missing system packages, by Debian's names: ${packages[*]}" \
      "(./dev installs them on Debian 12 and Ubuntu 22.04 or 24.04 alone; this is $system)"
    ;;
esac
as_root=()
if (($(id -u) != 0)); then
  # sudo may ask for a password where someone can answer.
  { command -v sudo && { [[ -t 0 ]] || sudo -n true; }; } >/dev/null 2>&1 ||
    die "system packages are missing, and neither root nor sudo is here;" \
      "as root: apt-get update && apt-get install ${packages[*]}"
  as_root=(sudo)
fi

echo "dev: installs system packages: ${packages[*]}"
output=/dev/null
if [[ -t 1 ]]; then output=/dev/stdout; fi
{
  "${as_root[@]}" apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}"
} >"$output" || die "apt-get could not install: ${packages[*]} (its lines above say why)"
hash -r
mapfile -t missing < <(missing_packages)
((!${#missing[@]})) ||
  die "still missing after apt-get installed them: $(printf '%s, ' "${missing[@]/ / without }" | sed 's/, $//')"
