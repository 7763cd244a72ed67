"""The one list of cases, as the job reads it."""

from __future__ import annotations

import pytest

from tools.job.cases import Case, load


def test_the_origin_shapes() -> None:
    cases = load("origin")
    assert [(c.batch, c.seqlen_q, c.heads, c.causal) for c in cases] == [
        (1, 512, 8, False),
        (2, 512, 8, False),
        (1, 512, 8, True),
        (2, 512, 8, True),
        (1, 128, 4, False),
        (1, 256, 16, False),
        (4, 512, 8, False),
    ]
    assert {(c.head_dim, c.dtype) for c in cases} == {(64, "fp16")}


@pytest.mark.parametrize("group", ["origin", "grid", "ragged", "edges"])
def test_names_tell_cases_apart(group: str) -> None:
    names = [case.name for case in load(group)]
    assert len(set(names)) == len(names) > 0


def test_the_edges_hold_the_edges() -> None:
    cases = load("edges")
    lengths = [length for case in cases for length in case.lengths_q or ()]
    assert 0 in lengths
    assert any(case.seqlen_k == 0 and case.seqlen_q for case in cases)
    assert any(case.causal and case.seqlen_q > case.seqlen_k for case in cases)
    assert any(case.causal and 0 < case.seqlen_q < case.seqlen_k for case in cases)
    assert any(case.heads != case.heads_kv for case in cases)
    assert {case.memory for case in cases} == {"contiguous", "packed_qkv", "heads_first", "padded_rows"}
    assert {(case.head_dim, case.dtype) for case in cases} == {
        (dim, dtype) for dim in (32, 64, 128) for dtype in ("fp16", "bf16")
    }


def test_work_is_counted_per_sequence() -> None:
    assert load("origin")[0].flop() == 4 * 8 * 64 * 512 * 512
    assert load("origin")[2].flop() == 2 * 8 * 64 * 512 * 512
    ragged = Case(heads=2, heads_kv=2, head_dim=8, lengths_q=(3, 0, 5), lengths_k=(4, 1, 2))
    assert ragged.flop() == 4 * 2 * 8 * (3 * 4 + 0 + 5 * 2)


def test_windows_are_one_variable_length_case() -> None:
    case = load("ragged")[-1]
    assert len(case.lengths_q or ()) == 16
    assert (case.heads, case.head_dim, case.dtype, case.causal) == (20, 128, "bf16", False)
    assert case.name == "SeedVR2 1 frame 720x1280, 16 shifted windows H20 D128 bf16 full"
