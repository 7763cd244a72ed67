#pragma once
// The last plans of a thread, so that a repeated call does not plan again.
#include <array>

#include "core/gpu/gpu.hpp"

namespace flashfit::api {

/// Plain data, for a thread_local that is constant-initialised: threads leave nothing behind. A plan depends on its key
/// and on the images carried, which are the same for the process.
template <class Problem, class Plan>
struct PlanMemo {
  struct Key {
    const Gpu* gpu;  ///< one of remembered_gpu(): equal means the same; nullptr where there is none yet
    CudaVersion driver;
    bool ptx_only;
    Problem problem;
    bool operator==(const Key&) const = default;
  };
  static constexpr unsigned kPlans = 8;  ///< a model has few shapes at a time; all are compared in each miss

  std::array<Key, kPlans> keys;
  std::array<Plan, kPlans> plans;
  unsigned oldest;

  /// nullptr if there is none.
  const Plan* find(const Key& key) const {
    for (unsigned i = 0; i < kPlans; ++i)
      if (keys[i] == key) return &plans[i];
    return nullptr;
  }

  /// In place of the oldest. With Key{} it is found by nobody.
  const Plan* keep(const Key& key, const Plan& plan) {
    const unsigned at = oldest;
    oldest = (at + 1) % kPlans;
    keys[at] = key;
    plans[at] = plan;
    return &plans[at];
  }
};

}  // namespace flashfit::api
