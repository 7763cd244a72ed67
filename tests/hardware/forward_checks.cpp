// Carried images of the forward kernel on the GPU, and the same variants in the emulator.
#include <fmt/format.h>

#include <algorithm>

#include "hardware/check.hpp"
#include "hardware/images.hpp"
#include "kernels/attention/forward/params.hpp"
#include "kernels/attention/forward/plan/candidates.hpp"
#include "kernels/attention/forward/plan/steps.hpp"
#include "kernels/attention/pack.hpp"
#include "proof/emulated/forward.hpp"
#include "runtime/images/tensor_map.hpp"

namespace flashfit::hardware {
namespace {

using reference::ForwardCase;
using reference::ForwardData;

std::vector<ForwardCase> cases_for(const ForwardConfig& c) {
  const auto dense = [&](const char* name, int batch, int queries, int keys, bool causal) {
    ForwardCase one;
    one.name = name;
    one.dtype = c.dtype;
    one.head_dim = c.head_dim;
    one.head_dim_v = c.head_dim_v;
    one.heads_q = 4;
    one.heads_kv = 2;
    one.seqlens_q.assign(batch, queries);
    one.seqlens_k.assign(batch, keys);
    one.causal = causal;
    return one;
  };
  std::vector<ForwardCase> cases = {dense("full", 2, 300, 300, false), dense("causal", 2, 300, 300, true),
                                    dense("longer_keys", 1, 65, 391, true), dense("one_query", 1, 1, 200, false),
                                    dense("ragged", 3, 0, 0, true)};
  cases[2].layout = reference::Layout::kPadded;
  cases[4].variable_length = true;
  cases[4].seqlens_q = {129, 0, 70};
  cases[4].seqlens_k = {129, 5, 200};
  return cases;
}

/// Persistent blocks over wgmma: so few that they compute several tiles each.
constexpr std::int64_t kPersistentBlocks = 3;

/// Runs a loaded image on the case's memory, red zones and all.
void run_on_gpu(lab::Device& device, const lab::LoadedKernel& kernel, const KernelVariant& variant, ForwardData& data,
                Outcome& outcome) {
  const ForwardConfig& config = forward_variant_of(variant).config;
  ForwardCall call = data.call();
  Moved moved{device, outcome};
  std::vector<unsigned char>* const host[] = {&data.q.storage->bytes, &data.k.storage->bytes, &data.v.storage->bytes,
                                              &data.out.storage->bytes};
  std::byte* there[4];
  for (int i = 0; i < 4; ++i) there[i] = moved.up(bytes_of(*host[i]));
  std::byte* const lse = moved.up(bytes_of(data.lse));
  std::byte* const cu_q = moved.up(bytes_of(data.cu_seqlens_q));
  std::byte* const cu_k = moved.up(bytes_of(data.cu_seqlens_k));
  std::vector<int> none_taken(1, 0);
  std::byte* const taken = moved.up(bytes_of(none_taken));
  if (!outcome.passed) return;
  const auto at = [&](const void* pointer, int i) {
    return there[i] + (static_cast<const std::byte*>(pointer) - bytes_of(*host[i]).data());
  };
  call.q.data = at(call.q.data, 0), call.k.data = at(call.k.data, 1);
  call.v.data = at(call.v.data, 2), call.o.data = at(call.o.data, 3);
  call.lse = reinterpret_cast<float*>(lse + (reinterpret_cast<std::byte*>(call.lse) - bytes_of(data.lse).data()));
  if (call.cu_seqlens_q != nullptr) call.cu_seqlens_q = reinterpret_cast<const std::int32_t*>(cu_q);
  if (call.cu_seqlens_k != nullptr) call.cu_seqlens_k = reinterpret_cast<const std::int32_t*>(cu_k);
  if (packs_heads(call.problem)) call = pack_heads(call);  // as the plan does, and the emulator
  const ForwardParams p =
      forward_params(call, *slots_for(call.problem, config.block_m, packed_heads(config, call.problem)));
  const Image image{
      .variant = &variant, .target = {.cc = 90}, .registers = 0, .local_bytes = 0, .bytes = 0, .entry = {}};
  const Steps steps = forward_steps(image, nullptr, call.problem, p.slots, 1, kPersistentBlocks);
  ForwardArguments arguments;
  int* const counter = shares_counter(steps) ? reinterpret_cast<int*>(taken) : nullptr;
  if (const Result<void> r = arguments.set(config, call, p, encode_tensor_map, counter); !r)
    outcome.fail(r.error().message);
  if (!outcome.passed) return;
  if (const Result<void> r = device.run(kernel, {static_cast<int>(steps[0].grid.x)}, arguments.all()[0]); !r)
    outcome.fail("on the GPU: " + r.error().message);
  if (!outcome.passed) return;
  for (int i = 0; i < 4; ++i) moved.down(bytes_of(*host[i]), there[i]);
  moved.down(bytes_of(data.lse), lse);
  device.release();
}

Agreement compare_out(const ForwardData& gpu, const ForwardData& emulator) {
  const std::vector<unsigned char>&a = gpu.out.storage->bytes, &b = emulator.out.storage->bytes;
  Agreement all;
  for (std::size_t i = 0; i < gpu.out.storage->owned.size(); ++i) {
    if (!gpu.out.storage->owned[i]) continue;
    ++all.compared;
    const bool same = a[2 * i] == b[2 * i] && a[2 * i + 1] == b[2 * i + 1];
    all.equal += same;
    if (same) continue;
    const auto at = static_cast<std::int64_t>(i);
    const double x = reference::load(a.data(), gpu.spec.dtype, at), y = reference::load(b.data(), gpu.spec.dtype, at);
    all.largest = std::max(all.largest, std::abs(x - y));
    if (all.first.empty()) all.first = fmt::format("out element {}: GPU {}, emulator {}", i, x, y);
  }
  return all;
}

/// A case as one of the emulator's modes computes it.
struct Emulated {
  const char* mode;
  ForwardData data;
};

/// One image's answers, held to the bound, and beside the emulator's bit by bit.
void compare_case(const char* name, const ForwardData& gpu, const std::vector<Emulated>& emulated,
                  const reference::Expected& expected, Json& kept, Outcome& outcome) {
  const auto judge = [&](const std::string& who, const ForwardData& data) {
    const reference::Verdict verdict = check(data, expected);
    kept[who] = {{"error", verdict.out_error}, {"lse_error", verdict.lse_error}};
    if (!verdict.ok) outcome.fail(fmt::format("{}, {}: {}", name, who, verdict.message));
  };
  kept["bound"] = expected.out_bound;
  kept["lse_bound"] = expected.lse_bound;
  judge("gpu", gpu);
  const auto lse_of = [](const ForwardData& d) {
    return std::span<const float>(d.lse).subspan(reference::Tensor::kRedZone, static_cast<std::size_t>(d.lse_count()));
  };
  for (const Emulated& e : emulated) {
    judge(e.mode, e.data);
    kept[e.mode]["out"] = to_json(compare_out(gpu, e.data));
    kept[e.mode]["lse"] = to_json(compare("lse", lse_of(gpu), lse_of(e.data)));
  }
}

Outcome forward(const Place& place, const emulated::EmulatedKernel& kernel) {
  Outcome outcome;
  const ForwardConfig& config = forward_variant_of(kernel.variant).config;
  const bool rehearsal = place.device == nullptr;
  const emu::Options exact{.tensor_core = emu::tensor_core_of(place.cc.decimal())};
  const std::vector<LoadedImage> images =
      rehearsal ? std::vector<LoadedImage>{{"rehearsal", {}}} : load_images(*place.device, kernel.variant, outcome);
  outcome.kept["images"] = images.size();
  if (images.empty()) return outcome;
  for (const ForwardCase& spec : cases_for(config)) {
    if (!serves(config, make_data(spec).problem())) continue;
    std::vector<Emulated> runs;
    for (const char* mode : {"plain_mode", "tensor_core_mode"}) {
      runs.push_back({mode, make_data(spec)});
      if (const auto ran = emulated::run(kernel, runs.back().data, runs.size() == 2 ? exact : emu::Options{}); !ran)
        outcome.fail(fmt::format("{}: {}", mode, ran.error().message));
    }
    const reference::Expected expected = expect(runs.front().data);
    for (const auto& [target, loaded] : images) {
      ForwardData gpu = make_data(spec);
      if (rehearsal)
        static_cast<void>(emulated::run(kernel, gpu, exact));
      else
        run_on_gpu(*place.device, loaded, kernel.variant, gpu, outcome);
      if (!outcome.passed) return outcome;
      compare_case(spec.name.c_str(), gpu, runs, expected, outcome.kept[target][spec.name], outcome);
    }
  }
  return outcome;
}

}  // namespace

std::vector<Check> forward_checks() {
  std::vector<Check> checks;
  for (const emulated::EmulatedKernel& kernel : emulated::emulated_forwards())
    checks.push_back(
        {"forward", kernel.variant.name, [&kernel](const Place& place) { return forward(place, kernel); }});
  return checks;
}

}  // namespace flashfit::hardware
