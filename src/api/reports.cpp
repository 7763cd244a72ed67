#include "api/reports.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "api/argument.hpp"
#include "api/tensor_check.hpp"
#include "gpu/device.hpp"
#include "images/image.hpp"
#include "plan/explain.hpp"

namespace flashfit::api {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kKnownFlags = FLASHFIT_CAUSAL | FLASHFIT_PTX_ONLY;

Result<DType> parse_dtype(const char* name) {
  for (const DType t : {DType::kF16, DType::kBF16, DType::kF32}) {
    if (name && std::string_view(name) == name_of(t)) return t;
  }
  return fail(Code::kInvalidArgument, fmt::format("dtype: {}; accepted: \"fp16\", \"bf16\", \"fp32\"",
                                                  name ? fmt::format("\"{}\"", name) : "NULL"));
}

Result<ForwardProblem> problem_of(const flashfit_explain_args& args) {
  const auto dtype = parse_dtype(args.dtype);
  if (!dtype) return tl::unexpected(dtype.error());
  struct {
    const char* name;
    std::int64_t value, least;
  } sizes[] = {{"batch", args.batch, 1},     {"seqlen_q", args.seqlen_q, 0}, {"seqlen_k", args.seqlen_k, 0},
               {"heads_q", args.heads_q, 1}, {"heads_kv", args.heads_kv, 1}, {"head_dim", args.head_dim, 1}};
  for (const auto& size : sizes) {
    if (size.value < size.least || size.value > kMaxSize) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: {}; accepted: {} to {}", size.name, size.value, size.least, kMaxSize));
    }
  }
  if (args.heads_q % args.heads_kv) {
    return fail(Code::kInvalidArgument,
                fmt::format("heads_kv: {}; accepted: a divisor of heads_q, {}", args.heads_kv, args.heads_q));
  }
  ForwardProblem p;
  p.dtype = *dtype;
  p.head_dim = static_cast<int>(args.head_dim);
  p.batch = args.batch;
  p.heads_q = args.heads_q;
  p.heads_kv = args.heads_kv;
  p.seqlen_q = args.seqlen_q;
  p.seqlen_k = args.seqlen_k;
  p.total_q = args.batch * args.seqlen_q;
  p.total_k = args.batch * args.seqlen_k;
  p.causal = args.flags & FLASHFIT_CAUSAL;
  return p;
}

/// The GPUs that `name` means, and the driver to assume for them.
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
  auto gpu = find_gpu(name);
  if (!gpu) return tl::unexpected(std::move(gpu.error()));
  return std::vector<Gpu>{std::move(*gpu)};
}

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

Result<std::string> explain_json(const flashfit_explain_args* caller_args) {
  const auto args = current_version(caller_args);
  if (!args) return tl::unexpected(args.error());
  if (const std::uint32_t unknown = args->flags & ~kKnownFlags) {
    return fail(Code::kInvalidArgument,
                fmt::format("flags: {:#x} is unknown; accepted: FLASHFIT_CAUSAL ({:#x}), FLASHFIT_PTX_ONLY ({:#x})",
                            unknown, FLASHFIT_CAUSAL, FLASHFIT_PTX_ONLY));
  }
  const auto problem = problem_of(*args);
  if (!problem) return tl::unexpected(problem.error());
  if (args->cuda_version < 0)
    return fail(Code::kInvalidArgument,
                fmt::format("cuda_version: {}; accepted: 12090 for 12.9, or 0", args->cuda_version));
  CudaVersion driver = args->cuda_version;
  const auto gpus = gpus_of(args->gpu, driver);
  if (!gpus) return tl::unexpected(gpus.error());
  Json answer = Json::array();
  PlanOptions options;
  options.ptx_only = args->flags & FLASHFIT_PTX_ONLY;
  for (const Gpu& gpu : *gpus)
    answer.push_back(flashfit::explain_json(*problem, gpu, driver, carried_images(), options));
  return answer.dump();
}

std::string images_json() {
  Json list = Json::array();
  for (const Image& image : carried_images()) {
    list.push_back({{"variant", name_of(image.variant->config)},
                    {"target", image.target.str()},
                    {"registers", image.registers},
                    {"local_bytes", image.local_bytes},
                    {"shared_memory_bytes", image.shared_bytes},
                    {"bytes", image.bytes}});
  }
  return list.dump();
}

std::string gpus_json() {
  const Machine machine = this_machine();
  Json gpus = Json::array();
  for (const Gpu& gpu : machine.gpus) {
    gpus.push_back({{"index", gpus.size()},
                    {"gpu", gpu.name},
                    {"compute_capability", gpu.cc.str()},
                    {"sms", gpu.sms},
                    {"shared_memory_limit_bytes", gpu.shared_bytes_block}});
  }
  const Json cuda =
      machine.cuda ? Json(fmt::format("{}.{}", machine.cuda / 1000, machine.cuda % 1000 / 10)) : Json(nullptr);
  return Json{{"driver", or_null(machine.driver_version)},
              {"cuda", cuda},
              {"no_gpu_reason", or_null(machine.no_gpu_reason)},
              {"gpus", gpus}}
      .dump();
}

}  // namespace flashfit::api
