"""Modules that hosts import by name: contents put into those that are imported, others stood in for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def _put_into(module: Any, contents: Mapping[str, Any]) -> Callable[[], None]:
    before = {each: vars(module)[each] for each in contents if each in vars(module)}
    vars(module).update(contents)

    def give_back() -> None:
        for each, put in contents.items():
            if vars(module).get(each) is put:
                del vars(module)[each]
                vars(module).update({each: before[each]} if each in before else {})

    return give_back


def _stand_in(name: str, contents: Mapping[str, Any], about: str, version: str) -> Callable[[], None]:
    module: Any = ModuleType(name, about)
    module.__spec__ = ModuleSpec(name, None)  # so that importlib.util.find_spec finds it
    module.__path__ = []  # a package: what it lacks is no module of it
    if version:
        module.__version__ = version
    vars(module).update(contents)
    sys.modules[name] = module
    parent, _, own = name.rpartition(".")
    of_parent = _put_into(sys.modules[parent], {own: module}) if parent in sys.modules else None

    def take_out() -> None:
        if of_parent is not None:
            of_parent()
        if sys.modules.get(name) is module:
            del sys.modules[name]

    return take_out


def put(name: str, contents: Mapping[str, Any], about: str, version: str = "") -> Callable[[], None]:
    """Gives the module of a name these contents, so that `from name import ...` finds them: the module that is
    imported, or, where none is, one that stands in for it, with `about` as its docstring and a version. a is put before
    a.b. Code that has imported contents before keeps what it has. Returns what takes them out again."""
    module = sys.modules.get(name)
    return _stand_in(name, contents, about, version) if module is None else _put_into(module, contents)
