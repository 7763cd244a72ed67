#pragma once
// Tensors in memory that shows every stray write and makes every stray read visible:
// all bytes that belong to no element hold a NaN.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/half.hpp"
#include "kernels/attention/problem.hpp"
#include "proof/reference/attention.hpp"

namespace flashfit::reference {

/// Uniform and normal numbers that are the same on every machine and standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits();  ///< 64 random bits (SplitMix64)
  double uniform();      ///< in (0, 1)
  double normal();       ///< mean 0, standard deviation 1

 private:
  std::uint64_t state_;
};

/// How a tensor [batch, row, head, head_dim] lies in memory. All but kHeadStride0 keep
/// element strides multiples of 8 if head_dim is one.
enum class Layout : unsigned char {
  kBSHD,         ///< [batch][row][head][dim]
  kBHSD,         ///< [batch][head][row][dim]
  kPadded,       ///< kBSHD with 8 poisoned elements after each head and 16 after each row
  kPackedQKV,    ///< q, k and v as slices of one [batch][row][q heads, k heads, v heads][dim] (rows of the longer of q
                 ///< and k)
  kMixed,        ///< q as kBSHD, k as kBHSD, v and out as kPadded: no stride of one serves for another
  kUnaligned,    ///< kBSHD with a poisoned element after each head and 3 after each row: no row begins at 16 bytes
  kHeadStride0,  ///< one KV head that all heads share by stride 0; q and out as kBSHD
};

/// Memory that several tensors may share. Bytes that no element owns keep the poison that they were born with.
struct Storage {
  DType dtype;
  std::vector<unsigned char> bytes;
  std::vector<bool> owned;  ///< by element
  Storage(DType dtype, std::int64_t elements);
};

/// A tensor in a Storage, with at least kRedZone poisoned elements before and after all of them.
class Tensor {
 public:
  static constexpr std::int64_t kRedZone = 64;

  Tensor() = default;
  /// A tensor of its own storage. Layout: kBSHD, kBHSD, kPadded or kUnaligned.
  Tensor(DType dtype, Layout layout, std::int64_t batch, std::int64_t rows, std::int64_t heads, std::int64_t dim);
  /// A tensor within `storage` at `origin` (elements).
  Tensor(std::shared_ptr<Storage> storage, std::int64_t origin, std::int64_t batch, std::int64_t rows,
         std::int64_t heads, std::int64_t dim, std::int64_t batch_stride, std::int64_t row_stride,
         std::int64_t head_stride);

  std::int64_t index(std::int64_t batch, std::int64_t row, std::int64_t head, std::int64_t d) const {
    return origin + batch * batch_stride + row * row_stride + head * head_stride + d;
  }
  double get(std::int64_t batch, std::int64_t row, std::int64_t head, std::int64_t d) const;
  void set(std::int64_t batch, std::int64_t row, std::int64_t head, std::int64_t d,
           double value);  ///< rounded to the dtype
  void fill_normal(Random& random, double scale = 1);

  /// Whether an element has the bytes that its storage was born with.
  bool is_poison(std::int64_t batch, std::int64_t row, std::int64_t head, std::int64_t d) const;

  TensorView view() const;  ///< for the library
  View reference_view() const;
  /// The first byte outside of the storage's elements that has changed, counted from this tensor's first element.
  std::optional<std::ptrdiff_t> written_outside() const;
  bool red_zones_intact() const { return !written_outside(); }

  std::shared_ptr<Storage> storage;
  std::int64_t origin = 0;  ///< elements into storage: a copy of storage->bytes on a GPU is viewed from there
  std::int64_t batch = 0, rows = 0, heads = 0, dim = 0, batch_stride = 0, row_stride = 0, head_stride = 0;
};

}  // namespace flashfit::reference
