#pragma once
// What a kernel needs, from ptxas's report (--ptxas-options=-v), and whether its variant allows that.
#include <string>

#include "core/base/error.hpp"
#include "runtime/images/build/recipe.hpp"

namespace flashfit {

struct Resources {
  int registers = 0;
  int stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;

  /// What the variant's spill_bytes bounds.
  int local_bytes() const { return stack_bytes > spill_store_bytes ? stack_bytes : spill_store_bytes; }
};

/// Errors: products of wgmma that should run on are waited for (kMisfit, ptxas's remark); the report lacks the lines
/// that 12.x and 13.x print (another compiler must be looked at before its images are trusted).
Result<Resources> parse_resources(const std::string& log);

/// Of machine code whose kernel has limits. Error, one line: spills or local memory past what the variant states, or
/// shared memory past the target's limit, with the numbers.
Result<void> check_resources(const Recipe& recipe, const Resources& resources);

}  // namespace flashfit
