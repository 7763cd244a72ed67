#include "runtime/api/workspace.hpp"

#include <fmt/format.h>

#include "runtime/api/refuse.hpp"

namespace flashfit::api {
namespace {

/// What GPUs' allocators give and kernels may count on.
constexpr std::uintptr_t kWorkspaceAlignment = 256;

Result<void> check_workspace(const void* data, std::uint64_t bytes, std::uint64_t needed,
                             std::span<const Argument* const> tensors) {
  if (!data) return refuse("workspace: NULL; accepted: {} bytes of device memory", needed);
  if (bytes < needed) return refuse("workspace: {} bytes; accepted: {} or more", bytes, needed);
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  std::uintptr_t end;
  if (begin % kWorkspaceAlignment)
    return refuse("workspace: address {:#x}; accepted: multiples of {} bytes", begin, kWorkspaceAlignment);
  if (__builtin_add_overflow(begin, bytes, &end))
    return refuse("workspace: {} bytes at {:#x} leave the address space", bytes, begin);
  for (const Argument* a : tensors) {
    if (begin < a->end && a->begin < end) {
      return refuse("workspace: memory {:#x} to {:#x} overlaps {}'s {:#x} to {:#x}; accepted: memory of its own", begin,
                    end, a->name, a->begin, a->end);
    }
  }
  return {};
}

}  // namespace

Result<void*> find_workspace(void* data, std::uint64_t bytes, std::uint64_t needed, const Allocator& allocator,
                             std::span<const Argument* const> tensors) {
  if (!data && allocator.allocate) {
    data = allocator.allocate(allocator.context, needed);
    bytes = needed;
    if (!data)
      return fail(Code::kOutOfMemory,
                  fmt::format("workspace: allocate gave NULL; accepted: {} bytes of device memory", needed));
  }
  return check_workspace(data, bytes, needed, tensors).map([&] { return data; });
}

}  // namespace flashfit::api
