#pragma once
// Structs that grow: what callers built against another flashfit.h may pass.
#include <cstddef>

#include "core/base/error.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::api {

/// The structs' sizes in their first version: no caller has smaller ones.
inline constexpr std::size_t kFirstAttentionSize = 88, kFirstExplainSize = 80, kFirstPlanSize = 792;

/// The caller's struct in this library's version: fields that an older caller lacks are 0;
/// a newer caller may not set what this library lacks.
Result<flashfit_attention_args> current_version(const flashfit_attention_args* args);
Result<flashfit_explain_args> current_version(const flashfit_explain_args* args);

/// Errors: kInvalidArgument for a struct_size of `name` that no version has or will have.
Result<void> check_struct_size(const char* name, std::size_t size, std::size_t first, std::size_t mine);

}  // namespace flashfit::api
