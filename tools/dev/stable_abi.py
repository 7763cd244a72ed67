"""Writes src/doctor/knowledge/stable_abi_names.cpp: the names of Python's stable ABI and the version that brought each.

The data are CPython's own (Misc/stable_abi.toml), as the package abi3info carries them.
usage: pip install abi3info && python tools/dev/stable_abi.py
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path

import abi3info

OUTPUT = Path(__file__).resolve().parents[2] / "src/doctor/knowledge/stable_abi_names.cpp"
HEAD = """// Made by tools/dev/stable_abi.py; do not edit.
// Source: CPython's Misc/stable_abi.toml, from abi3info {version}.
#include "doctor/knowledge/stable_abi.hpp"

namespace flashfit::doctor {{

const std::vector<StableAbiNames>& stable_abi_names() {{
  static const std::vector<StableAbiNames> names = {{
"""
TAIL = """  };
  return names;
}

}  // namespace flashfit::doctor
"""


def main() -> None:
    by_minor = defaultdict(list)
    for item in [*abi3info.FUNCTIONS.values(), *abi3info.DATAS.values()]:
        by_minor[item.added.minor].append(item.symbol.name)
    out = HEAD.format(version=version("abi3info"))
    for minor, names in sorted(by_minor.items()):
        lines = textwrap.wrap(" ".join(sorted(names)), 108)
        quoted = "\n".join(f'       "{line} "' for line in lines)
        out += f"      {{{minor},\n{quoted}}},\n"
    OUTPUT.write_text(out + TAIL, encoding="utf-8")


if __name__ == "__main__":
    main()
