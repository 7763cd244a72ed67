#include "runtime/api/attention/plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/api/attention/explain_request.hpp"
#include "runtime/api/one_line.hpp"
#include "runtime/api/versioned.hpp"

namespace flashfit::api {
namespace {

template <std::size_t N>
void put(char (&to)[N], std::string_view text) {
  write_one_line(text, to, N);
}

flashfit_plan plan_of(const Explanation& e) {
  flashfit_plan p{};
  p.fits = e.fits;
  p.cc_major = e.gpu.cc.major;
  p.cc_minor = e.gpu.cc.minor;
  p.shared_memory_limit_bytes = e.gpu.shared_bytes_block;
  if (e.config) {
    put(p.family, family_of(*e.config).name);
    p.block_m = e.config->block_m;
    p.block_n = e.config->block_n;
    p.warps = e.config->warps;
    p.stages = e.config->stages;
  }
  if (e.model) {
    p.blocks_per_sm = e.model->blocks_per_sm;
    p.modelled_us = e.model->microseconds;
    put(p.bound, e.model->bound);
  }
  p.threads = e.threads.value_or(0);
  p.shared_memory_bytes = e.shared_memory_bytes.value_or(0);
  p.registers_per_thread = e.registers_per_thread.value_or(0);
  p.registers_estimated = e.registers_estimated.value_or(false);
  p.spill_bytes = e.spill_bytes.value_or(0);
  p.grid = e.grid.value_or(0);
  p.workspace_bytes = static_cast<std::uint64_t>(e.workspace_bytes.value_or(0));
  put(p.gpu, e.gpu.name);
  put(p.variant, e.variant.value_or(""));
  put(p.target, e.target.value_or(""));
  put(p.reason, e.reason);
  return p;
}

}  // namespace

Result<void> explain_plans(const flashfit_explain_args* args, flashfit_plan* plans, std::size_t capacity,
                           std::size_t* count) {
  if (!count) return fail(Code::kInvalidArgument, "count: NULL; accepted: where to put the number of GPUs");
  *count = 0;
  if (capacity && !plans)
    return fail(Code::kInvalidArgument, fmt::format("plans: NULL with capacity {}; accepted: NULL with 0", capacity));
  const std::size_t size = capacity ? plans->struct_size : 0;
  if (capacity) {
    if (auto ok = check_struct_size("plans[0]", size, kFirstPlanSize, sizeof(flashfit_plan)); !ok) return ok;
  }
  const auto request = read_explain(args);
  if (!request) return tl::unexpected(request.error());
  const std::size_t filled = std::min(capacity, request->gpus.size());
  char* to = reinterpret_cast<char*>(plans);  // an array of the caller's version of the struct
  for (std::size_t i = 0; i < filled; ++i, to += size) {
    flashfit_plan p = plan_of(explained(*request, request->gpus[i]));
    p.struct_size = static_cast<std::uint32_t>(size);
    std::memset(to, 0, size);
    std::memcpy(to, &p, std::min(size, sizeof p));
  }
  *count = request->gpus.size();
  return {};
}

}  // namespace flashfit::api
