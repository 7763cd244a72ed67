#include "runtime/api/live_gpus.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>

#include "core/gpu/device.hpp"

namespace flashfit::api {

Result<const Gpu*> remembered_gpu(const char* argument, int index) {
  static std::array<std::atomic<const Gpu*>, 64> known{};
  if (index < 0 || static_cast<std::size_t>(index) >= known.size()) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: device is cuda:{}; accepted: cuda:0 to cuda:{}", argument, index, known.size() - 1));
  }
  if (const Gpu* gpu = known[index].load(std::memory_order_acquire)) return gpu;
  Result<Gpu> asked = live_gpu(index);
  if (!asked && asked.error().code == Code::kInvalidArgument) {
    return fail(Code::kInvalidArgument, fmt::format("{}: device is cuda:{}; accepted: a GPU that is there ({})",
                                                    argument, index, asked.error().message));
  }
  if (!asked) return tl::unexpected(std::move(asked.error()));
  auto mine = std::make_unique<const Gpu>(std::move(*asked));
  const Gpu* first = nullptr;
  if (known[index].compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel)) return mine.release();
  return first;
}

}  // namespace flashfit::api
