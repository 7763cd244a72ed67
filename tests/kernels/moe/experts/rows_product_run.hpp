#pragma once
// The experts' grouped product alone under the emulator, for the tests of what it computes and of what it adds up.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/moe/experts/rows_product.hpp"
#include "kernels/moe/experts/workspace.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/tensor_map.hpp"
#include "proof/emulated/experts.hpp"
#include "proof/emulated/steps.hpp"

namespace flashfit::testing {

inline const ExpertsProductConfig& config_of(const emulated::EmulatedKernel& kernel) {
  return experts_product_variant_of(kernel.variant).config;
}

/// The product of a test's tensors and offsets, which `memory` gets.
template <class Data>
RowsProductCall product_of(Data& data, emu::Memory& memory) {
  memory.read_only("a", data.a.data(), data.a.size_in_bytes());
  memory.read_only("w", data.w.data(), data.w.size_in_bytes());
  memory.read_only("offsets", data.offsets.data(), data.offsets.size() * sizeof(int));
  memory.writable("out", data.out.data(), data.out.size_in_bytes());
  return {.problem = data.problem,
          .a = data.a.data(),
          .a_row = data.a.row_stride(),
          .w = data.w.data(),
          .w_expert = data.w.outer_stride(),
          .w_row = data.w.row_stride(),
          .offsets = data.offsets.data(),
          .out = data.out.data()};
}

/// A call on memory that has all but a workspace, which it gets, full of ones. counters: what is there at the end of
/// ExpertsWorkspace::summing, if there are rows; or nullptr.
inline Result<emu::Stats> run_rows_product(const emulated::EmulatedKernel& product, RowsProductCall call,
                                           int phase_columns, emu::Memory memory, const emu::Options& options,
                                           std::vector<int>* counters = nullptr) {
  struct alignas(256) Line {
    unsigned char bytes[256];
  };
  const RowsProduct& p = call.problem;
  const emulated::EmulatedKernel kernels[] = {emulated::rows_kernel_for(product, emulated::emulated_experts_rows()),
                                              product};
  std::vector<Line> workspace(static_cast<std::size_t>(rows_product_workspace(p)) / sizeof(Line));
  for (Line& line : workspace) std::fill(std::begin(line.bytes), std::end(line.bytes), 0xff);
  memory.writable("workspace", workspace.data(), workspace.size() * sizeof(Line));
  call.workspace = workspace.data();
  const Image rows_image = image_of(kernels[0]), product_image = image_of(kernels[1]);
  RowsProductArguments arguments;
  if (const auto set = arguments.set(config_of(product), call, phase_columns, emu::encode_tensor_map); !set)
    return tl::unexpected(set.error());
  auto ran = emulated::run_steps(
      rows_product_steps(rows_image, product_image, p, emulated::kResidentBlocks, phase_columns).all(), arguments.all(),
      kernels, memory, options);
  ExpertsProblem layer;  // whose workspace it has
  layer.dtype = p.dtype, layer.tokens = p.rows, layer.top_k = 1, layer.high = p.experts, layer.sorted = true;
  if (counters != nullptr && p.rows > 0)
    std::memcpy(counters->data(), workspace.data()->bytes + experts_workspace(layer).summing,
                counters->size() * sizeof(int));
  return ran;
}

}  // namespace flashfit::testing
