#pragma once
// A case in memory as a call of flashfit's C API.
#include <flashfit/flashfit.h>

#include <array>
#include <cstddef>
#include <memory>

#include "core/base/error.hpp"
#include "measure/cases.hpp"
#include "measure/placement.hpp"

namespace flashfit::measure {

/// Points into itself, so that it stays where it is.
class Call {
 public:
  /// `memory` is where the placement begins, on the host or on GPU `device`.
  Call(const Case& c, const Placement& p, std::byte* memory, DLDevice device);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Bytes of workspace that run() needs. Error: the library's message.
  Result<std::size_t> workspace_bytes();
  /// The memory for it, which calls on one stream share; it outlives them.
  void use_workspace(std::byte* memory, std::size_t bytes);

  /// On a GPU it is queued on the stream. Error: the library's message.
  Result<void> run(bool with_lse, flashfit_stream stream = nullptr);

 private:
  struct Tensor {
    std::array<std::int64_t, 4> shape{}, strides{};
    DLTensor dl{};
  };
  void options(const Case& c, const Placement& p, std::byte* memory, DLDevice device);
  void point(Tensor& t, const Place& place, std::byte* memory, DLDevice device, const Case& c);

  Tensor q_, k_, v_, out_, lse_, cu_q_, cu_k_, bias_, alibi_, sinks_, used_k_;
  flashfit_attention_args args_{};
};

/// What the plan of GPU `index` chose.
Result<flashfit_plan> planned(const Case& c, std::size_t index);

}  // namespace flashfit::measure
