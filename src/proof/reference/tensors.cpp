#include "proof/reference/tensors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace flashfit::reference {
namespace {

// Every byte of the poison is 0xff: a NaN in fp16, bf16 and fp32.
constexpr unsigned char kPoison = 0xff;

struct Strides {
  std::int64_t batch, row, head, elements;
};

Strides strides_of(Layout layout, std::int64_t batch, std::int64_t rows, std::int64_t heads, std::int64_t dim) {
  if (layout == Layout::kBHSD) return {heads * rows * dim, dim, rows * dim, batch * heads * rows * dim};
  const bool padded = layout == Layout::kPadded, unaligned = layout == Layout::kUnaligned;
  const std::int64_t head = dim + (padded ? 8 : unaligned ? 1 : 0);
  const std::int64_t row = heads * head + (padded ? 16 : unaligned ? 3 : 0);
  return {rows * row, row, head, batch * rows * row};
}

}  // namespace

std::uint64_t Random::bits() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

double Random::uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }

double Random::normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

Storage::Storage(DType dtype, std::int64_t elements)
    : dtype(dtype), bytes(elements * size_of(dtype), kPoison), owned(elements, false) {}

Tensor::Tensor(DType dtype, Layout layout, std::int64_t batch, std::int64_t rows, std::int64_t heads,
               std::int64_t dim) {
  const Strides s = strides_of(layout, batch, rows, heads, dim);
  *this = Tensor(std::make_shared<Storage>(dtype, s.elements + 2 * kRedZone), kRedZone, batch, rows, heads, dim,
                 s.batch, s.row, s.head);
}

Tensor::Tensor(std::shared_ptr<Storage> storage, std::int64_t origin, std::int64_t batch, std::int64_t rows,
               std::int64_t heads, std::int64_t dim, std::int64_t batch_stride, std::int64_t row_stride,
               std::int64_t head_stride)
    : storage(std::move(storage)),
      origin(origin),
      batch(batch),
      rows(rows),
      heads(heads),
      dim(dim),
      batch_stride(batch_stride),
      row_stride(row_stride),
      head_stride(head_stride) {
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t d = 0; d < dim; ++d) this->storage->owned[index(b, r, h, d)] = true;
      }
    }
  }
}

double Tensor::get(std::int64_t b, std::int64_t r, std::int64_t h, std::int64_t d) const {
  return load(storage->bytes.data(), storage->dtype, index(b, r, h, d));
}

void Tensor::set(std::int64_t b, std::int64_t r, std::int64_t h, std::int64_t d, double value) {
  const auto x = static_cast<float>(value);
  void* const at = storage->bytes.data() + index(b, r, h, d) * size_of(storage->dtype);
  const unsigned short half = storage->dtype == DType::kF16 ? from_float<f16>(x).bits : from_float<bf16>(x).bits;
  if (storage->dtype == DType::kF32) {
    std::memcpy(at, &x, sizeof(x));
  } else {
    std::memcpy(at, &half, sizeof(half));
  }
}

void Tensor::fill_normal(Random& random, double scale) {
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t d = 0; d < dim; ++d) set(b, r, h, d, scale * random.normal());
      }
    }
  }
}

bool Tensor::is_poison(std::int64_t b, std::int64_t r, std::int64_t h, std::int64_t d) const {
  const std::int64_t size = size_of(storage->dtype), first = index(b, r, h, d) * size;
  return std::all_of(storage->bytes.begin() + first, storage->bytes.begin() + first + size,
                     [](unsigned char byte) { return byte == kPoison; });
}

TensorView Tensor::view() const {
  return {storage->bytes.data() + origin * size_of(storage->dtype), batch_stride, row_stride, head_stride};
}

View Tensor::reference_view() const { return {view().data, batch_stride, row_stride, head_stride, 1}; }

std::optional<std::ptrdiff_t> Tensor::written_outside() const {
  const int size = size_of(storage->dtype);
  for (std::size_t i = 0; i < storage->bytes.size(); ++i)
    if (!storage->owned[i / size] && storage->bytes[i] != kPoison)
      return static_cast<std::ptrdiff_t>(i) - origin * size;
  return std::nullopt;
}

}  // namespace flashfit::reference
