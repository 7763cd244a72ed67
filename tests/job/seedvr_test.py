"""SeedVR2's window lists: counts, lengths and totals as the model makes them."""

from __future__ import annotations

import pytest

from tools.job.seedvr import TEXT_TOKENS, VIDEOS, Video, pieces, window_lengths

# (windows, shortest, longest, tokens) regular and shifted, counted apart from this code.
EXPECTED = {
    Video(113, 720, 1280): ((36, 2008, 3298, 106_488), (80, 149, 3298, 109_040)),
    Video(113, 1072, 1920): ((100, 478, 3298, 238_960), (125, 149, 3298, 240_410)),
    Video(25, 720, 1280): ((36, 448, 868, 27_288), (64, 149, 868, 28_912)),
    Video(1, 720, 1280): ((9, 448, 463, 4_122), (16, 149, 463, 4_528)),
}


def test_every_video_of_the_list_is_expected() -> None:
    assert set(VIDEOS) == set(EXPECTED)


@pytest.mark.parametrize("video", VIDEOS, ids=str)
@pytest.mark.parametrize("shifted", [False, True], ids=["regular", "shifted"])
def test_windows(video: Video, shifted: bool) -> None:
    lengths = window_lengths(video, shifted)
    assert (len(lengths), min(lengths), max(lengths), sum(lengths)) == EXPECTED[video][shifted]


@pytest.mark.parametrize("video", [*VIDEOS, Video(17, 480, 640), Video(49, 544, 960), Video(5, 16, 16)], ids=str)
@pytest.mark.parametrize("shifted", [False, True], ids=["regular", "shifted"])
def test_windows_cover_every_token_once(video: Video, shifted: bool) -> None:
    t, h, w = video.grid()
    lengths = window_lengths(video, shifted)
    assert sum(lengths) - TEXT_TOKENS * len(lengths) == t * h * w
    assert min(lengths) > TEXT_TOKENS


@pytest.mark.parametrize("window", range(1, 12))
def test_a_shift_moves_the_cuts_by_half_a_window(window: int) -> None:
    for length in range(1, 40):
        regular, shifted = pieces(length, window, False), pieces(length, window, True)
        assert sum(regular) == sum(shifted) == length
        assert max(regular + shifted) <= window
        if window >= length:
            assert shifted == regular == [length]
        elif window > 1:
            assert shifted[0] == window // 2
