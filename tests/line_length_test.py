"""Lines end by column 120, in every kind of file that people write by hand.

Each rule is a function from a tree (path -> text) to its violations, tried on this repository and on small trees that
break it. What lies past column 120 for a reason is left out by its form, so that no file is let off as a whole. Result
files, knowledge, PTX, pasted cases and lists of mutants are data (.json, .ptx, .txt, .hex), of no kind named here.
"""

from __future__ import annotations

import re

import pytest

from tests.layers_test import Rule, Tree, read_tree

LIMIT = 120
# A table's row is one line by Markdown's grammar.
TABLE_ROW = re.compile(r"^ *\|.*$", re.MULTILINE)
# What programs print stands as it is.
SESSION = re.compile(r"^```console\n.*?^```$", re.MULTILINE | re.DOTALL)
# The tool's tables and the words of result files between them; a test holds them to bench/results.
WRITTEN = re.compile(r"<!-- ([\w ]+): tools/result_tables\.py writes this -->.*?<!-- end of \1 -->", re.DOTALL)
# Patterns, pages and JSON, in which the end of a line would mean something; clang-format leaves them alone, too.
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)
# What cannot be broken, beside words.
CODE_SPAN = r"`[^`]*`"
STRING = r'"(?:\\.|[^"\\])*"'


def too_long(tree: Tree, kinds: tuple[str, ...], whole: str, *left_out: re.Pattern[str]) -> list[str]:
    """Lines past the limit, but for those with a piece that would end past it on a line of its own."""
    wrong = []
    for path, text in tree.items():
        if not f"/{path}".endswith(kinds):
            continue
        for pattern in left_out:
            text = pattern.sub(lambda m: "\n" * m.group().count("\n"), text)
        for number, line in enumerate(text.split("\n"), 1):
            indent = len(line) - len(line.lstrip())
            widest = max(map(len, re.findall(rf"(?:{whole}|\S)+", line)), default=0)
            if len(line) > LIMIT >= indent + widest:
                wrong.append(f"{path}:{number}: ends in column {len(line)}")
    return wrong


def pages_fit(tree: Tree) -> list[str]:
    return too_long(tree, (".md",), CODE_SPAN, WRITTEN, SESSION, TABLE_ROW)


def code_fits(tree: Tree) -> list[str]:
    return too_long(tree, (".cpp", ".hpp", ".cuh", ".h", ".c", ".js", ".css"), STRING, RAW_STRING)


def scripts_fit(tree: Tree) -> list[str]:
    return too_long(tree, (".py", ".cmake", "/CMakeLists.txt", ".sh", ".in", ".toml", "/dev", "/.ci/run"), STRING)


RULES: list[Rule] = [pages_fit, code_fits, scripts_fit]


@pytest.mark.parametrize("rule", RULES)
def test_holds_here(rule: Rule) -> None:
    assert rule(read_tree()) == []


WORDS = "word " * 23 + "ending"  # 121 columns
LONG = "w" * 121
BREACHES: list[tuple[Rule, dict[str, str]]] = [
    *((pages_fit, {"a.md": text}) for text in (WORDS, f"```\n{WORDS}\n```", f"a | {WORDS}", f"`a` {WORDS} `b`")),
    *((pages_fit, {"a.md": text}) for text in (f"```console\n```\n{WORDS}", f"<!-- end of a -->\n{WORDS}")),
    *((code_fits, {f"a.{kind}": f"// {WORDS}"}) for kind in ("cpp", "hpp", "cuh", "h", "c", "js", "css")),
    *((code_fits, {"a.cpp": text}) for text in (f'R"(a)";\n// {WORDS}', f'f("a", {WORDS}, "b");')),
    *((scripts_fit, {f"a.{kind}": f"# {WORDS}"}) for kind in ("py", "cmake", "sh", "in", "toml")),
    *((scripts_fit, {path: f"  {WORDS}"}) for path in ("dev", ".ci/run", "CMakeLists.txt", "src/CMakeLists.txt")),
]


@pytest.mark.parametrize(("rule", "tree"), BREACHES)
def test_sees_a_breach(rule: Rule, tree: dict[str, str]) -> None:
    assert len(rule(tree)) == 1


def test_every_rule_was_seen_to_fail() -> None:
    assert {rule for rule, _ in BREACHES} == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_lets_pass_what_cannot_be_broken(rule: Rule) -> None:
    written = f"<!-- a b: tools/result_tables.py writes this -->\n{WORDS}\n<!-- end of a b -->"
    page = "\n".join([WORDS[1:], f"| {WORDS} |", f"```console\n{WORDS}\n```", written, f"- see <{LONG}>", f"`{WORDS}`"])
    code = f'f(R"re({WORDS})re", "{LONG}");\nR"(a\n{WORDS}\n)"\n// {LONG}'
    tree = {
        "a.md": page,
        "a.cpp": code,
        "CMakeLists.txt": f'  message("{WORDS}")',
        "a.json": WORDS,
        "bench/a.txt": WORDS,
    }
    assert rule(tree) == []
