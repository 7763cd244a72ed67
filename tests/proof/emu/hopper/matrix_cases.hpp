#pragma once
// What the kernels of matrices are tried on, here and on a GPU: inputs, and the output that they must give to the bit.
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "core/base/half.hpp"
#include "fragment_kernels.cuh"
#include "product_kernels.cuh"
#include "tensor_copy_kernels.cuh"

namespace flashfit::testing {

using Bytes = std::vector<std::byte>;
/// The driver's on a GPU, the emulator's here.
using EncodeMap = std::function<TensorMap(const TensorMapSpec&)>;

template <class Kernel>
struct MatrixCase {
  std::string expression;  ///< the kernel's type, as its image's source spells it
  std::string what;
  std::vector<Bytes> inputs;
  Bytes output;    ///< before the launch of one block, or of one cluster
  Bytes expected;  ///< after it
  /// The kernel's argument, for copies of inputs and output that lie there, 16-byte aligned.
  std::function<typename Kernel::Params(const std::vector<const void*>& inputs, void* output, const EncodeMap&)> params;
};

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class Values>
auto& element(Values& values, int i) {
  return values[static_cast<std::size_t>(i)];
}
/// Output that nobody wrote.
inline Bytes blank(std::size_t bytes) { return Bytes(bytes, std::byte{0xff}); }

inline const char* spelled(SwizzleMode m) {
  constexpr const char* kNames[] = {"kNone", "k32B", "k64B", "k128B"};
  return kNames[static_cast<int>(m)];
}
template <class T>
constexpr const char* kSpelled = std::is_same_v<T, f16> ? "flashfit::f16" : "flashfit::bf16";

/// Small integers in no simple order.
inline float integer(int row, int col, int salt) {
  return static_cast<float>((row * 5 + col * 3 + row * col % 7 + salt) % 5 - 2);
}

template <class T>
std::vector<T> matrix(int rows, int cols, int salt) {
  std::vector<T> values;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) values.push_back(from_float<T>(integer(r, c, salt)));
  return values;
}

/// A row-major matrix in boxes of `rows` rows and a panel's columns.
template <class T>
TensorMapSpec matrix_spec(const void* base, int rows, int cols, int box_rows, SwizzleMode mode) {
  return {.dtype = std::is_same_v<T, f16> ? DType::kF16 : DType::kBF16,
          .rank = 2,
          .base = base,
          .dims = {static_cast<uint64>(cols), static_cast<uint64>(rows)},
          .strides = {static_cast<uint64>(cols) * 2},
          .box = {static_cast<uint32>(row_bytes(mode) / 2), static_cast<uint32>(box_rows)},
          .swizzle = mode};
}

}  // namespace flashfit::testing

#include "copy_cases.hpp"
#include "product_cases.hpp"

namespace flashfit::testing {

/// Calls visit(MatrixCase<Kernel>) for all of them.
template <class Visit>
void for_each_matrix_case(Visit visit) {
  for_each_copy_case(visit);
  for_each_product_case(visit);
}

}  // namespace flashfit::testing
