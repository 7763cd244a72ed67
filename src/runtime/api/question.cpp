#include "runtime/api/question.hpp"

#include <fmt/format.h>

#include <string_view>

#include "core/gpu/device.hpp"
#include "core/gpu/gpu_names.hpp"

namespace flashfit::api {

Result<void> check_numbers(std::initializer_list<Number> numbers) {
  for (const Number& n : numbers) {
    if (n.value >= n.least && n.value <= n.most) continue;
    const std::string accepted =
        n.least == n.most ? fmt::format("{}", n.least) : fmt::format("{} to {}", n.least, n.most);
    return fail(Code::kInvalidArgument, fmt::format("{}: {}; accepted: {}", n.name, n.value, accepted));
  }
  return {};
}

Result<DType> parse_dtype(const char* name) {
  for (const DType t : {DType::kF16, DType::kBF16, DType::kF32}) {
    if (name && std::string_view(name) == name_of(t)) return t;
  }
  return fail(Code::kInvalidArgument, fmt::format("dtype: {}; accepted: \"fp16\", \"bf16\", \"fp32\"",
                                                  name ? fmt::format("\"{}\"", name) : "NULL"));
}

Result<std::vector<Gpu>> gpus_of(const char* name, CudaVersion& driver) {
  if (!name) {
    Machine machine = this_machine();
    if (machine.gpus.empty())
      return fail(Code::kNoGpu, fmt::format("gpu: NULL, this machine's, but {}; accepted: a GPU's name or \"all\"",
                                            machine.no_gpu_reason));
    if (driver == 0) driver = machine.cuda;
    return std::move(machine.gpus);
  }
  if (std::string_view(name) == "all") return std::vector<Gpu>(gpu_table().begin(), gpu_table().end());
  auto gpu = gpu_to_plan(name);
  if (!gpu) return tl::unexpected(std::move(gpu.error()));
  return std::vector<Gpu>{std::move(*gpu)};
}

}  // namespace flashfit::api
