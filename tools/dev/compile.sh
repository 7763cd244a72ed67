#!/bin/sh
# usage: compile.sh STORE COMPILER ARGUMENT...
# Compiles, where ccache is there through it: what another clone on this machine compiled alike is not compiled again.
# Ninja sees the same command with and without ccache, so that installing ccache makes it compile nothing anew.
store=$1
shift
command -v ccache >/dev/null || exec "$@"
root=$(dirname "$(dirname "$(dirname "$0")")")
export CCACHE_DIR="$store" CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=3G
# The bytes of a precompiled header differ at each run: its .sum, of the text that went into it, stands for it.
export CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros
case " $* " in
  *" c++-header "*) ;;
  *) exec ccache "$@" ;;
esac
ccache "$@" || exit
# The same command without the last "-o FILE" prints that text, where the compiled header is not in its way.
header='' last=''
for argument; do
  shift
  if [ "$last" = -o ]; then header=$argument; elif [ "$argument" != -o ]; then set -- "$@" "$argument"; fi
  last=$argument
done
mv "$header" "$header.made"
"$@" -E -P | sha256sum >"$header.sum"
mv "$header.made" "$header"
