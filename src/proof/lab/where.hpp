#pragma once
// Where a launch's memory lies: what a kernel's argument is made of.
#include <functional>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "kernels/layout/tensor_map.hpp"
#include "kernels/layout/tensor_map_spec.hpp"

namespace flashfit::lab {

class Where {
 public:
  using Encode = Result<TensorMap> (*)(const TensorMapSpec&);

  Where(std::span<void* const> at, Encode encode) : at_(at), encode_(encode) {}

  /// Buffer i, as this run sees it.
  template <class T>
  T* as(std::size_t i) const {
    return static_cast<T*>(at_[i]);
  }
  /// A tensor map of memory in the buffers, for this run. What it refuses is the run's error.
  TensorMap map(const TensorMapSpec& spec) const {
    Result<TensorMap> encoded = encode_(spec);
    if (!encoded && refused_.empty()) refused_ = encoded.error().message;
    return encoded.value_or(TensorMap{});
  }
  const std::string& refused() const { return refused_; }

 private:
  std::span<void* const> at_;
  Encode encode_;
  mutable std::string refused_;
};

}  // namespace flashfit::lab
