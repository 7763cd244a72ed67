#include "cli/emulate_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cli/options.hpp"
#include "cli/pick.hpp"

namespace flashfit::cli {
namespace {

using Lengths = std::vector<std::int64_t>;

struct NamedLayout {
  const char* name;
  reference::Layout layout;
};
constexpr NamedLayout kLayouts[] = {
    {"bshd", reference::Layout::kBSHD},     {"bhsd", reference::Layout::kBHSD},
    {"padded", reference::Layout::kPadded}, {"packed", reference::Layout::kPackedQKV},
    {"mixed", reference::Layout::kMixed},   {"head_stride_0", reference::Layout::kHeadStride0}};

Lengths parse_lengths(const std::string& option, const std::string& text) {
  Lengths lengths;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto length = whole_number(std::string_view(text).substr(begin, end - begin), 0, 1 << 24);
    if (!length) wrong(option, text, "must be lengths from 0 to 16777216 with commas between, such as 65,0,300");
    lengths.push_back(*length);
    begin = end + 1;
  }
  return lengths;
}

std::int64_t sum(const Lengths& x) { return std::accumulate(x.begin(), x.end(), std::int64_t{0}); }

// At 3 GFLOP/s a core some ten minutes, and as long for the reference; and 4 GB of tensors.
constexpr double kMostFlop = 2e12, kMostElements = 1e9;

}  // namespace

void EmulateOptions::add_to(CLI::App& app) {
  problem.seqlen = 300;
  gpu.add_to(app);
  problem.add_to(app);
  app.add_option("--seqlens", seqlens, "variable length: queries of each sequence, with commas between")
      ->type_name("N,N,...")
      ->excludes("--seqlen", "--seqlen-k");
  app.add_option("--seqlens-k", seqlens_k, "variable length: keys of each sequence (default: as many as queries)")
      ->type_name("N,N,...");
  app.add_option("--seqused-k", seqused_k, "keys of each sequence that are there, with commas between (default: all)")
      ->type_name("N,N,...");
  app.add_option("--layout", layout,
                 "how tensors lie in memory: bshd (default), bhsd, padded, packed, mixed, head_stride_0")
      ->type_name("NAME");
  app.add_option("--softmax-scale", softmax_scale, "factor of the scores (default: 1 / sqrt(head_dim))")
      ->type_name("X");
  app.add_option("--variant", variant, "force this variant of `flashfit images`")->type_name("NAME");
  add_whole_number(app, "--data-seed", data_seed, 0, std::numeric_limits<std::uint32_t>::max(),
                   "of the random tensors (default 1)");
  app.add_option("--numerics", numerics,
                 "sums of matrix products: fp32 (default), or tensor-core: bit for bit as the GPU's");
  how.add_to(app);
}

