"""What holds for every host alike: a training step, threads, all hosts at once in any order, and nothing left behind.
Each host is called by its own function on one problem; a host that is not installed is skipped."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
from flashfit.integrations import _host  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
#: Each takes q, k and v as [batch, heads, rows, head_dim], and gives the same.
Call = Callable[[Any, Any, Any], Any]


def by_sdpa(q: Any, k: Any, v: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def by_transformers(q: Any, k: Any, v: Any) -> Any:
    from transformers import AttentionInterface

    module = torch.nn.Module()
    module.is_causal = False
    return AttentionInterface()["fit_attention"](module, q, k, v, None)[0].transpose(1, 2)


def by_diffusers(q: Any, k: Any, v: Any) -> Any:
    from diffusers.models.attention_dispatch import dispatch_attention_fn

    return dispatch_attention_fn(*(x.transpose(1, 2) for x in (q, k, v))).transpose(1, 2)


def by_xformers(q: Any, k: Any, v: Any) -> Any:
    from xformers.ops import memory_efficient_attention

    return memory_efficient_attention(*(x.transpose(1, 2) for x in (q, k, v))).transpose(1, 2)


def by_sageattention(q: Any, k: Any, v: Any) -> Any:
    return importlib.import_module("sageattention").sageattn(q, k, v)


def by_seedvr(q: Any, k: Any, v: Any) -> Any:
    batch, _, rows, _ = q.shape
    packed = (x.transpose(1, 2).flatten(0, 1) for x in (q, k, v))
    cu = torch.arange(batch + 1, dtype=torch.int32) * rows
    out = importlib.import_module("flash_attn").flash_attn_varlen_func(*packed, cu, cu, rows, rows)
    return out.unflatten(0, (batch, rows)).transpose(1, 2)


#: Host -> its function, and the package that it needs.
CALLS: dict[str, tuple[Call, str]] = {
    "sdpa": (by_sdpa, ""),
    "transformers": (by_transformers, "transformers"),
    "diffusers": (by_diffusers, "diffusers"),
    "xformers": (by_xformers, "xformers"),
    "sageattention": (by_sageattention, ""),
    "seedvr": (by_seedvr, ""),
}


def present() -> list[str]:
    return [name for name, (_, package) in CALLS.items() if not package or importlib.util.find_spec(package)]


def host_of(name: str) -> _host.Host:
    found: _host.Host = importlib.import_module(f"flashfit.integrations.{name}").HOST
    return found


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("FLASHFIT_DISABLE", raising=False)
    for name in present():
        monkeypatch.delenv(f"FLASHFIT_DISABLE_{name.upper()}", raising=False)
        host_of(name).notes.clear()
    yield
    for name in present():
        host_of(name).uninstall()
        host_of(name).notes.clear()


@pytest.fixture(params=list(CALLS))
def name(request: pytest.FixtureRequest) -> str:
    asked = str(request.param)
    if asked not in present():
        pytest.skip(f"no {asked}")
    return asked


def problem(seed: int = 0) -> tuple[Any, Any, Any]:
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(2, 3, 10, 16, generator=generator) for _ in range(3))
    return q, k, v


def exact(q: Any, k: Any, v: Any) -> Any:
    return ((q.double() @ k.double().transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)) @ v.double()


def counts(name: str) -> int:
    """Calls that a host's log has as taken; none may have been left."""
    lines = host_of(name).log()
    assert all(line.startswith(f"{name}: took: ") for line in lines), lines
    return sum(int(line.split("(")[-1].split()[0]) for line in lines)


