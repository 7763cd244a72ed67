#pragma once
// The GPUs of this machine, as the driver describes them.
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/gpu/gpu.hpp"

namespace flashfit {

/// GPU `index` of this process (the driver's order, after CUDA_VISIBLE_DEVICES), asked of the driver once and
/// remembered. What the driver cannot tell (tensor-core rate; clocks where it reports 0) comes from the table: the
/// entry of the same name, else of the same compute capability, else of the newest one before it. Errors: driver()'s;
/// kInvalidArgument names the index and what there is; kCuda names the call.
Result<Gpu> live_gpu(int index);

/// "0000:3b:00.0", by which NVML knows GPU `index`; "" if it cannot be told.
std::string pci_bus_id(int index);

/// The CUDA version that the driver supports: 12090 is 12.9. Errors: driver()'s.
Result<CudaVersion> driver_cuda_version();

/// What `flashfit` says about this machine. Empty, with the reason, where there is no GPU.
struct Machine {
  std::vector<Gpu> gpus;
  std::vector<int> indices;    ///< of each of `gpus`, for live_gpu(): one that could not be read is in neither
  CudaVersion cuda = 0;        ///< 0: no driver
  std::string driver_version;  ///< "580.95.05"; "" if it cannot be told
  std::string no_gpu_reason;   ///< one line; "" if every GPU could be read
};

/// Never fails: a machine without a GPU is an answer.
Machine this_machine();

/// The driver's version in the text of /proc/driver/nvidia/version, or in the file name that libcuda.so.1 leads to
/// ("libcuda.so.580.95.05"): the first run of digits and dots that starts with three digits. "" if there is none.
std::string parse_driver_version(std::string_view text);

}  // namespace flashfit
