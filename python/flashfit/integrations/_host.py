"""What the integrations have in common: how a host is installed and taken out again, and what turns it off."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock

from .._library import library
from ._log import Log

#: Every host that was asked for in this process, by name.
_hosts: dict[str, Host] = {}


def off(name: str) -> str:
    """The setting that turns a host's integration off, as text; "" if none does."""
    for variable in ("FLASHFIT_DISABLE", f"FLASHFIT_DISABLE_{name.upper()}"):
        value = os.environ.get(variable, "")
        if value not in ("", "0", "gpu"):
            return f"{variable}={value}"
    return ""


class Host:
    """A library whose attention flashfit can take over.

    name: as its switch has it: FLASHFIT_DISABLE_<NAME>. put_in: hooks flashfit into the host, which it imports, and
    returns what takes it out again. even_if_off: put_in is called although a setting turns the host's integration off,
    for then the host's own attention has to answer by a name that install() gives.
    """

    def __init__(self, name: str, put_in: Callable[[], Callable[[], None]], even_if_off: bool = False) -> None:
        self.name, self._put_in, self._even_if_off = name, put_in, even_if_off
        self._take_out: Callable[[], None] | None = None
        self._setting = ""  # what off() said when it was put in
        self._lock = RLock()
        self.notes = Log(name)
        _hosts[name] = self

    @property
    def is_installed(self) -> bool:
        """Whether the host's calls come here."""
        return self._take_out is not None

    def install(self) -> bool:
        """Takes the host's calls from now on; returns whether it does.

        It does not where FLASHFIT_DISABLE or FLASHFIT_DISABLE_<NAME> is set to anything but 0 or gpu, which log()
        says. Doing it twice is doing it once. Raises ImportError if the host is not there, FlashfitError if flashfit's
        library is not.
        """
        with self._lock:
            setting = off(self.name)
            if setting != self._setting:  # what was put in before would not do what it says
                self.uninstall()
            if setting:
                self.notes.note("every call", f"{setting} turns it off")
            else:
                library()  # an error about it belongs here, not into a model's first call
            if self._take_out is None and (not setting or self._even_if_off):
                self._take_out, self._setting = self._put_in(), setting
            return self.is_installed and not setting

    def uninstall(self) -> None:
        """Leaves the host's calls to the host, as if flashfit had never been there."""
        with self._lock:
            take_out, self._take_out = self._take_out, None
            if take_out is not None:
                take_out()

    @contextmanager
    def installed(self) -> Iterator[bool]:
        """install() within a block; what was installed before stays so after it."""
        before = self.is_installed
        try:
            yield self.install()
        finally:
            if not before:
                self.uninstall()

    def log(self) -> list[str]:
        """A line for each distinct call that was taken, or left and why, with how often."""
        return self.notes.lines()


def log() -> list[str]:
    """The lines of all hosts that were used in this process."""
    return [line for host in _hosts.values() for line in host.log()]
