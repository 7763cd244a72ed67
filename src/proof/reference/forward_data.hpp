#pragma once
// One attention forward with its memory, what it must give, and what counts as right.
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/attention/problem.hpp"
#include "proof/reference/attention.hpp"
#include "proof/reference/option_data.hpp"
#include "proof/reference/planted_logits.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::reference {

struct ForwardCase {
  std::string name;  ///< what messages call it
  DType dtype = DType::kF16;
  std::int64_t head_dim = 64, heads_q = 1, heads_kv = 1;
  std::vector<std::int64_t> seqlens_q, seqlens_k;  ///< per sequence; dense cases have equal ones
  bool causal = false, variable_length = false;
  Layout layout = Layout::kBSHD;
  std::uint64_t seed = 1;
  double softmax_scale = 0;                      ///< 0: 1 / sqrt(head_dim)
  double q_scale = 1, k_scale = 1, v_scale = 1;  ///< standard deviations
  PlantedLogits planted;
  std::int64_t spare_rows = 0;  ///< variable length: rows of all tensors after the last sequence, which are nobody's
  std::int64_t head_dim_v = 0;  ///< 0: as head_dim
  OptionCase options;

  std::int64_t dim_v() const { return head_dim_v ? head_dim_v : head_dim; }
};

/// A case with its memory. Movable; `call()` points into it.
struct ForwardData {
  ForwardCase spec;
  Tensor q, k, v, out;
  std::vector<float> lse;  ///< in the API's layout, with kRedZone poisoned values before and after
  std::vector<std::int32_t> cu_seqlens_q, cu_seqlens_k;  ///< variable length only
  OptionData options;

  ForwardProblem problem() const;
  float softmax_scale() const;
  /// The case for the reference, whose pointers are into the data's.
  Problem reference_problem() const;
  ForwardCall call();
  std::int64_t lse_count() const;
  float lse_at(std::int64_t sequence, std::int64_t row, std::int64_t head) const;
  /// The first byte outside of the tensors' elements that was written, in words, or "".
  std::string written_outside() const;
  bool red_zones_intact() const { return written_outside().empty(); }
};

/// Fills q, k, v and what options need at random from the case's seed; out and lse are poisoned, and so are keys and
/// values that options hide from every query.
ForwardData make_data(const ForwardCase& spec);
/// make_data(spec).problem(), without the time that filling takes.
ForwardProblem problem_of(const ForwardCase& spec);

/// What a result is held to; docs/numerics.md derives the bounds.
struct Expected {
  Output exact;
  double out_bound = 0, lse_bound = 0;  ///< of the largest absolute error
  double naive_out_error = 0, naive_lse_error = 0;
};
Expected expect(const ForwardData& data);
/// The same of tensors by themselves; `largest_v` is the largest |v| of those that some query may see.
Expected expect(const Problem& problem, const View& q, const View& k, const View& v, double largest_v);
/// Whether a row's output must be its one key's value bit for bit: without a sink, the softmax of one score is 1.
/// Beyond 1,024 the score's own rounding in fp32 shows in a weight that is rounded to the dtype, and the bound holds
/// alone.
inline bool is_copy(std::int64_t keys, bool has_sink, double lse) {
  return keys == 1 && !has_sink && -1024 < lse && lse < 1024;
}
/// The absolute error of `got`, infinite where NaN or an infinity is out of place.
double error_of(double got, double want);

struct Verdict {
  bool ok = false;
  double out_error = 0, lse_error = 0;  ///< largest absolute errors
  std::string message;                  ///< if not ok: which element, what it is and should be, and the bound
};
/// Compares data.out and data.lse. NaN and infinities must be where the reference has them; red zones must be intact.
Verdict check(const ForwardData& data, const Expected& expected);

}  // namespace flashfit::reference
