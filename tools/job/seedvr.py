"""The window lists of SeedVR2, a video-restoration model: what its attention is asked for, one variable-length call a
layer.

Source: the window partition of the model's published code (models/dit_v2/window.py, "720pwin_by_size_bysize"). A video
of F frames of H x W pixels becomes a grid of (F - 1) / 4 + 1 by H / 16 by W / 16 tokens, which is cut in windows: 4 in
time, 3 in height and 3 in width for a grid of 30 by 45 by 80; other resolutions keep that window size in proportion to
sqrt(45 * 80 / (h * w)). Every second layer shifts the cuts by half a window. Each window is one sequence: its video
tokens and 58 text tokens. bf16, head_dim 128, 20 heads (3B) or 24 (7B), no mask.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

TEXT_TOKENS = 58
HEAD_DIM = 128
HEADS_3B = 20


@dataclass(frozen=True)
class Video:
    frames: int
    height: int
    width: int

    def __str__(self) -> str:
        return f"{self.frames} frame{'s' if self.frames > 1 else ''} {self.height}x{self.width}"

    def grid(self) -> tuple[int, int, int]:
        """Tokens in time, height and width."""
        return (self.frames - 1) // 4 + 1, self.height // 16, self.width // 16


# What the reports that started this project restored.
VIDEOS = (Video(113, 720, 1280), Video(113, 1072, 1920), Video(25, 720, 1280), Video(1, 720, 1280))


def pieces(length: int, window: int, shifted: bool) -> list[int]:
    """Lengths of an axis cut every `window` tokens; shifted, the first cut is at half a window. An axis of one window
    is not shifted."""
    first = 0.5 if shifted and window < length else 1.0
    cuts = [0]
    while (cut := int((first + len(cuts) - 1) * window)) < length:
        cuts.append(cut)
    cuts.append(length)
    return [end - start for start, end in zip(cuts, cuts[1:]) if end > start]


def window_lengths(video: Video, shifted: bool) -> list[int]:
    """Tokens of each window, its text included."""
    t, h, w = video.grid()
    scale = math.sqrt(45 * 80 / (h * w))
    window = (math.ceil(min(t, 30) / 4), math.ceil(round(h * scale) / 3), math.ceil(round(w * scale) / 3))
    times, heights, widths = (pieces(n, size, shifted) for n, size in zip((t, h, w), window))
    return [a * b * c + TEXT_TOKENS for a in times for b in heights for c in widths]
