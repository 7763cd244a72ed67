#pragma once
// What the order of a backward's rows writes, beside std::stable_sort: for its tests and its mutants.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/moe/experts/row_order.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emulated/steps.hpp"

namespace flashfit::testing {

struct OrderedRows {
  static constexpr int kUnwritten = -7;

  RowOrder problem;
  std::vector<int> places, choices, offsets, workspace;

  explicit OrderedRows(const RowOrder& order)
      : problem(order),
        places(static_cast<std::size_t>(order.tokens * order.top_k), kUnwritten),
        choices(places.size() + static_cast<std::size_t>(order.experts), kUnwritten),
        offsets(static_cast<std::size_t>(order.experts) + 1, kUnwritten),
        workspace(static_cast<std::size_t>(row_order_workspace(order)) / sizeof(int), kUnwritten) {}

  void add_to(emu::Memory& memory) {
    const auto add = [&](const char* name, std::vector<int>& v) {
      memory.writable(name, v.data(), v.size() * sizeof v[0]);
    };
    add("places", places);
    add("choices", choices);
    add("offsets", offsets);
    add("workspace", workspace);
  }

  RowOrderArguments arguments(const int* ids) {
    return RowOrderArguments({.problem = problem,
                              .ids = ids,
                              .places = places.data(),
                              .choices = choices.data(),
                              .offsets = offsets.data(),
                              .workspace = workspace.data()});
  }

  /// What is wrong with the order of these ids, or "".
  std::string defect(const std::vector<int>& ids) const {
    std::vector<int> order(ids.size()), want_choices, want_places(ids.size(), -1), want_offsets;
    const auto id_of = [&](int i) { return ids[static_cast<std::size_t>(i)]; };
    std::iota(order.begin(), order.end(), 0);
    std::erase_if(order, [&](int i) { return id_of(i) < problem.low || id_of(i) - problem.low >= problem.experts; });
    std::ranges::stable_sort(order, {}, id_of);
    auto next = order.begin();
    for (int e = 0; e < problem.experts; ++e) {
      want_offsets.push_back(static_cast<int>(want_choices.size()));
      want_choices.push_back(-1);  // each expert has a row of no choice before its own
      for (; next != order.end() && id_of(*next) - problem.low == e; ++next) {
        want_places[static_cast<std::size_t>(*next)] = static_cast<int>(want_choices.size());
        want_choices.push_back(*next);
      }
    }
    want_offsets.push_back(static_cast<int>(want_choices.size()));
    want_choices.resize(choices.size(), -1);
    if (places != want_places) return "wrong places";
    if (choices != want_choices) return "wrong choices";
    return offsets == want_offsets ? "" : "wrong offsets";
  }
};

}  // namespace flashfit::testing
