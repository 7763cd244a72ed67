#pragma once
// The experts of a mixture in fp64, cases of them, and what may be wrong with a result.
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/moe/experts/call.hpp"

namespace flashfit::reference {

/// [outer, rows, columns] in memory of its own: poison (NaN) around all of it and after each row.
class Grid {
 public:
  static constexpr std::int64_t kRedZone = 64;  ///< elements before and after

  Grid() = default;
  /// `gap`: poisoned elements after each row.
  Grid(DType dtype, std::int64_t outer, std::int64_t rows, std::int64_t columns, std::int64_t gap = 0);

  double get(std::int64_t outer, std::int64_t row, std::int64_t column) const;
  void set(std::int64_t outer, std::int64_t row, std::int64_t column, double value);  ///< rounded to the dtype
  void* data() { return bytes.data() + kRedZone * size_of(dtype); }
  std::int64_t row_stride() const { return columns + gap; }
  std::int64_t outer_stride() const { return rows * row_stride(); }
  /// From the first to the last element.
  std::size_t size_in_bytes() const;
  /// Whether each byte that belongs to no element is as it was born.
  bool poison_intact() const;

  DType dtype = DType::kF32;
  std::int64_t outer = 0, rows = 0, columns = 0, gap = 0;
  std::vector<unsigned char> bytes;

 private:
  unsigned char* at(std::int64_t outer, std::int64_t row, std::int64_t column);
};

/// What a case's numbers are besides random: what unit-variance noise hides.
enum class ExpertInputs : unsigned char {
  kNormal,         ///< x of variance 1, weights such that both products are of variance 1
  kShifted,        ///< of a mean far from 0, all of them
  kScaled,         ///< x and biases 8 times as large
  kRising,         ///< a token is twice as large as the one before, eight in turn
  kNanTokens,      ///< some tokens of x hold a NaN or an infinity
  kNanExpert,      ///< the weights of one expert hold a NaN
  kNanOfNoChoice,  ///< all weights of experts that no token chose, and the weights of choices that are not owned, are
                   ///< NaN
};

/// Which experts tokens choose.
enum class Choices : unsigned char {
  kRandom,    ///< distinct ones
  kSame,      ///< one expert, top_k times
  kRepeated,  ///< any, so that some repeat within a token
  kSkewed,    ///< a half of them takes nearly all tokens, the others are empty
  kForeign,   ///< of all experts and beyond: -1, the number of experts, and far out of range
};

struct ExpertsCase {
  std::string name;
  ExpertsProblem problem;
  ExpertInputs inputs = ExpertInputs::kNormal;
  Choices choices = Choices::kRandom;
  std::int64_t gap = 0;  ///< poisoned elements after each row of x, the weights and out
};

/// A case in memory.
struct ExpertsData {
  ExpertsCase spec;
  Grid x, w13, w2, b13, b2, out;  ///< biases: [owned, 1, outputs], empty where there is none
  Grid z;                         ///< ExpertsCall's, where the problem keeps it
  std::vector<std::int32_t> ids;
  std::vector<float> weights;

  ExpertsCall call();
};

/// Random numbers by their place, the same on every machine; out holds poison.
ExpertsData make_data(const ExpertsCase& spec);

/// h of one feature.
double activate(const ExpertsProblem& problem, double g, double u);

/// [tokens, hidden] in fp64, and how large what each element sums is: sums of absolute values.
struct ExpertsResult {
  std::vector<double> out, size;
};
ExpertsResult expected_experts(const ExpertsData& data);

/// The same computation as layers of a framework do it: sums in fp32, every step rounded to the dtype.
std::vector<double> naive_experts(const ExpertsData& data);

/// Both, of a case's inputs.
struct ExpertsAnswer {
  ExpertsResult want;
  std::vector<double> naive;

  explicit ExpertsAnswer(const ExpertsData& data) : want(expected_experts(data)), naive(naive_experts(data)) {}
};

/// What is wrong with out, or "": its error at most twice the naive computation's, both against fp64 and in units of
/// their token's size, and one rounding; NaN and infinities where fp64 has them, and nowhere else; nothing written
/// around it. Where the problem keeps z, what is wrong with that: each number in its place within a rounding and what
/// fp32 sums err by, and rows of no choice as they were.
std::string defect_of(const ExpertsData& data, const ExpertsAnswer& answer);
std::string defect_of(const ExpertsData& data);

/// Cases of every activation, layout, kind of inputs and of choices, from no tokens to some tens; at most `most_hidden`
/// columns.
std::vector<ExpertsCase> experts_cases(DType dtype, int most_hidden = 200);

}  // namespace flashfit::reference
