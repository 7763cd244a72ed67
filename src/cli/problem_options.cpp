#include "cli/problem_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/options.hpp"
#include "core/gpu/device.hpp"
#include "core/gpu/driver_versions.hpp"
#include "core/gpu/gpu_names.hpp"
#include "runtime/api/attention/problem_text.hpp"
#include "runtime/api/attention/window.hpp"

namespace flashfit::cli {
namespace {

constexpr std::int64_t kMostRows = 1 << 30, kMostHeads = 65536, kMostBatch = 1 << 24;

}  // namespace

DType parse_dtype(const std::string& option, const std::string& name) {
  for (const DType t : {DType::kF16, DType::kBF16, DType::kF32})
    if (name == name_of(t)) return t;
  wrong(option, name, "must be fp16, bf16 or fp32");
}

void ProblemOptions::add_to(CLI::App& app) {
  app.add_option("--dtype", dtype, "fp16, bf16 or fp32 (default fp16)")->type_name("TYPE");
  add_whole_number(app, "--head-dim", head_dim, 1, 1024, "elements of a head (default 64)");
  add_whole_number(app, "--head-dim-v", head_dim_v, 1, 1024, "elements of a head of values (default: the same)");
  add_whole_number(app, "--seqlen,--seqlen-q", seqlen, 0, kMostRows,
                   fmt::format("queries of a sequence (default {})", seqlen));
  add_whole_number(app, "--seqlen-k", seqlen_k, 0, kMostRows, "keys of a sequence (default: as many as queries)");
  add_whole_number(app, "--heads,--heads-q", heads, 1, kMostHeads, "query heads (default 8)");
  add_whole_number(app, "--kv-heads,--heads-kv", kv_heads, 1, kMostHeads,
                   "key and value heads, a divisor of --heads (default: the same)");
  add_whole_number(app, "--batch", batch, 1, kMostBatch, "sequences (default 1)");
  app.add_flag("--causal", causal, "causal mask, bottom-right aligned");
  add_whole_number(app, "--window-left", window_left, 0, kMostRows,
                   "keys before its own that a query sees (default: all)");
  add_whole_number(app, "--window-right", window_right, 0, kMostRows,
                   "keys after its own that a query sees (default: all)");
  app.add_option("--softcap", softcap, "bounds scores: X * tanh(score / X)")->type_name("X");
  app.add_flag("--alibi", alibi, "a slope for each head, times the distance of query and key");
  app.add_flag("--sinks", sinks, "a logit for each head that joins the softmax's sum");
  app.add_option("--bias", bias, "a tensor that is added to scores (fp32 or the dtype), or hides keys (bool)")
      ->type_name("KIND");
  app.add_flag("--batch-invariant", batch_invariant, "a sequence's bits do not depend on the batch around it");
}

BiasKind ProblemOptions::bias_kind(DType of) const {
  if (bias.empty()) return BiasKind::kNone;
  if (bias == "bool") return BiasKind::kVisible;
  if (bias == "fp32") return BiasKind::kF32;
  if (bias == name_of(of)) return BiasKind::kLikeQ;
  wrong("--bias", bias,
        of == DType::kF32 ? "must be bool or fp32" : fmt::format("must be bool, fp32 or {}", name_of(of)));
}

ForwardProblem ProblemOptions::problem() const {
  ForwardProblem p{.head_dim = static_cast<int>(head_dim),
                   .head_dim_v = static_cast<int>(head_dim_v ? head_dim_v : head_dim),
                   .batch = batch,
                   .heads_q = heads,
                   .heads_kv = kv_heads ? kv_heads : heads,
                   .seqlen_q = seqlen,
                   .seqlen_k = seqlen_k < 0 ? seqlen : seqlen_k,
                   .causal = causal};
  p.total_q = p.batch * p.seqlen_q;
  p.total_k = p.batch * p.seqlen_k;
  p.dtype = parse_dtype("--dtype", dtype);
  if (heads % p.heads_kv != 0)
    wrong("--kv-heads", std::to_string(kv_heads), fmt::format("must divide --heads {}", heads));
  const bool vanishes = softcap > 0 && static_cast<float>(softcap) == 0;
  if (!(softcap >= 0) || softcap > 1e30 || vanishes)
    wrong("--softcap", fmt::format("{}", softcap), "must be 0, or above 0 in fp32 and at most 1e30");
  p.softcap = softcap > 0;
  p.alibi = alibi;
  p.sinks = sinks;
  p.bias = bias_kind(p.dtype);
  p.batch_invariant = batch_invariant;
  if (const auto set = api::set_window(p, {true, window_left, window_right}); !set) wrong("--" + set.error().message);
  return p;
}

std::string describe(const ForwardProblem& p) {
  const std::string dim_v = p.head_dim_v == p.head_dim ? "" : fmt::format(" (v {})", p.head_dim_v);
  return fmt::format("{}, head_dim {}{}, batch {}, {} heads{}, {} queries x {} keys, {}{}", name_of(p.dtype),
                     p.head_dim, dim_v, p.batch, p.heads_q,
                     p.heads_kv == p.heads_q ? "" : fmt::format(" ({} of keys and values)", p.heads_kv), p.seqlen_q,
                     p.seqlen_k, p.causal ? "causal" : "full", api::options_text(p));
}

void GpuOptions::add_to(CLI::App& app) {
  app.add_option("--gpu", names,
                 "a GPU (\"L4\", \"RTX 4090\"), a compute capability (\"8.9\", \"sm_89\") or \"all\"; may be "
                 "repeated (default: this machine's)")
      ->type_name("NAME")
      ->take_all()
      ->expected(1);
  app.add_option("--driver", driver,
                 "assume this driver (\"535\", \"535.54.03\") or its CUDA version (\"12.2\"); default: new enough, or "
                 "this machine's")
      ->type_name("VERSION");
}

bool GpuOptions::all() const { return std::find(names.begin(), names.end(), "all") != names.end(); }

std::vector<Gpu> GpuOptions::gpus(CudaVersion& driver_version) const {
  std::vector<Gpu> gpus;
  driver_version = 0;
  if (all()) {
    gpus.assign(gpu_table().begin(), gpu_table().end());
  } else if (!names.empty()) {
    for (const std::string& name : names) {
      auto gpu = gpu_to_plan(name);
      if (!gpu) wrong("--" + gpu.error().message);
      gpus.push_back(std::move(*gpu));
    }
  } else {
    const Machine machine = this_machine();
    if (machine.gpus.empty())
      wrong(
          fmt::format("--gpu: not given, and this machine has none ({}); name one, or \"all\"", machine.no_gpu_reason));
    gpus = machine.gpus;
    driver_version = machine.cuda;
  }
  if (!driver.empty()) {
    const auto version = parse_driver(driver);
    if (!version) wrong("--" + version.error().message);
    driver_version = *version;
  }
  return gpus;
}

}  // namespace flashfit::cli
