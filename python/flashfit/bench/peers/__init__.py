"""Other implementations, one class a peer."""

from __future__ import annotations

from collections.abc import Sequence

from ..._errors import InvalidArgument
from .base import CannotError, Peer
from .flash_attention import FlashAttention
from .flex import Flex
from .others import FlashInfer, SageAttention, Xformers
from .pytorch import Sdpa, Varlen

__all__ = ["CannotError", "Peer", "all_peers", "chosen_peers"]


def all_peers() -> list[Peer]:
    """Every attention that is known, installed or not."""
    return [
        Sdpa("sdpa-flash", "FLASH_ATTENTION", takes_mask=False, on_cpu=True),
        Sdpa("sdpa-cudnn", "CUDNN_ATTENTION", takes_mask=False, on_cpu=False),
        Sdpa("sdpa-efficient", "EFFICIENT_ATTENTION", takes_mask=True, on_cpu=False),
        Sdpa("sdpa-math", "MATH", takes_mask=True, on_cpu=True),
        Varlen(),
        Flex(),
        FlashAttention("flash-attn-2", "flash-attn", "flash_attn"),
        FlashAttention("flash-attn-3", "fa3-fwd", "flash_attn_interface", "fa3_fwd_interface"),
        FlashAttention("flash-attn-4", "flash-attn-4", "flash_attn.cute.interface", "flash_attn.cute"),
        Xformers(),
        SageAttention(),
        FlashInfer(),
    ]


def chosen_peers(
    device: str, names: Sequence[str], known: Sequence[Peer] | None = None
) -> tuple[list[Peer], dict[str, str]]:
    """Of the known (default: attention's), those to measure, and of the others why not. No names: all that can be
    measured here; a named one that cannot is an error. "none" alone means none."""
    known = all_peers() if known is None else known
    accepted = [peer.name for peer in known]
    if list(names) == ["none"]:
        return [], {}
    for name in names:
        if name not in accepted:
            raise InvalidArgument(f"peers: {name!r}; accepted: none, {', '.join(accepted)}")
    missing = {peer.name: peer.missing(device) for peer in known if not names or peer.name in names}
    absent = {name: said for name, said in missing.items() if said}
    if names and absent:
        raise InvalidArgument(f"peers: {', '.join(f'{name} ({said})' for name, said in absent.items())}")
    return [peer for peer in known if missing.get(peer.name) == ""], absent
