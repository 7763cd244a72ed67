"""What a call through a host costs the CPU, counted: the functions that run for a call whose like was seen before.
Times are bench/host_cost.py's; these counts are the same on every machine, and grow if a call is looked at anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
from flashfit._binding import binding  # noqa: E402
from flashfit._torch_shim import shim  # noqa: E402
from flashfit.integrations import _sdpa_kernel, sdpa  # noqa: E402

from tests.integrations.watching import functions_run  # noqa: E402

pytestmark = pytest.mark.skipif(binding().native is None, reason="ctypes reads tensors in Python")
attend: Callable[..., Any] = torch.nn.functional.scaled_dot_product_attention


def functions_of(call: Callable[[], Any]) -> int:
    """How many functions of Python run in the call; C's are as many at any time."""
    return len(functions_run(call))


Q, K, V = (torch.randn(1, 4, 3, 16, generator=torch.Generator().manual_seed(i)) for i in range(3))
NEEDS = Q.clone().requires_grad_()
MASK = torch.zeros(3, 3)
#: The compiled module answers by itself what is plain or left, where this torch has what that needs.
BY_ITSELF = 1 if _sdpa_kernel._address() else 5
#: A call, and the functions that may run: the call itself, the dispatcher's kernel, take(), two of torch.compiler, and
#: what else it needs.
CALLS: dict[str, tuple[Callable[[], Any], int]] = {
    "plain": (lambda: attend(Q, K, V), BY_ITSELF),
    "masked": (lambda: attend(Q, K, V, attn_mask=MASK), BY_ITSELF),
    "left for its dropout": (lambda: attend(Q, K, V, dropout_p=0.5), BY_ITSELF),
    "left for its dropout, with gradients": (lambda: attend(NEEDS, K, V, dropout_p=0.5), BY_ITSELF),
    "left for its dtype": (lambda: attend(Q.double(), K.double(), V.double()), BY_ITSELF),
    "left for its heads": (lambda: attend(Q, K[:, :1], V[:, :1]), BY_ITSELF if BY_ITSELF == 1 else 6),
    # By itself it goes straight to the way; the forward is C++ or Python.
    "with gradients": (lambda: attend(NEEDS, K, V), (4 if BY_ITSELF == 1 else 8) if shim() else 21),
    "with gradients, masked": (lambda: attend(NEEDS, K, V, attn_mask=MASK), 30),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_whose_like_was_seen_runs_few_functions(name: str) -> None:
    call, most = CALLS[name]
    with sdpa.installed():
        first = functions_of(call)
        call()  # the native module makes its own check of the second
        again = [functions_of(call) for _ in range(3)]
    assert max(again) <= most
    assert first > most  # what was decided is what is saved
