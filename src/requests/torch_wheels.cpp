#include "requests/torch_wheels.hpp"

#include <fmt/format.h>

#include <array>

#include "gpu/driver_versions.hpp"

namespace flashfit::requests {
namespace {

// Source: names and metadata (Requires-Dist on NVIDIA's packages) of the wheels in the package index, 2026-11. The test
// tests/requests/requests_test.cpp fails where the doctor's list of releases has one that is not here.
constexpr auto kWheels = std::to_array<TorchWheels>({
    {2, 0, 1, 8, 11, 11070},
    {2, 1, 2, 8, 11, 12010},
    {2, 2, 2, 8, 12, 12010},
    {2, 3, 1, 8, 12, 12010},
    {2, 4, 1, 8, 12, 12010},
    {2, 5, 1, 9, 13, 12040},
    {2, 6, 0, 9, 13, 12040},
    {2, 7, 1, 9, 13, 12060},
    {2, 8, 0, 9, 13, 12080},
    {2, 9, 1, 10, 14, 12080},
    {2, 10, 0, 10, 14, 12080},
    {2, 11, 0, 10, 14, 13000},
    {2, 12, 1, 10, 14, 13000},
    {2, 13, 0, 10, 14, 13000},
    {2, 14, 1, 10, 14, 13000},
    {2, 15, 0, 11, 15, 13020},
});

}  // namespace

std::span<const TorchWheels> torch_wheels() { return kWheels; }

const TorchWheels* torch_wheels_of(const inspect::Version& version) {
  for (const TorchWheels& wheels : kWheels)
    if (version.epoch == 0 && version.release[0] == wheels.major &&
        (version.release.size() > 1 ? version.release[1] : 0) == wheels.minor)
      return &wheels;
  return nullptr;
}

std::string torch_gpu_misfit(CudaVersion cuda, ComputeCapability gpu) {
  if (cuda == 0) return "";
  // Source: the architectures that each toolkit's compiler has; CUDA 13 dropped those below 7.5.
  struct First {
    int major;
    CudaVersion cuda;
  };
  constexpr auto kFirst = std::to_array<First>({{12, 12080}, {11, 13000}, {10, 12080}, {9, 11080}});
  if (cuda >= 13000 && gpu < ComputeCapability{7, 5})
    return fmt::format("CUDA {} compiles for 7.5 and later; the GPU is {}", str(cuda), gpu.str());
  for (const First& first : kFirst)
    if (gpu.major == first.major && cuda < first.cuda && gpu != ComputeCapability{10, 1})
      return fmt::format("CUDA {} does not compile for {}; {} does", str(cuda), gpu.str(), str(first.cuda));
  return "";
}

}  // namespace flashfit::requests
