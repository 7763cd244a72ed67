#include "runtime/images/build/resources.hpp"

#include <fmt/format.h>

#include <regex>

#include "core/gpu/limits.hpp"

namespace flashfit {

Result<Resources> parse_resources(const std::string& log) {
  // What ptxas remarks where it waits for products that should run on (C7514, C7517).
  static const std::regex waits(
      R"([^\n]*(wgmma.mma_async instructions are serialized|warpgroup.wait is injected)[^\n]*)");
  if (std::smatch remark; std::regex_search(log, remark, waits))
    return fail(Code::kMisfit, fmt::format("ptxas: {}", remark.str()));
  static const std::regex memory(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  static const std::regex registers(R"(Used (\d+) registers)");
  std::smatch m, r;
  if (!std::regex_search(log, m, memory) || !std::regex_search(log, r, registers))
    return fail(Code::kInternal, "ptxas printed no resource report that this tool can read");
  return Resources{.registers = std::stoi(r[1]),
                   .stack_bytes = std::stoi(m[1]),
                   .spill_store_bytes = std::stoi(m[2]),
                   .spill_load_bytes = std::stoi(m[3])};
}

Result<void> check_resources(const Recipe& recipe, const Resources& r) {
  if (recipe.ptx() || !recipe.kernel.limits) return {};
  const KernelLimits& limits = *recipe.kernel.limits;
  if (r.local_bytes() > limits.spill_bytes)
    return fail(
        Code::kMisfit,
        fmt::format(
            "{}: {} registers, {} B stack, {} B spill stores, {} B spill loads a thread; the variant table allows {} B",
            name_of(recipe), r.registers, r.stack_bytes, r.spill_store_bytes, r.spill_load_bytes, limits.spill_bytes));
  const int most = max_shared_bytes(recipe.target.cc);
  if (limits.shared_bytes > most)
    return fail(Code::kMisfit, fmt::format("{}: {} B of shared memory a block; {} has {} B", name_of(recipe),
                                           limits.shared_bytes, recipe.target.str(), most));
  return {};
}

}  // namespace flashfit