reference::ForwardCase EmulateOptions::data_case() const {
  const ForwardProblem p = problem.problem();
  reference::ForwardCase c;
  c.name = "the result";
  c.dtype = p.dtype;
  c.head_dim = p.head_dim;
  c.heads_q = p.heads_q;
  c.heads_kv = p.heads_kv;
  c.causal = p.causal;
  c.variable_length = !seqlens.empty();
  if (!c.variable_length && !seqlens_k.empty()) wrong("--seqlens-k", seqlens_k, "needs --seqlens");
  if (c.variable_length) {
    c.seqlens_q = parse_lengths("--seqlens", seqlens);
    c.seqlens_k = seqlens_k.empty() ? c.seqlens_q : parse_lengths("--seqlens-k", seqlens_k);
    if (c.seqlens_k.size() != c.seqlens_q.size())
      wrong("--seqlens-k", seqlens_k, fmt::format("must have {} lengths, as --seqlens has", c.seqlens_q.size()));
    if (p.batch != 1) wrong("--batch", std::to_string(p.batch), "is what --seqlens says: give one of the two");
  } else {
    c.seqlens_q.assign(p.batch, p.seqlen_q);
    c.seqlens_k.assign(p.batch, p.seqlen_k);
  }
  if (c.variable_length && p.bias != BiasKind::kNone)
    wrong("--bias", problem.bias, "goes with sequences of one length: --seqlens has others");
  c.head_dim_v = p.head_dim_v;
  c.options = {.window_left = problem.window_left,
               .window_right = problem.window_right,
               .softcap = problem.softcap,
               .alibi = p.alibi ? reference::Slopes::kOfBatchAndHeads : reference::Slopes::kNone,
               .sinks = p.sinks ? reference::Sinks::kNormal : reference::Sinks::kNone,
               .bias = {.kind = p.bias, .in_pairs = !p.bias_by_element},
               .seqused_k = {},
               .batch_invariant = p.batch_invariant};
  if (!seqused_k.empty()) {
    Lengths& used = c.options.seqused_k = parse_lengths("--seqused-k", seqused_k);
    if (used.size() != c.seqlens_k.size())
      wrong("--seqused-k", seqused_k, fmt::format("must have {} lengths, one a sequence", c.seqlens_k.size()));
    for (std::size_t b = 0; b < used.size(); ++b)
      if (used[b] > c.seqlens_k[b])
        wrong("--seqused-k", seqused_k,
              fmt::format("must be at most the keys of each: {} is past {}", used[b], c.seqlens_k[b]));
  }
  c.layout = pick(kLayouts, "--layout", layout).layout;
  const double scale = softmax_scale.value_or(0);
  if (softmax_scale && (!(static_cast<float>(scale) > 0) || scale > 1e30))  // 0 would be the default
    wrong("--softmax-scale", fmt::format("{}", scale), "must be above 0 in fp32, and at most 1e30");
  c.softmax_scale = scale;
  c.seed = static_cast<std::uint64_t>(data_seed);
  const double elements =
      static_cast<double>(c.head_dim + c.dim_v()) *
          (static_cast<double>(c.heads_q * sum(c.seqlens_q)) + static_cast<double>(c.heads_kv * sum(c.seqlens_k))) +
      (p.bias == BiasKind::kNone ? 0.0
                                 : static_cast<double>(c.heads_q * sum(c.seqlens_q)) * static_cast<double>(p.seqlen_k));
  if (elements > kMostElements || forward_flop(c) > kMostFlop)
    wrong(
        fmt::format("the problem has {:.2g} elements and {:.2g} FLOP: the emulator takes at most {:.0e} and {:.0e}; "
                    "fewer heads or a smaller --seqlen show the same",
                    elements, forward_flop(c), kMostElements, kMostFlop));
  return c;
}

std::vector<emu::Options> EmulateOptions::runs(const Gpu& on) const {
  return runs(static_cast<std::size_t>(on.shared_bytes_block), on.cc.decimal());
}

std::vector<emu::Options> EmulateOptions::runs(std::size_t shared_limit, int cc) const {
  struct Mode {
    const char* name;
    bool exact;
  };
  constexpr Mode kModes[] = {{"fp32", false}, {"tensor-core", true}};
  const bool exact = pick(kModes, "--numerics", numerics).exact;
  std::vector<emu::Options> all = how.runs(shared_limit);
  for (emu::Options& each : all)
    if (exact) each.tensor_core = emu::tensor_core_of(cc);
  return all;
}

double forward_flop(const reference::ForwardCase& c) {
  double pairs = 0;
  const reference::OptionCase& o = c.options;
  const std::int64_t right = c.causal ? 0 : o.window_right;
  for (std::size_t b = 0; b < c.seqlens_q.size(); ++b) {
    const std::int64_t keys = o.seqused_k.empty() ? c.seqlens_k[b] : o.seqused_k[b];
    for (std::int64_t i = 0; i < c.seqlens_q[b]; ++i) {
      const std::int64_t at = i + keys - c.seqlens_q[b];
      const std::int64_t begin = o.window_left < 0 ? 0 : std::clamp<std::int64_t>(at - o.window_left, 0, keys);
      const std::int64_t end = right < 0 ? keys : std::clamp<std::int64_t>(at + right + 1, 0, keys);
      pairs += static_cast<double>(std::max<std::int64_t>(end - begin, 0));
    }
  }
  return 2 * pairs * static_cast<double>(c.heads_q * (c.head_dim + c.dim_v()));
}

}  // namespace flashfit::cli
