"""Whose code gives gradients: of attention PyTorch's flash attention, fed with flashfit's output and LSE, where it
takes the problem; of layers of experts flashfit's own products on Hopper and on the CPU, PyTorch's on other GPUs.

Pure functions of the problem, so that explain() answers for any GPU without one, and without torch.
"""

from __future__ import annotations

from typing import NamedTuple

#: The operators of PyTorch that compute the gradients, on a GPU and on the CPU.
ON_GPU = "aten::_flash_attention_backward"
ON_CPU = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"

_LARGEST_HEAD_DIM = 256
#: Compute capabilities on which PyTorch's backward does not take head_dims above 192 to 224: its shared memory is too
#: small there (check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120 in PyTorch's sdp_utils.cpp).
_SMALL_SHARED_MEMORY = ((8, 6), (8, 9), (12, 0), (12, 1))


def experts_over_wgmma(capability: tuple[int, int]) -> bool:
    """Whether flashfit's products of experts are over wgmma. Those alone can write what the first product gives, for a
    backward to read, and then all products of the backward are flashfit's own."""
    return capability == (9, 0)


class Problem(NamedTuple):
    """A call of attention that asks for gradients, as far as PyTorch's backward cares."""

    capability: tuple[int, int] | None  # of the GPU; None on the CPU
    head_dim: int
    head_dim_v: int
    softcap: float = 0.0
    has_alibi: bool = False
    has_bias: bool = False
    has_seqused: bool = False


class Misfit(NamedTuple):
    """What PyTorch's backward does not take: an argument, its value in words, and what is accepted."""

    name: str
    value: str
    accepted: str

    @property
    def words(self) -> str:
        """The one line of a refusal."""
        return (
            f"{self.name}: {self.value} in a call that needs gradients, which come from PyTorch's flash attention; "
            f"accepted: {self.accepted}, or a call under torch.no_grad()"
        )


def operator_of(problem: Problem) -> str:
    """PyTorch's operator for a problem that it takes."""
    return ON_CPU if problem.capability is None else ON_GPU


def misfit_of(problem: Problem) -> Misfit | None:
    """Why PyTorch's backward does not take the problem; None if it does.

    On the CPU masks, slopes and lengths become its additive mask. The backward for GPUs has windows, and no bias.
    """
    head_dim, of_v = problem.head_dim, problem.head_dim_v
    if problem.softcap:
        return Misfit("softcap", f"{problem.softcap:g}", "None")
    if of_v != head_dim:
        return Misfit("v", f"head_dim {of_v}", f"head_dim {head_dim}, as q")
    capability = problem.capability
    if capability is None:
        return None
    number = ".".join(map(str, capability))
    if capability < (8, 0):
        return Misfit("q", f"a GPU of compute capability {number}", "8.0 or newer")
    if head_dim > _LARGEST_HEAD_DIM:
        return Misfit("q", f"head_dim {head_dim} on a GPU", f"to {_LARGEST_HEAD_DIM}")
    if 192 < head_dim <= 224 and capability in _SMALL_SHARED_MEMORY:
        return Misfit("q", f"head_dim {head_dim} on a GPU of compute capability {number}", "to 192, 225 to 256")
    for name, given in (
        ("alibi_slopes", problem.has_alibi),
        ("bias", problem.has_bias),
        ("seqused_k", problem.has_seqused),
    ):
        if given:
            return Misfit(name, "given on a GPU", "None")
    return None


#: Whose products multiply for the gradients of layers of experts, where they are no operator of PyTorch.
OWN = "flashfit"
#: The operators of PyTorch that multiply for the gradients of layers of experts: all experts at once, or one by one.
GROUPED = "aten::_grouped_mm"
ONE_BY_ONE = "aten::mm"
#: The first release whose grouped product for bf16 asks nothing of the host, by the major number of the GPU's compute
#: capability: 2.8 has Hopper's alone. Elsewhere PyTorch's grouped product is itself a loop.
_GROUPED_SINCE = {9: (2, 8), 10: (2, 9)}


def experts_operator(capability: tuple[int, int], dtype: str, release: tuple[int, ...] | None = None) -> str:
    """Which of the two multiplies on a GPU; release: PyTorch's, such as (2, 11), None for a new one."""
    since = _GROUPED_SINCE.get(capability[0])
    fits = dtype == "bf16" and since is not None and (release is None or release >= since)
    return GROUPED if fits else ONE_BY_ONE
