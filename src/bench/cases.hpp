#pragma once
// The one list of cases: bench/cases/forward.json, expanded. This is its only reader; everyone else takes the expanded
// cases from `flashfit bench --list --json`.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/types.hpp"

namespace flashfit::bench {

/// How q, k and v lie in memory: docs/results.md.
enum class Memory : unsigned char { kContiguous, kPackedQkv, kHeadsFirst, kPaddedRows };
const char* name_of(Memory memory);

struct Case {
  std::string name;        ///< unique: "grid/B8 S2048 H16 D128 bf16 causal"
  std::string group;       ///< "grid"
  std::string stands_for;  ///< in words, whose need it is
  bool timed = true;       ///< false: for correctness alone
  DType dtype = DType::kF16;
  std::int64_t head_dim = 0, heads_q = 0, heads_kv = 0;
  bool causal = false, variable_length = false;
  std::vector<std::int64_t> lengths_q, lengths_k;  ///< of each sequence; dense: all alike
  Memory memory = Memory::kContiguous;
  double softmax_scale = 0;  ///< as it is used: 1 / sqrt(head_dim) where the list says nothing
  double magnitude = 1;      ///< standard deviation of q; of k and v it is 1
  double tolerance = 2;      ///< how many times the plain computation's error is allowed (docs/numerics.md)
};

/// What no implementation can do without.
struct Work {
  double flop = 0;   ///< two products of the visible pairs, 2 a multiply-add
  double exp = 0;    ///< visible pairs
  double bytes = 0;  ///< each input read once, each output written once
};
Work work_of(const Case& c);

/// Every case of the list, in its order. Error: the group, the entry and what is wrong with it.
Result<std::vector<Case>> expand_cases(std::string_view json);

/// The list that the command was built with.
std::string_view case_list();

/// The keys of docs/results.md that say what a case is.
nlohmann::ordered_json json_of(const Case& c);

}  // namespace flashfit::bench
