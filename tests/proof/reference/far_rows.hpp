#pragma once
// Rows that lie so far apart that their offsets pass 2^31 elements, in memory that is mapped but never touched between
// them.
#include <sys/mman.h>

#include <cstring>

#include "proof/reference/cases.hpp"

namespace flashfit::testing {

/// The rows of a 16-bit tensor [1, rows, 1, dim], far apart: the 16th begins past 2^31 elements.
class FarRows {
 public:
  static constexpr std::int64_t kStride = (std::int64_t{1} << 28) + 8;  ///< elements

  explicit FarRows(const Tensor& near)
      : rows_(near.rows), dim_(near.dim), bytes_(static_cast<std::size_t>(((rows_ - 1) * kStride + dim_) * kElement)) {
    void* const at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return;
    data_ = static_cast<unsigned char*>(at);
    for (std::int64_t r = 0; r < rows_; ++r) std::memcpy(row(r), near_row(near, r), row_bytes());
  }
  FarRows(const FarRows&) = delete;
  FarRows& operator=(const FarRows&) = delete;
  ~FarRows() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }

  /// Whether the system gave the addresses: 37 GB for 70 rows.
  bool mapped() const { return data_ != nullptr; }
  std::size_t bytes() const { return bytes_; }
  TensorView view() const { return {data_, 0, kStride, dim_}; }
  /// Copies the rows into a tensor like the one that they were made of.
  void give(Tensor& near) const {
    for (std::int64_t r = 0; r < rows_; ++r) std::memcpy(near_row(near, r), row(r), row_bytes());
  }

 private:
  static constexpr std::int64_t kElement = 2;

  std::size_t row_bytes() const { return static_cast<std::size_t>(dim_ * kElement); }
  unsigned char* row(std::int64_t r) const { return data_ + r * kStride * kElement; }
  static unsigned char* near_row(const Tensor& t, std::int64_t r) {
    return t.storage->bytes.data() + t.index(0, r, 0, 0) * kElement;
  }

  std::int64_t rows_, dim_;
  std::size_t bytes_;
  unsigned char* data_ = nullptr;
};

}  // namespace flashfit::testing
