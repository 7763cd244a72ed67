#include "proof/reference/listed.hpp"

#include "measure/cases.hpp"

namespace flashfit::testing {
namespace {

Layout layout_of(measure::Memory memory) {
  switch (memory) {
    case measure::Memory::kPackedQkv:
      return Layout::kPackedQKV;
    case measure::Memory::kHeadsFirst:
      return Layout::kBHSD;
    case measure::Memory::kPaddedRows:
      return Layout::kPadded;
    case measure::Memory::kUnaligned:
      return Layout::kUnaligned;
    case measure::Memory::kContiguous:
      break;
  }
  return Layout::kBSHD;
}

ForwardCase forward_case(const measure::Case& c) {
  ForwardCase f;
  f.name = c.name;
  f.dtype = c.dtype;
  f.head_dim = c.head_dim;
  f.head_dim_v = c.head_dim_v;
  f.heads_q = c.heads_q;
  f.heads_kv = c.heads_kv;
  f.seqlens_q = c.lengths_q;
  f.seqlens_k = c.lengths_k;
  f.causal = c.causal;
  f.variable_length = c.variable_length;
  f.layout = layout_of(c.memory);
  f.softmax_scale = c.softmax_scale;
  f.q_scale = c.magnitude;
  f.k_scale = c.magnitude_k;
  f.v_scale = c.magnitude_v;
  f.planted = c.planted;
  f.spare_rows = c.spare_rows;
  f.options.window_left = c.window_left;
  f.options.window_right = c.window_right;
  f.options.softcap = c.softcap;
  f.options.alibi = c.alibi ? Slopes::kOfHeads : Slopes::kNone;
  f.options.sinks = c.sinks ? Sinks::kNormal : Sinks::kNone;
  f.options.bias = {.kind = c.bias.kind,
                    .own_batch = !c.bias.shared_batch,
                    .own_heads = !c.bias.shared_heads,
                    .own_rows = !c.bias.shared_rows,
                    .own_keys = !c.bias.shared_keys};
  f.options.seqused_k = c.used_k;
  return f;
}

const std::vector<measure::Case>& all_cases() {
  static const std::vector<measure::Case> all = measure::expand_cases(measure::case_list()).value();
  return all;
}

}  // namespace

std::vector<ForwardCase> listed_cases(std::string_view group, DType dtype, std::int64_t head_dim, double flop) {
  std::vector<ForwardCase> some;
  for (const measure::Case& c : all_cases())
    if (c.group == group && c.dtype == dtype && (head_dim == 0 || c.head_dim == head_dim) &&
        measure::work_of(c).flop <= flop)
      some.push_back(forward_case(c));
  return some;
}

}  // namespace flashfit::testing
