// Structs that grow: what callers built against another flashfit.h may pass.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "api/tensor_check.hpp"

namespace flashfit::api {
namespace {

/// Past any version to come: a larger struct_size was never set.
constexpr std::uint32_t kAbsurdSize = 4096;

/// `first_size` is the struct's size in its first version.
template <class Args>
Result<Args> read_versioned(const Args* args, std::uint32_t first_size) {
  if (!args) return fail(Code::kInvalidArgument, "args: NULL; accepted: a filled struct");
  const std::uint32_t size = args->struct_size;
  if (size < first_size || size > kAbsurdSize) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("args: struct_size is {}; accepted: sizeof of the struct, {} in this version", size, sizeof(Args)));
  }
  const char* bytes = reinterpret_cast<const char*>(args);
  if (size > sizeof(Args) && std::any_of(bytes + sizeof(Args), bytes + size, [](char c) { return c != 0; })) {
    return fail(Code::kInvalidArgument, fmt::format("args: struct_size is {} and fields past {} are set, which "
                                                    "flashfit {}.{}.{} does not know; accepted: 0 there",
                                                    size, sizeof(Args), FLASHFIT_VERSION_MAJOR, FLASHFIT_VERSION_MINOR,
                                                    FLASHFIT_VERSION_PATCH));
  }
  Args mine{};
  std::memcpy(&mine, args, std::min<std::size_t>(size, sizeof(Args)));
  if (mine.reserved)
    return fail(Code::kInvalidArgument, fmt::format("args: reserved is {}; accepted: 0", mine.reserved));
  return mine;
}

}  // namespace

Result<flashfit_attention_args> current_version(const flashfit_attention_args* args) {
  return read_versioned(args, 88);
}
Result<flashfit_explain_args> current_version(const flashfit_explain_args* args) { return read_versioned(args, 80); }

}  // namespace flashfit::api
