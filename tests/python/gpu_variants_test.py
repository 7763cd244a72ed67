"""What `./dev gpu` reads out of the names of carried variants."""

from __future__ import annotations

import flashfit

from tools.gpu.variants import candidates


def test_every_carried_variant_is_a_candidate() -> None:
    named = {i["variant"] for i in flashfit.images() if i["operation"] == "attention.forward"}
    if not named:
        assert candidates("9.0") == []
        return
    found = {candidate.variant for gpu in ("7.5", "8.9", "9.0", "12.0") for candidate in candidates(gpu)}
    assert found == named
