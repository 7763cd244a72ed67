#include "proof/reference/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace flashfit::testing {
namespace {

using Lengths = std::vector<std::int64_t>;

class List {
 public:
  List(DType dtype, std::int64_t head_dim) : dtype_(dtype), head_dim_(head_dim) {}

  ForwardCase& dense(std::string name, std::int64_t batch, std::int64_t sq, std::int64_t sk, bool causal) {
    return add(std::move(name), Lengths(batch, sq), Lengths(batch, sk), causal);
  }
  ForwardCase& ragged(std::string name, Lengths sq, Lengths sk, bool causal) {
    ForwardCase& c = add(std::move(name), std::move(sq), std::move(sk), causal);
    c.variable_length = true;
    return c;
  }
  std::vector<ForwardCase> take() { return std::move(cases_); }

 private:
  ForwardCase& add(std::string name, Lengths sq, Lengths sk, bool causal) {
    ForwardCase c;
    c.name = std::move(name) + (causal ? "_causal" : "");
    c.dtype = dtype_;
    c.head_dim = head_dim_;
    c.seqlens_q = std::move(sq);
    c.seqlens_k = std::move(sk);
    c.causal = causal;
    c.seed = cases_.size() + 1;
    return cases_.emplace_back(std::move(c));
  }

  DType dtype_;
  std::int64_t head_dim_;
  std::vector<ForwardCase> cases_;
};

void add_lengths(List& list) {
  constexpr std::pair<int, int> kLengths[] = {
      {1, 1},   {1, 64},    {1, 200}, {5, 1},    {5, 63},    {16, 16},  {63, 65},  {64, 64},   {65, 127}, {65, 63},
      {127, 1}, {128, 128}, {129, 5}, {128, 64}, {129, 129}, {64, 200}, {200, 64}, {200, 200}, {96, 257}, {3, 385}};
  for (const auto& [sq, sk] : kLengths) {
    for (const bool causal : {false, true}) list.dense(fmt::format("q{}_k{}", sq, sk), 1, sq, sk, causal);
  }
  for (const bool causal : {false, true}) {
    list.dense("no_keys", 2, 33, 0, causal);
    list.dense("no_queries", 1, 0, 40, causal);
    list.dense("no_batch", 0, 40, 40, causal);
  }
}

void add_heads(List& list) {
  for (const auto& [heads_q, heads_kv] : {std::pair{2, 1}, {2, 2}, {8, 1}, {8, 4}, {16, 2}}) {
    for (const bool causal : {false, true}) {
      ForwardCase& c = list.dense(fmt::format("heads{}_kv{}", heads_q, heads_kv), 2, 37, 70, causal);
      c.heads_q = heads_q;
      c.heads_kv = heads_kv;
    }
  }
  ForwardCase& decode = list.dense("decode_mqa", 3, 1, 150, true);
  decode.heads_q = 8;
}

void add_layouts(List& list) {
  constexpr std::pair<Layout, const char*> kLayouts[] = {{Layout::kBHSD, "bhsd"},
                                                         {Layout::kPadded, "padded"},
                                                         {Layout::kPackedQKV, "packed"},
                                                         {Layout::kMixed, "mixed"},
                                                         {Layout::kHeadStride0, "head_stride_0"}};
  for (const auto& [layout, name] : kLayouts) {
    for (const bool causal : {false, true}) {
      ForwardCase& c = list.dense(name, 2, 70, 100, causal);
      c.heads_q = 4;
      c.heads_kv = 2;
      c.layout = layout;
      ForwardCase& r = list.ragged(fmt::format("ragged_{}", name), {70, 0, 9}, {64, 5, 90}, causal);
      r.heads_q = 4;
      r.heads_kv = 2;
      r.layout = layout;
    }
  }
}

void add_ragged(List& list) {
  for (const bool causal : {false, true}) {
    ForwardCase& c = list.ragged("ragged", {0, 1, 65, 0, 128, 17}, {3, 0, 65, 0, 129, 200}, causal);
    c.heads_q = 2;
    c.heads_kv = 1;
    ForwardCase& grouped = list.ragged("ragged_grouped", {3, 70, 0, 33, 1}, {80, 5, 9, 130, 64}, causal);
    grouped.heads_q = 6;
    grouped.heads_kv = 2;
    list.ragged("ragged_all_empty", {0, 0}, {0, 0}, causal);
    list.ragged("ragged_one", {150}, {150}, causal);
    list.ragged("ragged_short", {1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}, causal);
    // More than a warp asks for at once, and one that begins where a warp's next question would.
    Lengths many(70, 1);
    many[33] = 40, many[36] = 0, many[69] = 3;
    list.ragged("ragged_many", many, many, causal);
  }
}

void add_values(List& list) {
  for (const bool causal : {false, true}) {
    list.dense("growing_scores", 1, 70, 260, causal).q_scale = 8;
    list.dense("huge_scores", 1, 70, 130, causal).q_scale = 1000;
    list.dense("scale_tiny", 1, 70, 130, causal).softmax_scale = 1e-20;
    list.dense("scale_large", 1, 70, 130, causal).softmax_scale = 50;
  }
}

/// Heads that share keys, and a batch: what options are read by.
ForwardCase& grouped(ForwardCase& c) {
  c.heads_q = 4;
  c.heads_kv = 2;
  return c;
}

void add_windows(List& list) {
  struct Window {
    const char* name;
    std::int64_t left, right;
    bool causal;
  };
  constexpr Window kWindows[] = {{"left", 20, -1, false}, {"right", -1, 10, false}, {"both", 33, 7, false},
                                 {"left", 20, -1, true},  {"right", -1, 10, true},  {"diagonal", 0, 0, false}};
  constexpr std::pair<int, int> kLengths[] = {{130, 130}, {70, 200}, {200, 70}};
  for (const Window& w : kWindows) {
    const auto set = [&](ForwardCase& c) { c.options.window_left = w.left, c.options.window_right = w.right; };
    for (const auto& [sq, sk] : kLengths)
      set(list.dense(fmt::format("window_{}_q{}_k{}", w.name, sq, sk), 1, sq, sk, w.causal));
    set(grouped(list.ragged(fmt::format("window_{}_ragged", w.name), {70, 0, 9, 1}, {64, 5, 90, 130}, w.causal)));
  }
  ForwardCase& decode = grouped(list.dense("window_decode", 2, 1, 200, true));
  decode.options.window_left = 63;
  ForwardCase& wide = list.dense("window_past_all_keys", 1, 70, 70, false);
  wide.options.window_left = 1 << 20, wide.options.window_right = 70;
  // At tiles' edges: the first and the last key of a tile of 64 leave the window.
  ForwardCase& edge = list.dense("window_on_tiles", 1, 192, 192, true);
  edge.options.window_left = 64;
  ForwardCase& mixed = grouped(list.dense("window_mixed_layouts", 2, 70, 100, false));
  mixed.layout = Layout::kMixed;
  mixed.options.window_left = 31, mixed.options.window_right = 3;
}

void add_softcaps(List& list) {
  for (const bool causal : {false, true}) {
    ForwardCase& c = list.dense("softcap", 1, 70, 130, causal);
    c.options.softcap = 30;
    c.q_scale = 8;
  }
  ForwardCase& near = list.dense("softcap_near", 1, 70, 130, false);
  near.options.softcap = 2;
  ForwardCase& tiny = list.dense("softcap_tiny", 1, 33, 70, false);
  tiny.options.softcap = 0.01;
  ForwardCase& huge = list.dense("softcap_of_huge_scores", 1, 33, 70, false);
  huge.options.softcap = 50;
  huge.q_scale = 1000;
}

void add_alibi(List& list) {
  for (const Slopes slopes : {Slopes::kOfHeads, Slopes::kOfBatchAndHeads}) {
    const char* const of = slopes == Slopes::kOfHeads ? "heads" : "batch_and_heads";
    for (const bool causal : {false, true}) {
      grouped(list.dense(fmt::format("alibi_{}", of), 2, 70, 100, causal)).options.alibi = slopes;
      grouped(list.ragged(fmt::format("alibi_{}_ragged", of), {70, 0, 9}, {64, 5, 90}, causal)).options.alibi = slopes;
    }
  }
  grouped(list.dense("alibi_more_queries", 1, 130, 40, true)).options.alibi = Slopes::kOfHeads;
}

void add_sinks(List& list) {
  for (const Sinks sinks : {Sinks::kNormal, Sinks::kExtreme}) {
    const char* const kind = sinks == Sinks::kNormal ? "normal" : "extreme";
    for (const bool causal : {false, true}) {
      grouped(list.dense(fmt::format("sinks_{}", kind), 2, 70, 100, causal)).options.sinks = sinks;
      grouped(list.dense(fmt::format("sinks_{}_more_queries", kind), 1, 100, 70, causal)).options.sinks = sinks;
    }
    grouped(list.dense(fmt::format("sinks_{}_no_keys", kind), 1, 5, 0, false)).options.sinks = sinks;
    grouped(list.ragged(fmt::format("sinks_{}_ragged", kind), {7, 3, 65}, {0, 64, 9}, true)).options.sinks = sinks;
  }
}

void add_biases(List& list) {
  constexpr std::pair<BiasKind, const char*> kKinds[] = {
      {BiasKind::kVisible, "bool"}, {BiasKind::kLikeQ, "like_q"}, {BiasKind::kF32, "fp32"}};
  for (const auto& [kind, name] : kKinds) {
    const auto add = [&, kind = kind, name = name](const char* shape, bool causal, BiasCase bias) {
      ForwardCase& c = grouped(list.dense(fmt::format("bias_{}_{}", name, shape), 2, 70, 100, causal));
      bias.kind = kind;
      c.options.bias = bias;
    };
    add("whole", false, {});
    add("whole", true, {});
    add("of_keys", false, {.own_heads = false, .own_rows = false});
    add("of_rows_and_keys", true, {.own_batch = false, .own_heads = false});
    add("of_heads", false, {.own_batch = false, .holes = false});
    add("of_rows", false, {.own_batch = false, .own_keys = false});
    add("transposed", false, {.own_heads = false, .transposed = true});
    ForwardCase& one = list.dense(fmt::format("bias_{}_decode", name), 3, 1, 150, true);
    one.heads_q = 8;
    one.options.bias = {.kind = kind};
  }
}

void add_used_keys(List& list) {
  for (const bool causal : {false, true}) {
    ForwardCase& c = grouped(list.dense("used", 4, 70, 130, causal));
    c.options.seqused_k = {0, 1, 130, 65};
    ForwardCase& r = grouped(list.ragged("used_ragged", {70, 3, 9, 40}, {64, 5, 90, 33}, causal));
    r.options.seqused_k = {64, 0, 70, 1};
  }
  ForwardCase& window = list.dense("used_window", 2, 70, 130, true);
  window.options.seqused_k = {100, 30};
  window.options.window_left = 20;
}

/// 192 and 128 are a pair that models have.
void add_values_dims(List& list, std::int64_t head_dim) {
  std::vector<std::int64_t> dims{1, (head_dim + 1) / 2, head_dim + 24};
  if (head_dim == 192) dims.push_back(128);
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  for (const std::int64_t dim : dims) {
    if (dim == head_dim) continue;
    for (const Layout layout : {Layout::kBSHD, Layout::kMixed, Layout::kPackedQKV}) {
      const char* const name = layout == Layout::kBSHD ? "" : layout == Layout::kMixed ? "_mixed" : "_packed";
      ForwardCase& c = grouped(list.dense(fmt::format("v{}{}", dim, name), 2, 40, 70, layout == Layout::kMixed));
      c.head_dim_v = dim;
      c.layout = layout;
    }
    ForwardCase& r = grouped(list.ragged(fmt::format("v{}_ragged", dim), {70, 0, 9}, {64, 5, 90}, true));
    r.head_dim_v = dim;
  }
}

void add_combinations(List& list) {
  ForwardCase& gemma = grouped(list.dense("window_softcap", 2, 100, 130, true));
  gemma.options.window_left = 40;
  gemma.options.softcap = 50;
  ForwardCase& oss = list.ragged("window_sinks", {65, 1, 30}, {65, 130, 40}, true);
  oss.heads_q = 8;
  oss.options.window_left = 31;
  oss.options.sinks = Sinks::kNormal;
  ForwardCase& padded = grouped(list.dense("used_sinks_bias", 3, 20, 100, true));
  padded.options.seqused_k = {100, 0, 37};
  padded.options.sinks = Sinks::kExtreme;
  padded.options.bias = {.kind = BiasKind::kF32, .own_heads = false, .own_rows = false};
  ForwardCase& slopes = grouped(list.dense("softcap_alibi_bias", 2, 70, 100, false));
  slopes.options = {.softcap = 20,
                    .alibi = Slopes::kOfBatchAndHeads,
                    .bias = {.kind = BiasKind::kLikeQ, .own_batch = false},
                    .batch_invariant = true};
  ForwardCase& all = grouped(list.dense("all_options", 3, 70, 130, false));
  all.head_dim_v = all.head_dim / 2 + 1;
  all.layout = Layout::kMixed;
  all.options = {.window_left = 50,
                 .window_right = 9,
                 .softcap = 15,
                 .alibi = Slopes::kOfHeads,
                 .sinks = Sinks::kNormal,
                 .bias = {.kind = BiasKind::kVisible, .own_heads = false},
                 .seqused_k = {130, 77, 2}};
}

// Field reports' own correctness shapes: fp16, head_dim 64.
void add_origin(List& list, Size size) {
  struct Shape {
    int batch, length, heads;
    bool causal;
  };
  constexpr Shape kShapes[] = {{1, 512, 8, false}, {2, 512, 8, false},  {1, 512, 8, true}, {2, 512, 8, true},
                               {1, 128, 4, false}, {1, 256, 16, false}, {4, 512, 8, false}};
  for (const Shape& s : kShapes) {
    const int length = size == Size::kFull ? s.length : s.length / 4,
              heads = size == Size::kFull ? s.heads : s.heads / 4;
    ForwardCase& c =
        list.dense(fmt::format("origin_b{}_s{}_h{}", s.batch, s.length, s.heads), s.batch, length, length, s.causal);
    c.heads_q = c.heads_kv = heads;
    c.layout = Layout::kBHSD;
  }
}

}  // namespace

std::vector<ForwardCase> forward_cases(DType dtype, std::int64_t head_dim, Size size) {
  List list(dtype, head_dim);
  add_lengths(list);
  add_heads(list);
  add_layouts(list);
  add_ragged(list);
  add_values(list);
  if (head_dim == 64) add_origin(list, size);
  return list.take();
}

std::vector<ForwardCase> option_cases(DType dtype, std::int64_t head_dim) {
  List list(dtype, head_dim);
  add_windows(list);
  add_softcaps(list);
  add_alibi(list);
  add_sinks(list);
  add_biases(list);
  add_used_keys(list);
  add_values_dims(list, head_dim);
  add_combinations(list);
  return list.take();
}

}  // namespace flashfit::testing
