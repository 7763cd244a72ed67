#include "reference/cases.hpp"

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

}  // namespace flashfit::testing
