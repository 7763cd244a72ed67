#include "gpu/target.hpp"

namespace flashfit {
namespace {

// Thor was 10.1 up to CUDA 12.9 and is 11.0 since 13.0: one chip, one set of machine code.
constexpr int current_name(int cc) { return cc == 101 ? 110 : cc; }

// Integrated GPUs whose machine code is their own, although their major is shared with others.
constexpr bool integrated(int cc) { return cc == 53 || cc == 62 || cc == 72 || cc == 87; }

}  // namespace

std::string Target::str() const {
  return ComputeCapability{cc / 10, cc % 10}.str() + (kind == Kind::kPtx ? "+PTX" : "");
}

bool runs_on(Target target, ComputeCapability gpu) {
  const int image = current_name(target.cc), device = current_name(gpu.decimal());
  if (target.kind == Target::Kind::kPtx) return image <= device;
  if (integrated(image) || integrated(device)) return image == device;
  return image / 10 == device / 10 && image <= device;
}

bool driver_compiles_ptx(CudaVersion driver) { return driver == 0 || driver >= 12090; }

bool driver_loads_sass(CudaVersion driver) { return driver == 0 || driver >= 12000; }

}  // namespace flashfit
