"""Pages are found from docs/README.md, their links lead somewhere, and what they list is what there is.

Each rule is a function from a tree (path -> text) to its violations, tried on this repository and on small trees that
break it.
"""

from __future__ import annotations

import posixpath
import re

import pytest

from tests.layers_test import DOCTOR, ROOT, SEES, Rule, Tree, read_tree

LONGEST_README = 150
CODE = re.compile(r"^( *)(```+).*?^\1\2 *$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")


def pages(tree: Tree) -> dict[str, str]:
    """What people read: README.md, CONTRIBUTING.md and docs, without what stands as code."""
    read = {path: text for path, text in tree.items() if re.fullmatch(r"(README|CONTRIBUTING|docs/.*)\.md", path)}
    return {path: CODE.sub(lambda m: "x" * len(m.group()), text) for path, text in read.items()}


def links(path: str, text: str) -> list[tuple[str, str]]:
    """Files of the repository that a page links to, each with its anchor."""
    found = (a or b for a, b in LINK.findall(text))
    relative = [link.partition("#") for link in found if not re.match(r"[a-z]+:", link)]
    folder = posixpath.dirname(path)
    return [(posixpath.normpath(posixpath.join(folder, file)) if file else path, at) for file, _, at in relative]


def anchors(text: str) -> set[str]:
    """Of a page's headings, as GitHub makes them."""
    bare = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in bare}


def readme_is_short(tree: Tree) -> list[str]:
    lines = tree["README.md"].count("\n")
    return [f"README.md: {lines} lines; at most {LONGEST_README}"] if lines > LONGEST_README else []


def every_page_is_reached(tree: Tree) -> list[str]:
    """From docs/README.md, which README.md links to; a finding's page is reached by its code."""
    there = pages(tree)
    seen, left = set[str](), ["docs/README.md"]
    while left:
        page = left.pop()
        if page in there and page not in seen:
            seen.add(page)
            left += [file for file, _ in links(page, there[page])]
    linked = ("docs/README.md", "") in links("README.md", there["README.md"])
    lost = [p for p in there if p.startswith("docs/") and p not in seen and not re.search(r"/FF\w+\.md$", p)]
    return [f"{page}: no link leads to it" for page in [*lost, *([] if linked else ["docs/README.md"])]]


def links_lead_somewhere(tree: Tree) -> list[str]:
    folders = {posixpath.dirname(path) for path in tree}
    wrong = []
    for page, text in pages(tree).items():
        for file, at in links(page, text):
            if file not in tree and file not in folders:
                wrong.append(f"{page}: {file} is not there")
            elif at and at not in anchors(tree.get(file, "")):
                wrong.append(f"{page}: {file} has no heading #{at}")
    return wrong


def folders_are_those_of_the_layers(tree: Tree) -> list[str]:
    """The tables of docs/architecture.md name the layers of layers_test.py, in their order and alone."""
    section = tree["docs/architecture.md"].partition("## Layers\n")[2].partition("\n## ")[0]
    tables = re.findall(r"\| Folder of `(src(?:/doctor)?)` .*\n\|.*\n((?:\|.*\n)+)", section)
    named = {of: re.findall(r"^\| `([^`]+)`", rows, re.MULTILINE) for of, rows in tables}
    wrong = []
    for of, folders in (("src", [*SEES]), ("src/doctor", DOCTOR)):
        found = named.get(of, [])
        wrong += [f"docs/architecture.md: {of} has no {name}" for name in found if name not in folders]
        wrong += [f"docs/architecture.md: {of}'s {name} is not in the table" for name in folders if name not in found]
        if sorted(found) == sorted(folders) and of == "src/doctor" and found != folders:
            wrong.append(f"docs/architecture.md: the order of {of} is {', '.join(folders)}")
    return wrong


