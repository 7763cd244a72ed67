#pragma once
// Instantiates kernels: for the translation units of the shards, and of mutants, alone.
#include <utility>

#include "attention/forward.cuh"
#include "attention/variants_table.hpp"
#include "emu/launch.hpp"
#include "emulated/forward.hpp"

namespace flashfit::emulated {

template <int Row>
EmulatedForward emulated_forward() {
  return {&kForwardVariants[Row],
          [](emu::Index3 grid, const ForwardParams& params, const emu::Memory& memory, const emu::Options& options) {
            return emu::launch<ForwardKernel<kForwardVariants[Row].config>>(grid, params, memory, options);
          }};
}

/// The rows First, First + Step, ... of the table.
template <int First, int Step>
void append_rows(std::vector<EmulatedForward>& kernels) {
  constexpr int kRows = static_cast<int>(kForwardVariants.size());
  [&]<int... I>(std::integer_sequence<int, I...>) { (kernels.push_back(emulated_forward<First + I * Step>()), ...); }(
      std::make_integer_sequence < int, First<kRows ? (kRows - First + Step - 1) / Step : 0>{});
}

}  // namespace flashfit::emulated
