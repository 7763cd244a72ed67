#pragma once
// What the charts of a report draw, as JSON without any looks: those are the page's own.
#include "measure/result_file.hpp"

namespace flashfit::results {

/// Speed against sequence length. A list of slices, cases that differ in batch and length alone: {label, panels: [{
/// head_dim, series: [{name, points: [{x, case, us, us_interval, tflops, tflops_interval}]}]}]}. x is seqlen_k. Where
/// several cases are of one length, the one with the most work stands for it. Slices of one length alone are left out.
nlohmann::ordered_json speed_slices(const ResultFile& run);

/// {roofs: [{name, kind, points: [{x, y}]}], points: [{x, y, case}]}, x in FLOP a byte, y in TFLOP/s; null where the
/// run measured no ceilings.
nlohmann::ordered_json roofline(const ResultFile& run);

/// TFLOP/s of `flop` in `us`.
inline double tflops_of(double flop, double us) { return flop / us / 1e6; }

}  // namespace flashfit::results
