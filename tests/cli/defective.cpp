// `flashfit emulate` with kernels that are wrong on purpose: a forward of head_dim 32 ends with a finding, one of 64
// leaves its output as it was, one of 128 writes it wrong; a router of up to 128 experts ends with a finding, others
// write nothing; products of experts of fp16 end with a finding, others leave the result as it was.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "cli/command.hpp"
#include "kernels/attention/forward/combine/variants.hpp"
#include "kernels/moe/experts/variants.hpp"
#include "kernels/moe/route/variants.hpp"
#include "proof/emulated/experts.hpp"
#include "proof/emulated/forward.hpp"
#include "proof/emulated/route.hpp"

namespace flashfit::emulated {
namespace {

Result<emu::Stats> run_defective(int head_dim, const void* params) {
  if (head_dim == 32) return fail(Code::kInternal, "defective: block (0,0,0) warp 0 lane 0: reads past the end of k");
  if (head_dim == 128) std::memset(static_cast<const ForwardParams*>(params)->o, 0, 2);
  return emu::Stats{};
}

template <int HeadDim>
Result<emu::Stats> launch(emu::Index3, const void* params, const emu::Memory&, const emu::Options&) {
  return run_defective(HeadDim, params);
}

}  // namespace

const std::vector<EmulatedKernel>& emulated_forwards() {
  static const std::vector<EmulatedKernel> kernels = [] {
    std::vector<EmulatedKernel> all;
    for (const ForwardVariant& v : forward_variants())
      all.push_back({kernel_variant_of(v), v.config.head_dim == 32   ? launch<32>
                                           : v.config.head_dim == 64 ? launch<64>
                                                                     : launch<128>});
    return all;
  }();
  return kernels;
}

const std::vector<EmulatedKernel>& emulated_combines() {
  static const std::vector<EmulatedKernel> kernels = [] {
    std::vector<EmulatedKernel> all;
    for (const CombineVariant& v : kCombineVariants) all.push_back({kernel_variant_of(v), launch<64>});
    return all;
  }();
  return kernels;
}

const std::vector<EmulatedKernel>& emulated_routes() {
  static const std::vector<EmulatedKernel> kernels = [] {
    std::vector<EmulatedKernel> all;
    for (const RouteVariant& v : route_variants())
      all.push_back({kernel_variant_of(v), v.config.experts <= 128 ? launch<32> : launch<64>});
    return all;
  }();
  return kernels;
}

const std::vector<EmulatedKernel>& emulated_experts_rows() {
  static const std::vector<EmulatedKernel> kernels = [] {
    std::vector<EmulatedKernel> all;
    for (const ExpertsRowsVariant& v : experts_rows_variants()) all.push_back({kernel_variant_of(v), launch<64>});
    return all;
  }();
  return kernels;
}

const std::vector<EmulatedKernel>& emulated_experts_products() {
  static const std::vector<EmulatedKernel> kernels = [] {
    std::vector<EmulatedKernel> all;
    for (const ExpertsProductVariant& v : experts_product_variants())
      all.push_back({kernel_variant_of(v), v.config.dtype == DType::kF16 ? launch<32> : launch<64>});
    return all;
  }();
  return kernels;
}

}  // namespace flashfit::emulated

int main(int argc, char** argv) try {
  CLI::App app("flashfit with defective kernels", "flashfit");
  int status = flashfit::cli::kUsage;
  flashfit::cli::add_emulate(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return status;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return flashfit::cli::kFailed;
}
