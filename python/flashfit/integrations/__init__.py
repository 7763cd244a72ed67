"""flashfit under unmodified models: one module a host, each with install(), uninstall(), installed() and log().

    from flashfit.integrations import sdpa
    sdpa.install()  # every F.scaled_dot_product_attention of this process, until sdpa.uninstall()

No host is imported before it is asked for. A call that flashfit does not take goes on to the host's own attention, and
log() says why. docs/use-it-in.md has a table of hosts.
"""

from __future__ import annotations

from ._host import log

__all__ = ["log"]
