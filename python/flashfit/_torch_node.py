"""A call that needs gradients as a node of autograd's graph that is PyTorch's own, in C++.

PyTorch's operators of flash attention have nodes of C++, whose backward is its flash backward: the one that
`_torch_gradients.py` asks by a node of Python, which costs the CPU more than a small forward and backward do. The
autograd kernel of such an operator makes the node and hands the forward on to the dispatch keys that are left below
autograd. It is asked here with a set of keys that ends in one that no tensor has, under which flashfit's forward is
registered. So these calls alone come to flashfit, and PyTorch's own calls of the operator stay PyTorch's.

The forward is there twice. Under PrivateUse2 it is the compiled module's, which needs no Python, where torch has the
stable C interface (_torch_shim.py); what the C API refuses there has no result. Under PrivateUse3 it is this file's,
which takes what the other refused, and words what is wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import torch

from ._attention import scale_of
from ._binding import binding
from ._gradients import misfit_of
from ._options import flags_of
from ._torch_compute import compute, new_out
from ._torch_gradients import problem_of
from ._torch_shim import Registration, shim

_Keys, _Key = torch._C.DispatchKeySet, torch._C.DispatchKey
_PYTHONS = _Keys(_Key.AutogradPrivateUse3) | _Keys(_Key.PrivateUse3)
_MODULES = _Keys(_Key.AutogradPrivateUse2) | _Keys(_Key.PrivateUse2)
#: A node, as a function of (q, k, v, softmax_scale).
Node = Callable[[Any, Any, Any, Any], Any]
_attend = binding().attend
_set_grad_enabled: Callable[[bool], None] = torch._C._set_grad_enabled


def _forward(q: Any, k: Any, v: Any, causal: bool, scale: float | None, layout: str) -> Any:
    """(out, lse), by the shortest way where nothing is wrong. Below autograd, which knows already what needs a
    gradient."""
    batch, heads, rows, _ = q.shape
    heads_first = layout == "bhsd"
    if not heads_first:
        heads, rows = rows, heads
    lse, out = q.new_empty((batch, heads, rows), dtype=torch.float32), new_out(q, v)
    if _attend(q, k, v, out, lse, None, None, flags_of(causal), scale or 0.0, None, None, heads_first) == 0:
        return out, lse
    _set_grad_enabled(False)  # what reads tensors with care refuses those that need one
    try:
        return compute(q, k, v, None, None, causal, scale, layout, True, None)
    finally:
        _set_grad_enabled(True)


@cache
def _random_of(device: Any) -> tuple[Any, Any, Any]:
    """The state of dropout's random numbers, which without dropout nobody reads, and the mask that shows them."""
    words = torch.empty(2, dtype=torch.uint64, device=device)
    return words, words[0], torch.empty(0, device=device)


