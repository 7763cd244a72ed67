"""No module of the package imports another in a circle, within functions neither: each can be read, and loaded, before
what needs it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "flashfit"
Modules = Mapping[str, str]  # by name; a package is called as its folder, with ".__init__" behind it


def modules_of(package: Path) -> dict[str, str]:
    files = package.rglob("*.py")
    return {
        ".".join(file.relative_to(package.parent).with_suffix("").parts): file.read_text(encoding="utf-8")
        for file in files
    }


def statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import that can run: of functions too, but none that only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from statements(ast.Module([other], []))
        else:
            yield from statements(child)


def imports(name: str, modules: Modules) -> set[str]:
    """The modules that this one's imports name. `from package import name` is a module where one is called so, and else
    the package."""
    found: set[str] = set()
    for statement in statements(ast.parse(modules[name])):
        if isinstance(statement, ast.Import):
            found.update(each.name for each in statement.names)
            continue
        base = name.split(".")[: -statement.level] if statement.level else []
        base += [statement.module] if statement.module else []
        for each in statement.names:
            full = ".".join([*base, each.name])
            is_module = full in modules or f"{full}.__init__" in modules
            found.add(full if is_module else ".".join(base))
    return {each if each in modules else f"{each}.__init__" for each in found} & set(modules)


def circles(modules: Modules) -> list[str]:
    """The modules that reach themselves."""
    direct = {name: imports(name, modules) for name in modules}

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        ahead = list(direct[name])
        while ahead:
            at = ahead.pop()
            if at not in found:
                found.add(at)
                ahead.extend(direct[at])
        return found

    return sorted(name for name in modules if name in reached(name))


def test_no_circle_in_the_package() -> None:
    modules = modules_of(PACKAGE)
    assert "flashfit._torch" in imports("flashfit._operations", modules)  # within a function
    assert "flashfit._errors" in imports("flashfit._packages.__init__", modules)  # of the folder above
    assert "flashfit.__init__" in imports("flashfit.bench.machine", modules)
    assert circles(modules) == []


@pytest.mark.parametrize(
    "back",
    [
        "from . import a",
        "from .a import x",
        "import p.a",
        "def f():\n    from .a import x",
        "class C:\n    def f(self):\n        if self:\n            import p.a",
        "try:\n    pass\nfinally:\n    from p import a",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from . import a",
    ],
)
def test_a_circle_is_found(back: str) -> None:
    modules = {"p.__init__": "", "p.a": "from .inner import b", "p.inner.__init__": "", "p.inner.b": "from .. import c"}
    assert circles({**modules, "p.c": ""}) == []
    assert circles({**modules, "p.c": back}) == ["p.a", "p.c", "p.inner.b"]


def test_what_type_checkers_alone_see_is_no_import() -> None:
    hidden = "if typing.TYPE_CHECKING:\n    from .a import x"
    assert circles({"p.__init__": "", "p.a": "from . import b", "p.b": hidden}) == []
    assert circles({"p.__init__": "from .a import x", "p.a": "import p"}) == ["p.__init__", "p.a"]