class Model(torch.nn.Module):  # type: ignore[misc]
    """Projections around a host's attention."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.call = call
        self.into, self.out = torch.nn.Linear(12, 3 * 3 * 16), torch.nn.Linear(3 * 16, 12)

    def forward(self, x: Any) -> Any:
        q, k, v = self.into(x).unflatten(-1, (9, 16)).transpose(1, 2).chunk(3, dim=1)
        return self.out(self.call(q, k, v).transpose(1, 2).flatten(2))


def test_a_training_step(name: str) -> None:
    x = torch.randn(2, 10, 12, generator=torch.Generator().manual_seed(1))
    found = []
    with host_of(name).installed():
        for model in (Model(CALLS[name][0]), Model(lambda q, k, v: exact(q, k, v).float())):
            step = torch.optim.SGD(model.parameters(), 0.1)
            before = [p.detach().clone() for p in model.parameters()]
            model(x).square().mean().backward()
            step.step()
            assert all(bool((p != old).any()) for p, old in zip(model.parameters(), before))
            found.append([p.detach() for p in model.parameters()])
    for ours, want in zip(*found):
        torch.testing.assert_close(ours, want, rtol=1e-4, atol=1e-6)
    assert counts(name) == 1


def test_threads(name: str) -> None:
    wrong: list[Any] = []
    call = CALLS[name][0]

    def work(seed: int) -> None:
        try:
            given = problem(seed)
            want = exact(*given)
            with torch.no_grad():
                wrong.extend(e for _ in range(20) if (e := float((call(*given) - want).abs().max())) > 1e-5)
        except Exception as error:
            wrong.append(error)

    before = sys.getswitchinterval()
    with host_of(name).installed():
        call(*problem())  # imports, decisions
        sys.setswitchinterval(1e-5)
        try:
            threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(before)
        assert wrong == []
        assert counts(name) == 81


@pytest.mark.parametrize("name", ["sageattention", "seedvr"])
def test_functions_by_name_are_compiled_whole(name: str) -> None:
    q, k, v = problem()
    with host_of(name).installed():
        if name == "sageattention":
            function = importlib.import_module("sageattention").sageattn
            given: tuple[Any, ...] = (q, k, v)
        else:
            function = importlib.import_module("flash_attn").flash_attn_varlen_func
            packed = (x.transpose(1, 2).flatten(0, 1) for x in (q, k, v))
            cu_q, cu_k = (torch.arange(x.shape[0] + 1, dtype=torch.int32) * x.shape[2] for x in (q, k))
            given = (*packed, cu_q, cu_k, q.shape[2], k.shape[2])
        compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
        assert torch.equal(compiled(*given), function(*given))
        assert any(", compiled" in line for line in host_of(name).log())


@pytest.mark.parametrize("backwards", [False, True])
def test_all_at_once_and_out_in_any_order(backwards: bool) -> None:
    names = present()
    given = problem()
    with ExitStack() as installed:
        for name in names:
            assert installed.enter_context(host_of(name).installed())
        staying = names[::-1] if backwards else list(names)
        while staying:
            for name in staying:
                before = {each: counts(each) for each in names}
                with torch.no_grad():
                    torch.testing.assert_close(CALLS[name][0](*given).double(), exact(*given), rtol=0, atol=1e-5)
                after = {each: counts(each) for each in names}
                assert {each for each in names if after[each] != before[each]} == {name}  # taken once, by its own host
            host_of(staying.pop(0)).uninstall()


NAMES = ("sageattention", "flash_attn", "flash_attn_2_cuda", "apex")


def traces(name: str) -> Any:
    """Where a host's function is put: empty, or the host's own."""
    if name == "transformers":
        from transformers import AttentionInterface, AttentionMaskInterface

        return [r for r in (AttentionInterface, AttentionMaskInterface) if "fit_attention" in r._global_mapping]
    if name == "diffusers":
        from diffusers.models.attention_dispatch import _AttentionBackendRegistry

        return [f for f in _AttentionBackendRegistry._backends.values() if f.__module__.startswith("flashfit")]
    if name == "xformers":
        from xformers.ops import fmha

        found = (fmha._memory_efficient_attention, fmha._memory_efficient_attention_forward)
        return [f for f in found if f.__module__.startswith("flashfit")]
    if name == "sdpa":
        keys = ("CPU", "CUDA", "AutogradCPU", "AutogradCUDA")
        op = "aten::scaled_dot_product_attention"
        return [key for key in keys if torch._C._dispatch_has_kernel_for_dispatch_key(op, key)]
    return [x for x in sys.modules if x.split(".")[0] in NAMES]


def test_taken_out_a_host_is_as_it_was(name: str) -> None:
    for _ in range(2):
        with host_of(name).installed():
            assert traces(name)
            CALLS[name][0](*problem())
        assert traces(name) == []