def _on_cpu(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    """aten::_scaled_dot_product_flash_attention_for_cpu."""
    return _forward(query, key, value, is_causal, scale, "bhsd")


def _on_gpu(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    """aten::_scaled_dot_product_flash_attention."""
    out, lse = _forward(query, key, value, is_causal, scale, "bhsd")
    return (out, lse, None, None, query.shape[2], key.shape[2], *_random_of(query.device))


def _on_gpu_rows_first(
    query: Any,
    key: Any,
    value: Any,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: int,
    max_k: int,
    dropout_p: float,
    is_causal: bool,
    return_debug_mask: bool,
    *,
    scale: float | None = None,
) -> Any:
    """aten::_flash_attention_forward."""
    return (*_forward(query, key, value, is_causal, scale, "bshd"), *_random_of(query.device))


class Ways(NamedTuple):
    """How an operator's node is asked for, as functions of the operator's arguments, whose first result is out."""

    quick: Callable[..., Any]  # out is None where the C API refuses the call
    careful: Callable[..., Any]


class _Operator:
    """PyTorch's operator of a name, with flashfit's forward where it is asked by keys that no tensor has.

    arguments: how the names of its arguments begin, and results: how many it has, in the releases that are known. more:
    what it takes after q, k and v of one row in a call without options.
    """

    def __init__(
        self, name: str, forward: Callable[..., Any], arguments: str, results: int, more: tuple[Any, ...] = ()
    ) -> None:
        self._name, self._forward, self._arguments, self._results = name, forward, arguments, results
        self._more = more
        self._lock = threading.Lock()
        self._library: Any = None  # registers the forward as long as it lives
        self._modules: Registration | None = None
        self._ways: Any = NotImplemented

    def ways(self) -> Ways | None:
        """How it is asked; None where this release of PyTorch has it with other arguments or results, or does not hand
        the forward on."""
        with self._lock:
            if self._ways is NotImplemented:
                self._ways = self._registered()
            return self._ways  # type: ignore[no-any-return]

    def _registered(self) -> Ways | None:
        try:
            op = getattr(torch.ops.aten, self._name).default
            asked = op._handle.redispatch_boxed
        except AttributeError:
            return None
        names = " ".join(x.name for x in op._schema.arguments)
        if not names.startswith(self._arguments) or len(op._schema.returns) != self._results:
            return None
        self._library = torch.library.Library("aten", "IMPL")
        self._library.impl(self._name, self._forward, "PrivateUse3")
        careful = partial(asked, _PYTHONS)
        if not self._serves(careful):
            return None
        quick = partial(asked, _MODULES)
        return Ways(quick if self._register_modules() and self._serves(quick) else careful, careful)

    def _register_modules(self) -> bool:
        """Whether the compiled module has such a forward, which then is registered."""
        found = shim()
        kernel = found.kernels.get(self._name) if found else None
        if found is None or kernel is None:
            return False
        try:
            self._modules = Registration(found, self._name, "PrivateUse2", kernel)
        except RuntimeError:
            return False
        return True

    def _serves(self, asked: Callable[..., Any]) -> bool:
        """Whether calls come to flashfit and get a node: of one key the result is v."""
        served: list[bool] = []

        def attempt() -> None:
            with torch.inference_mode(False), torch.enable_grad():
                v = torch.full((1, 1, 1, 8), 0.5, dtype=torch.float32, device="cpu", requires_grad=True)
                try:
                    outs = [asked(v, v, v, *self._more, **options)[0] for options in ({}, {"scale": 0.5})]
                    served.append(all(out.grad_fn is not None and bool((out == v).all()) for out in outs))
                except Exception:  # of a release that does this otherwise
                    served.append(False)

        # In a thread of its own, where nothing watches the caller's tensors: a checkpoint counts those that are saved.
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
        return served == [True]


_DENSE = "query key value dropout_p is_causal "
_ON_CPU = _Operator("_scaled_dot_product_flash_attention_for_cpu", _on_cpu, _DENSE + "attn_mask scale", 2)
_ON_GPU = _Operator("_scaled_dot_product_flash_attention", _on_gpu, _DENSE + "return_debug_mask scale", 9)
_ON_GPU_ROWS_FIRST = _Operator(
    "_flash_attention_forward",
    _on_gpu_rows_first,
    "query key value cum_seq_q cum_seq_k max_q max_k dropout_p is_causal return_debug_mask scale",
    5,
    (None, None, 1, 1, 0.0, False, False),
)


def _node(ways: Ways, default: float, rest: tuple[Any, ...]) -> Node:
    """Of the operator's arguments after q, k and v, without those at the end that a call has not: what is not given
    costs the least. default: the scale that needs not be given."""
    quick, careful = ways

    def node(q: Any, k: Any, v: Any, softmax_scale: Any) -> Any:
        is_default = False
        try:
            if softmax_scale is None or softmax_scale == default:
                is_default = True
        except (RuntimeError, ValueError):  # of several numbers, which scale_of() refuses
            pass
        if is_default:
            out = quick(q, k, v, *rest)[0]
            return careful(q, k, v, *rest)[0] if out is None else out
        scale = scale_of(softmax_scale)
        out = quick(q, k, v, *rest, scale=scale)[0]
        return careful(q, k, v, *rest, scale=scale)[0] if out is None else out

    return node


def _turned(node: Node) -> Node:
    """For rows before heads, where PyTorch has a node for heads before rows alone."""
    return lambda q, k, v, softmax_scale: node(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), softmax_scale
    ).transpose(1, 2)


def _made(q: Any, k: Any, v: Any, causal: bool, layout: str) -> Node | None:
    if q.dim() != 4 or k.dim() != 4 or v.dim() != 4 or 0 in q.shape or 0 in k.shape or layout not in ("bshd", "bhsd"):
        return None
    heads, rows = (1, 2) if layout == "bhsd" else (2, 1)
    if causal and q.shape[rows] != k.shape[rows]:
        return None
    if misfit_of(problem_of(q, v)) is not None:
        return None
    head_dim, dense = int(q.shape[3]), layout == "bhsd"
    if q.is_cuda:
        ways = (_ON_GPU if dense else _ON_GPU_ROWS_FIRST).ways() if head_dim % 8 == 0 else None
    else:
        ways = _ON_CPU.ways() if q.shape[heads] == k.shape[heads] else None
    if ways is None:
        return None
    if q.is_cuda and not dense:
        return _node(ways, head_dim**-0.5, (None, None, q.shape[1], k.shape[1], 0.0, causal, False))
    node = _node(ways, head_dim**-0.5, (0.0, True) if causal else ())
    return node if dense else _turned(node)


_nodes: dict[tuple[Any, ...], Node | None] = {}
_MOST = 4096  # of calls that differ


def own_node(q: Any, k: Any, v: Any, causal: Any, layout: Any) -> Node | None:
    """The node of attention's result for plain tensors in plain eager mode and no option but a scale; None where
    PyTorch has none, and _torch_gradients.py brings the call into a form that its backward takes.

    On the CPU that has no groups of heads, and a causal mask that begins at the first key; on a GPU it has head_dims of
    multiples of 8. The node refuses a scale, and other tensors than those of a call, as attention() does.
    """
    if (causal is not True and causal is not False) or type(layout) is not str:
        return None
    key = q.shape, k.shape, v.shape, q.device, causal, layout
    try:
        return _nodes[key]
    except KeyError:
        pass
    if len(_nodes) >= _MOST:
        _nodes.clear()
    found = _nodes[key] = _made(q, k, v, causal, layout)
    return found
