#pragma once
// What a case plants in its logits, and the columns that do it.
#include "proof/reference/planted.hpp"

namespace flashfit::reference {

/// In units of natural logarithms, as softmax sees them before softcap, ALiBi and bias. What is 0 is not planted. A
/// shift takes column 0 of q and k, a trend column 1, peaks column 2: head_dim must have them.
struct PlantedLogits {
  double shift = 0;         ///< added to every logit
  double trend = 0;         ///< rises by so much from the first key to the last; negative: falls
  double peak = 0;          ///< of every 61st key, above the others
  bool opposes = false;     ///< a third of the rows, among others of their warp, have -shift
  bool positive_v = false;  ///< values are at least 0, so that no average of them is near 0

  bool any() const { return shift != 0 || trend != 0 || peak != 0 || positive_v; }
  /// Columns of q and k that are taken.
  int columns() const { return peak != 0 ? 3 : trend != 0 ? 2 : shift != 0 ? 1 : 0; }
  bool operator==(const PlantedLogits&) const = default;
};

/// `softmax_scale` > 0: the logit of a column is the product of its q and k times it.
PlantedColumns planted_columns(const PlantedLogits& logits, double softmax_scale);

}  // namespace flashfit::reference
