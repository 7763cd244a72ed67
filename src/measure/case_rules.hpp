#pragma once
// Rules that stand for many lengths or cases.
#include <cstdint>
#include <string>
#include <vector>

#include "measure/case.hpp"

namespace flashfit::measure {

/// SeedVR2, a video-restoration model, asks for one variable-length call a layer. Source: the window partition of its
/// published code (models/dit_v2/window.py, "720pwin_by_size_bysize"). A video of F frames of H x W pixels becomes a
/// grid of (F - 1) / 4 + 1 by H / 16 by W / 16 tokens, cut in windows: 4 in time, 3 in height and 3 in width for a grid
/// of 30 by 45 by 80; other resolutions keep that window size in proportion to sqrt(45 * 80 / (h * w)). Every second
/// layer shifts the cuts by half a window.
struct Video {
  std::int64_t frames, height, width;
};

/// Tokens of each window: those of the video and 58 of its text.
std::vector<std::int64_t> window_lengths(const Video& video, bool shifted);

/// Of keys that are allocated those that are used: all of the first sequence's, ever fewer of the others, one at least.
std::vector<std::int64_t> falling_lengths(const std::vector<std::int64_t>& lengths);

/// What random_cases() draws beside shapes, causal masks, layouts and scales.
struct RandomKinds {
  bool options;  ///< any head dim up to 256, windows, softcap, ALiBi, sinks, biases and used keys
  bool planted;  ///< logits shifted by -150 to 150, trends, peaks, norms from 1e-3 to 1e3, spare rows; of 2 GFLOP at
                 ///< most
};

/// `count` problems that nobody thought of, the same for the same seed, none of more than 20 GFLOP. Group and name are
/// the caller's.
std::vector<Case> random_cases(std::int64_t count, std::uint64_t seed, const RandomKinds& kinds = {});

}  // namespace flashfit::measure
