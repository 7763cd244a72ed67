// Runs the kernels that it is linked with through the emulated tests' cases.
// An argument N: only every N-th of them. Exit 0: all right; 1: the first defect found, in one line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "emulated.hpp"
#include "kernels/attention/forward/plan/candidates.hpp"
#include "kernels/attention/forward/wgmma/head_start.hpp"

namespace flashfit::testing {
namespace {

using Make = ForwardData (*)(const ForwardCase&);

/// A case, the parts that its keys are cut in, and whether it is run under each schedule or under one alone.
struct Try {
  ForwardCase spec;
  int splits = 1;
  bool all_schedules = false;
};

std::string defect_on(const EmulatedKernel& kernel, const ForwardCase& spec, const emu::Options& options,
                      const Expected& expected, int splits, Make make) {
  ForwardData data = make(spec);
  const auto ran = run(kernel, data, options, {}, splits);
  if (!ran) return "finding: " + ran.error().message;
  if (!ran->worst_bank_conflicts.empty()) return "bank conflicts: " + ran->worst_bank_conflicts;
  if (const Verdict verdict = check(data, expected); !verdict.ok)
    return std::string("wrong (") + name_of(options.schedule) + "): " + verdict.message;
  return {};
}

std::string defect_on(const EmulatedKernel& kernel, const Try& t, std::size_t index, Make make = make_data) {
  const std::vector<emu::Options> all = schedules();
  const Expected expected = expect(make(t.spec));
  for (std::size_t i = 0; i < (t.all_schedules ? all.size() : 1); ++i)
    if (std::string defect = defect_on(kernel, t.spec, all[(index + i) % all.size()], expected, t.splits, make);
        !defect.empty())
      return defect;
  return {};
}

/// What no reference can say: nothing outside is touched, whatever the offsets and the counts of keys are; no LSE where
/// none is wanted.
std::string defect_on_hostile(const EmulatedKernel& kernel, ForwardCase spec) {
  spec.variable_length = true;
  spec.seqlens_q = spec.seqlens_k = {90, 60};
  spec.options.seqused_k = {90, 60};
  for (const int splits : {1, 2}) {
    ForwardData data = make_data(spec);
    data.cu_seqlens_q = {0, 100, 170};
    data.cu_seqlens_k = {-5, 300, 400};
    data.options.seqused_k.data()[1] = std::numeric_limits<std::int32_t>::max();
    // Sequences that overlap are written by several blocks: a race, and the caller's.
    const auto ran = run(kernel, data, {.global_races = false}, [](ForwardParams& p) { p.lse = nullptr; }, splits);
    if (!ran) return "finding: " + ran.error().message;
  }
  return "";
}

/// Every `each`-th case that the kernel serves, cut in one to three parts in turn.
void add(std::vector<Try>& to, const ForwardConfig& c, std::vector<ForwardCase> cases, std::size_t each,
         bool all_schedules) {
  std::size_t served = 0;
  for (ForwardCase& spec : cases)
    if (serves(c, problem_of(spec)) && served++ % each == 0)
      to.push_back({std::move(spec), all_schedules ? 1 : 1 + static_cast<int>(to.size() % 3), all_schedules});
}

/// Of the kernel's own head_dim and of narrower ones, which leave columns of its tiles over: whole chunks of 8 and
/// whole panels in 16 bytes at once, others an element at a time.
std::vector<Try> tries_of(const ForwardConfig& c) {
  const bool general = c.kind == ForwardKind::kGeneral && c.engine == ForwardEngine::kMma;
  // Kernels for one option alone have cases of their own, and are as others but for it.
  const bool of_one_option = c.kind == ForwardKind::kAlibi || c.kind == ForwardKind::kBias;
  std::vector<Try> tries;
  if (of_one_option) {
    add(tries, c, forward_cases(c.dtype, c.head_dim, Size::kSmall), 9, false);
    add(tries, c, option_cases(c.dtype, c.head_dim), 3, false);
    return tries;
  }
  add(tries, c, forward_cases(c.dtype, c.head_dim, Size::kSmall), general ? 6 : 3, true);
  add(tries, c, listed_cases("hard", c.dtype, c.head_dim, 1e7), 2, false);
  add(tries, c, option_cases(c.dtype, c.head_dim), general ? 4 : 1, false);
  add(tries, c, option_cases(c.dtype, c.head_dim - 24), general ? 11 : 3, false);
  add(tries, c, forward_cases(c.dtype, c.head_dim - 24, Size::kSmall), 6, false);
  add(tries, c, forward_cases(c.dtype, c.head_dim / 2 - 8, Size::kSmall), 6, false);
  if (general) add(tries, c, forward_cases(c.dtype, c.head_dim - 7, Size::kSmall), 6, false);
  return tries;
}

/// What is no case of the list.
std::string defect_beside(const EmulatedKernel& kernel, const ForwardCase& spec) {
  Try mixed{spec};
  mixed.spec.seqlens_q = {70, 70}, mixed.spec.seqlens_k = {100, 100}, mixed.spec.heads_q = 2;
  if (std::string defect = defect_on(kernel, mixed, 0, make_data_of_mixed_layouts); !defect.empty()) return defect;
  Try many{spec};  // sequences: more than a warp asks for at once
  many.spec.variable_length = true;
  many.spec.seqlens_q = many.spec.seqlens_k = std::vector<std::int64_t>(70, 3);
  const bool lengths_vary = serves(forward_variant_of(kernel.variant).config, problem_of(many.spec));
  if (lengths_vary)
    if (std::string defect = defect_on(kernel, many, 0); !defect.empty()) return defect;
  if (const ForwardConfig& c = forward_variant_of(kernel.variant).config;
      c.engine == ForwardEngine::kWgmma && c.head_dim <= 64) {
    Try heads{spec};  // so many that a block takes pairs of their tiles, of which one has no partner
    heads.spec.causal = true;
    heads.spec.heads_q = heads.spec.heads_kv = 24;
    heads.spec.seqlens_q = heads.spec.seqlens_k = {2 * c.block_m + 4};
    if (std::string defect = defect_on(kernel, heads, 0); !defect.empty()) return defect;
  }
  if (lengths_vary)
    if (std::string defect = defect_on_hostile(kernel, spec); !defect.empty()) return defect;
  if (copies_from_sectors(forward_variant_of(kernel.variant).config))
    if (std::string defect = head_starts_defect(kernel, {}); !defect.empty()) return "head starts: " + defect;
  if (takes_heads(forward_variant_of(kernel.variant).config))
    if (std::string defect = whole_heads_defect(kernel, {}); !defect.empty()) return defect;
  if (std::string defect = neighbours_defect(kernel, {}); !defect.empty()) return "neighbours: " + defect;
  if (std::string defect = far_rows_defect(kernel, {}); !defect.empty()) return "far rows: " + defect;
  if (forward_variant_of(kernel.variant).config.kind == ForwardKind::kAlibi)
    if (std::string defect = alibi_defect(kernel, {}); !defect.empty()) return "wrong (alibi): " + defect;
  if (forward_variant_of(kernel.variant).config.kind == ForwardKind::kBias)
    for (const std::size_t shift : {0, 2})
      if (std::string defect = bias_defect(kernel, {}, shift); !defect.empty()) return "wrong (bias): " + defect;
  if (takes_biases(forward_variant_of(kernel.variant).config))
    for (const int splits : {1, 3})
      if (std::string defect = low_bias_defect(kernel, {}, splits); !defect.empty())
        return "wrong (lowest biases): " + defect;
  for (const int splits : {1, 3})
    if (std::string defect = containment_defect(kernel, {}, splits); !defect.empty()) return "containment: " + defect;
  return {};
}

/// On every `each`-th case, and on what is no case. In rounds, each of other cases of all kernels, as most defects show
/// in any few of them and there are many defects.
std::string first_defect(std::size_t each) {
  constexpr std::size_t kRounds = 7;
  const std::vector<EmulatedKernel>& kernels = emulated_forwards();
  std::vector<std::vector<Try>> tries;
  for (const EmulatedKernel& kernel : kernels) tries.push_back(tries_of(forward_variant_of(kernel.variant).config));
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t k = 0; k < kernels.size(); ++k)
      for (std::size_t i = round * each; i < tries[k].size(); i += kRounds * each)
        if (std::string defect = defect_on(kernels[k], tries[k][i], i); !defect.empty()) return defect;
    if (round == 0)
      for (std::size_t k = 0; k < kernels.size(); ++k)
        if (std::string defect = defect_beside(kernels[k], tries[k].front().spec); !defect.empty()) return defect;
  }
  return {};
}

}  // namespace
}  // namespace flashfit::testing

int main(int argc, char** argv) {
  const int each = argc > 1 ? std::atoi(argv[1]) : 1;
  const std::string defect = flashfit::testing::first_defect(static_cast<std::size_t>(std::max(each, 1)));
  std::puts(defect.empty() ? "no defect" : defect.c_str());
  return defect.empty() ? 0 : 1;
}