def wings_are_those_of_the_layers(tree: Tree) -> list[str]:
    """Where a page draws the wings, each folder of SEES sees those left of its own wing alone."""
    wrong = []
    for page in ("CONTRIBUTING.md", "docs/architecture.md"):
        rows = re.findall(r"^    (core <- [\w<\- /]+)$", tree[page], re.MULTILINE)
        drawn = [row.replace(" ", "").split("<-") for row in rows]
        wings = {wing for row in drawn for wing in row if "/" not in wing}
        wrong += [f"{page}: no wing {wing}" for wing in sorted({layer.split("/")[0] for layer in SEES} - wings)]
        for layer, sees in SEES.items():
            wing = layer.split("/")[0]
            left = {other for row in drawn if wing in row for other in row[: row.index(wing) + 1]}
            if wing == "cli":  # at the end of both
                left |= wings
            wrong += [f"{page}: {layer} sees {other}" for other in sees if other.split("/")[0] not in left]
    return wrong


RULES: list[Rule] = [
    readme_is_short,
    every_page_is_reached,
    links_lead_somewhere,
    folders_are_those_of_the_layers,
    wings_are_those_of_the_layers,
]


@pytest.fixture(scope="module")
def repository() -> dict[str, str]:
    return read_tree()


@pytest.mark.parametrize("rule", RULES)
def test_holds_here(rule: Rule, repository: dict[str, str]) -> None:
    assert rule(repository) == []


def table(of: str, names: list[str]) -> str:
    return f"| Folder of `{of}` | What |\n| --- | --- |\n" + "".join(f"| `{name}` | x |\n" for name in names) + "\n"


WINGS = "    core <- kernels <- runtime <- proof <- measure <- cli\n    core <- doctor <- cli/doctor\n\n"
GOOD = {
    "README.md": "[d](docs/README.md) ![c](docs/c.svg) [w](https://example.org/x)\n",
    "CONTRIBUTING.md": WINGS,
    "docs/c.svg": "",
    "docs/README.md": "[a](architecture.md#layers) [b](b.md) [f](doctor/)\n",
    "docs/architecture.md": f"## Layers\n\n{WINGS}{table('src', [*SEES])}{table('src/doctor', DOCTOR)}## Rest\n",
    "docs/b.md": "# B `b`, and [c](b.md#b-b-and-c)\n\n```\n[no](no.md)\n```\n`[no](no.md)`\n",
    "docs/doctor/FF101.md": "",
}
LAYERS = GOOD["docs/architecture.md"]
BREACHES: list[tuple[Rule, dict[str, str]]] = [
    (readme_is_short, {"README.md": "\n" * 151}),
    (every_page_is_reached, {"docs/new.md": ""}),
    (every_page_is_reached, {"docs/speed/new.md": ""}),
    (every_page_is_reached, {"docs/README.md": "[a](architecture.md)"}),
    (every_page_is_reached, {"README.md": ""}),
    (links_lead_somewhere, {"docs/b.md": "[x](x.md)"}),
    (links_lead_somewhere, {"docs/b.md": "[x](architecture.md#layer)"}),
    (links_lead_somewhere, {"README.md": '<img src="docs/d.svg">'}),
    (folders_are_those_of_the_layers, {"docs/architecture.md": LAYERS.replace("| `proof/emu` | x |\n", "")}),
    (folders_are_those_of_the_layers, {"docs/architecture.md": LAYERS.replace("| `cli` |", "| `cli` |\n| `emu` |")}),
    (folders_are_those_of_the_layers, {"docs/architecture.md": LAYERS.replace("| `facts` | x |\n", "")}),
    (
        folders_are_those_of_the_layers,
        {
            "docs/architecture.md": LAYERS.replace("`facts`", "`f`")
            .replace("`rules`", "`facts`")
            .replace("`f`", "`rules`")
        },
    ),
    (wings_are_those_of_the_layers, {"CONTRIBUTING.md": WINGS.replace("proof <- measure", "measure <- proof")}),
    (wings_are_those_of_the_layers, {"docs/architecture.md": WINGS.replace("<- measure ", "")}),
]


@pytest.mark.parametrize(("rule", "broken"), BREACHES)
def test_sees_a_breach(rule: Rule, broken: dict[str, str]) -> None:
    assert rule({**GOOD, **broken})


def test_every_rule_was_seen_to_fail() -> None:
    assert {rule for rule, _ in BREACHES} == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_lets_good_pages_pass(rule: Rule) -> None:
    assert rule(GOOD) == []


def test_where_it_has_run_comes_before_every_gpu() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert 0 < text.index("Where it has run") < text.index("every GPU")
