#pragma once
// Structs that grow: what callers built against another flashfit.h may pass.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/error.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::api {

/// The structs' sizes in their first version: no caller has smaller ones.
inline constexpr std::size_t kFirstAttentionSize = 88, kFirstExplainSize = 80, kFirstPlanSize = 792;

/// Errors: kInvalidArgument for a field that no version uses and that is not 0.
Result<void> check_reserved(const char* name, std::uint32_t value);

/// Copies what both versions of a struct have into `mine`, which is as new. `first`: the size of its first version.
Result<void> copy_known(const void* args, std::size_t size, std::size_t first, void* mine, std::size_t mine_size);

/// The caller's struct, which begins with struct_size, in this library's version: fields that an older caller lacks are
/// 0; a newer caller may not set what this library lacks.
template <class Args>
Result<Args> read_versioned(const Args* args, std::size_t first_size) {
  if (!args) return fail(Code::kInvalidArgument, "args: NULL; accepted: a filled struct");
  Args mine{};
  if (auto ok = copy_known(args, args->struct_size, first_size, &mine, sizeof mine); !ok)
    return tl::unexpected(std::move(ok.error()));
  return mine;
}

/// The same, and that what no version uses is 0.
Result<flashfit_attention_args> current_version(const flashfit_attention_args* args);
Result<flashfit_explain_args> current_version(const flashfit_explain_args* args);

/// Errors: kInvalidArgument for a struct_size of `name` that no version has or will have.
Result<void> check_struct_size(const char* name, std::size_t size, std::size_t first, std::size_t mine);

}  // namespace flashfit::api
