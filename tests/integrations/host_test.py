"""What the integrations have in common: installing, switches, the log. With a host made up here."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

import flashfit
import pytest
from flashfit import integrations
from flashfit.integrations import _host
from flashfit.integrations._host import Host
from flashfit.integrations._log import Log

from tests.integrations.fresh_python import python


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Host, list[str]]]:
    monkeypatch.setattr(_host, "_hosts", {})
    for name in ("FLASHFIT_DISABLE", "FLASHFIT_DISABLE_MADE"):
        monkeypatch.delenv(name, raising=False)

    def make(**options: Any) -> tuple[Host, list[str]]:
        happened: list[str] = []

        def put_in() -> Callable[[], None]:
            happened.append("in")
            return lambda: happened.append("out")

        return Host("made", put_in, **options), happened

    return make


def test_installing_twice_is_installing_once(made: Any) -> None:
    host, happened = made()
    assert not host.is_installed
    assert host.install()
    assert host.install()
    assert host.is_installed
    host.uninstall()
    host.uninstall()
    assert happened == ["in", "out"]
    assert not host.is_installed


def test_a_block_leaves_what_was_there(made: Any) -> None:
    host, happened = made()
    with host.installed() as taken:
        assert taken
        with host.installed():
            pass
        assert host.is_installed
    assert happened == ["in", "out"]
    host.install()
    with pytest.raises(ZeroDivisionError), host.installed():
        raise ZeroDivisionError
    assert host.is_installed


@pytest.mark.parametrize(
    ("variable", "value", "turns_off"),
    [
        ("FLASHFIT_DISABLE", "1", True),
        ("FLASHFIT_DISABLE", "gpu", False),
        ("FLASHFIT_DISABLE_MADE", "1", True),
        ("FLASHFIT_DISABLE_MADE", "0", False),
        ("FLASHFIT_DISABLE_OTHER", "1", False),
    ],
)
def test_switches(made: Any, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, turns_off: bool) -> None:
    host, happened = made()
    monkeypatch.setenv(variable, value)
    assert host.install() is not turns_off
    assert happened == ([] if turns_off else ["in"])
    if turns_off:
        assert host.log() == [f"made: left: every call: {variable}={value} turns it off (1 call)"]


def test_a_host_that_is_called_by_name_stays_in_when_it_is_off(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHFIT_DISABLE", "1")
    host, happened = made(even_if_off=True)
    assert not host.install()
    assert happened == ["in"]
    host.uninstall()
    assert happened == ["in", "out"]


@pytest.mark.parametrize("even_if_off", [False, True])
def test_a_switch_counts_for_a_host_that_is_installed_already(
    made: Any, monkeypatch: pytest.MonkeyPatch, even_if_off: bool
) -> None:
    host, happened = made(even_if_off=even_if_off)
    assert host.install()
    monkeypatch.setenv("FLASHFIT_DISABLE_MADE", "1")
    assert not host.install()
    assert not host.install()
    assert happened == (["in", "out", "in"] if even_if_off else ["in", "out"])
    monkeypatch.delenv("FLASHFIT_DISABLE_MADE")
    assert host.install()
    assert happened == (["in", "out", "in", "out", "in"] if even_if_off else ["in", "out", "in"])
    assert host.is_installed


def test_without_the_library_installing_fails(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Any:
        raise flashfit.FlashfitError("libflashfit.so is not there")

    monkeypatch.setattr(_host, "library", absent)
    host, happened = made()
    with pytest.raises(flashfit.FlashfitError, match="is not there"):
        host.install()
    assert happened == []


def test_a_line_for_each_distinct_call(caplog: pytest.LogCaptureFixture) -> None:
    log = Log("made")
    with caplog.at_level(logging.INFO, "flashfit.integrations"):
        for _ in range(3):
            log.note("fp16 on cpu")
        log.note("fp16 on cpu", "dropout_p: 0.1")
    assert log.lines() == [
        "made: took: fp16 on cpu (3 calls)",
        "made: left: fp16 on cpu: dropout_p: 0.1 (1 call)",
    ]
    assert [r.getMessage() for r in caplog.records] == [
        "made: took: fp16 on cpu",
        "made: left: fp16 on cpu: dropout_p: 0.1",
    ]
    log.clear()
    assert log.lines() == []


def test_threads_lose_no_call() -> None:
    log = Log("made")

    def work() -> None:
        for _ in range(500):
            log.note("call")

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(before)
    assert log.lines() == ["made: took: call (2000 calls)"]


def test_the_log_of_all_hosts(made: Any) -> None:
    host, _ = made()
    host.notes.note("call")
    assert integrations.log() == ["made: took: call (1 call)"]


def test_no_host_is_imported_before_it_is_asked_for() -> None:
    code = """
import pkgutil, sys, flashfit.integrations
for found in pkgutil.iter_modules(flashfit.integrations.__path__):
    if not found.name.startswith("_"):
        __import__("flashfit.integrations." + found.name)
print([name for name in ("torch", "transformers", "diffusers", "xformers", "sageattention") if name in sys.modules])
"""
    assert python(code) == "[]\n"
