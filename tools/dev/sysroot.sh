#!/usr/bin/env bash
# usage: tools/dev/sysroot.sh FOLDER
# Makes in FOLDER/root a file tree of Debian's packages for arm64: what flashfit is linked with there (those of
# system_packages.txt), Python's headers, and a Python to run under an emulator. Nothing is installed: apt-get resolves
# and fetches with records of its own, and the packages are unpacked, with dpkg's records of whose each file is. Where
# it is there already, nothing is done; delete the folder to get newer packages.
set -euo pipefail
readonly folder=$1 root=$1/root stamp=$1/sysroot-arm64
if [[ -e $stamp ]]; then exit; fi

die() {
  echo "dev: $*" >&2
  exit 1
}

rm -rf "$root"
mkdir -p "$folder"/state/lists/partial "$folder"/archives/partial "$root"/var/lib/dpkg/{info,updates}
: >"$folder/state/status"
mapfile -t wanted < <(awk '$1 == "run" && /header:|library:|cmake:|file:/ { print $2 }' tools/dev/system_packages.txt)
options=(-q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$folder/state"
  -o Dir::State::status="$folder/state/status" -o Dir::Cache="$folder" -o Debug::NoLocking=1)
echo "dev: fetches Debian's packages for arm64: ${wanted[*]} python3 libpython3-dev"
{
  apt-get "${options[@]}" update &&
    apt-get "${options[@]}" install -y --no-install-recommends --download-only "${wanted[@]}" python3 libpython3-dev
} >"$folder/log" 2>&1 || die "apt-get could not fetch packages for arm64:"$'\n'"$(tail -n 5 "$folder/log")"
records=$root/var/lib/dpkg
echo 1 >"$records/info/format"
for package in "$folder"/archives/*.deb; do
  dpkg-deb -x "$package" "$root"
  name=$(dpkg-deb -f "$package" Package)
  if [[ $(dpkg-deb -f "$package" Multi-Arch) == same ]]; then name+=:arm64; fi
  dpkg-deb --fsys-tarfile "$package" | tar -t | sed 's,^\.,,; s,/$,,; s,^$,/.,' >"$records/info/$name.list"
  { dpkg-deb -f "$package" Package Source Version Architecture Multi-Arch Maintainer Description &&
    echo -e 'Status: install ok installed\n'; } >>"$records/status"
done
rm -rf "$folder/archives" "$folder/state"
touch "$stamp"
