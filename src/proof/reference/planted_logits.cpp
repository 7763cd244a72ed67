#include "proof/reference/planted_logits.hpp"

#include <cmath>

namespace flashfit::reference {

PlantedColumns planted_columns(const PlantedLogits& logits, double softmax_scale) {
  // Half of the logit in q, half in k, so that both stay far from the ends of their types.
  const auto half = [&](double logit) { return static_cast<float>(std::sqrt(std::abs(logit) / softmax_scale)); };
  const auto sign = [](double logit) { return logit < 0 ? -1.f : 1.f; };
  return {.shift_q = half(logits.shift),
          .shift_k = sign(logits.shift) * half(logits.shift),
          .trend_q = half(logits.trend),
          .trend_k = sign(logits.trend) * half(logits.trend),
          .peak = half(logits.peak),
          .opposes = logits.opposes,
          .positive_v = logits.positive_v};
}

}  // namespace flashfit::reference
