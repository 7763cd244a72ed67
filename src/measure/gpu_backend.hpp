#pragma once
#include <memory>

#include "core/gpu/nvml.hpp"
#include "measure/backend.hpp"
#include "measure/gpu_bed.hpp"
#include "measure/roofline.hpp"

namespace flashfit::measure {

/// A GPU as a place to measure. A sample is a graph of calls, each on inputs of its own: as many sets of them as hold
/// three times the L2, so that every call finds its inputs in memory, not in the cache.
Backend gpu_backend(const std::shared_ptr<GpuBed>& bed, const std::shared_ptr<Nvml>& nvml);

/// Measured now, in bursts shorter than a throttle takes to set in.
Result<Ceilings> measure_ceilings(GpuBed& bed);

/// `machine.gpu` of docs/results.md.
nlohmann::ordered_json gpu_json(const GpuBed& bed, const Nvml& nvml);

}  // namespace flashfit::measure
