#include "runtime/api/versioned.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/api/refuse.hpp"

namespace flashfit::api {
namespace {

/// Past any version to come: a larger struct_size was never set.
constexpr std::size_t kAbsurdSize = 4096;

}  // namespace

Result<void> check_reserved(const char* name, std::uint32_t value) {
  if (value) return refuse("args: {} is {}; accepted: 0", name, value);
  return {};
}

Result<void> check_struct_size(const char* name, std::size_t size, std::size_t first, std::size_t mine) {
  // Another remainder cuts a field in two: no version's struct ends there.
  if (size >= first && size <= kAbsurdSize && size % sizeof(std::uint64_t) == 0) return {};
  return refuse("{}: struct_size is {}; accepted: sizeof of the struct, {} in this version", name, size, mine);
}

Result<void> copy_known(const void* args, std::size_t size, std::size_t first, void* mine, std::size_t mine_size) {
  if (auto ok = check_struct_size("args", size, first, mine_size); !ok) return ok;
  const char* bytes = static_cast<const char*>(args);
  if (size > mine_size && std::any_of(bytes + mine_size, bytes + size, [](char c) { return c != 0; })) {
    return refuse(
        "args: struct_size is {} and fields past {} are set, which flashfit {}.{}.{} does not know; accepted: 0 there",
        size, mine_size, FLASHFIT_VERSION_MAJOR, FLASHFIT_VERSION_MINOR, FLASHFIT_VERSION_PATCH);
  }
  std::memcpy(mine, args, std::min(size, mine_size));
  return {};
}

Result<flashfit_attention_args> current_version(const flashfit_attention_args* args) {
  auto mine = read_versioned(args, kFirstAttentionSize);
  auto ok = mine ? check_reserved("reserved", mine->reserved) : Result<void>();
  if (mine && ok) ok = check_reserved("reserved_2", mine->reserved_2);
  if (!ok) mine = tl::unexpected(std::move(ok.error()));
  return mine;
}

Result<flashfit_explain_args> current_version(const flashfit_explain_args* args) {
  auto mine = read_versioned(args, kFirstExplainSize);
  auto ok = mine ? check_reserved("reserved", mine->reserved) : Result<void>();
  if (!ok) mine = tl::unexpected(std::move(ok.error()));
  return mine;
}

}  // namespace flashfit::api
