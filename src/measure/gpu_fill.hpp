#pragma once
// What a call reads, written to a GPU's memory: the same bits as fill_on_host() writes.
#include <cstddef>
#include <cstdint>

#include "core/base/error.hpp"
#include "measure/cases.hpp"
#include "measure/gpu_bed.hpp"
#include "measure/placement.hpp"

namespace flashfit::measure {

/// `memory`, where the placement begins, is poisoned. Queued on the bed's stream.
Result<void> fill_on_gpu(GpuBed& bed, const Case& c, const Placement& p, std::uint64_t seed, std::byte* memory);

}  // namespace flashfit::measure
