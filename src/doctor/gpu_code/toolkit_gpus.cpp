#include "doctor/gpu_code/toolkit_gpus.hpp"

#include <algorithm>
#include <iterator>

namespace flashfit::doctor {
namespace {

// Source: the release notes of the CUDA toolkits ("new architectures", "dropped support"). `last`: 0 where none yet.
struct Known {
  ComputeCapability gpu;
  CudaVersion first, last;
};
constexpr Known kKnown[] = {
    {{3, 5}, 5000, 11080}, {{3, 7}, 6050, 11080}, {{5, 0}, 6000, 12090}, {{5, 2}, 7000, 12090},   {{5, 3}, 7000, 12090},
    {{6, 0}, 8000, 12090}, {{6, 1}, 8000, 12090}, {{6, 2}, 8000, 12090}, {{7, 0}, 9000, 12090},   {{7, 2}, 9020, 12090},
    {{7, 5}, 10000, 0},    {{8, 0}, 11000, 0},    {{8, 6}, 11010, 0},    {{8, 7}, 11040, 0},      {{8, 8}, 13000, 0},
    {{8, 9}, 11080, 0},    {{9, 0}, 11080, 0},    {{10, 0}, 12080, 0},   {{10, 1}, 12080, 12090}, {{10, 3}, 12090, 0},
    {{11, 0}, 13000, 0},   {{12, 0}, 12080, 0},   {{12, 1}, 12090, 0},
};

const Known* find_known(ComputeCapability gpu) {
  const auto* const found =
      std::find_if(std::begin(kKnown), std::end(kKnown), [&](const Known& k) { return k.gpu == gpu; });
  return found == std::end(kKnown) ? nullptr : found;
}

}  // namespace

bool toolkit_knows(CudaVersion tool, ComputeCapability gpu) {
  const Known* const known = find_known(gpu);
  if (tool == 0 || known == nullptr) return true;
  return tool >= known->first && (known->last == 0 || tool <= known->last);
}

CudaVersion first_toolkit_for(ComputeCapability gpu) {
  const Known* const known = find_known(gpu);
  return known == nullptr ? 0 : known->first;
}

CudaVersion last_toolkit_for(ComputeCapability gpu) {
  const Known* const known = find_known(gpu);
  return known == nullptr ? 0 : known->last;
}

}  // namespace flashfit::doctor
