#include "measure/filling.hpp"

#include <cstring>
#include <span>

#include "core/base/half.hpp"
#include "measure/values.hpp"

namespace flashfit::measure {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <class Visit>
void for_each_head(const Place& p, Visit visit) {
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t row = 0; row < p.rows; ++row)
      for (std::int64_t head = 0; head < p.heads; ++head) visit(b, row, head);
}

/// q, k, v or the bias, whose first element is at `first`.
void fill_tensor(const Case& c, const Placement& p, Filled tensor, std::uint64_t seed, std::byte* first) {
  const Place& place = place_of(p, tensor);
  const std::int64_t element = tensor == kBias ? static_cast<std::int64_t>(p.bias_size) : size_of(c.dtype);
  for_each_head(place, [&](std::int64_t b, std::int64_t row, std::int64_t head) {
    std::byte* at = first + place.at(b, row, head) * element;
    for (std::int64_t d = 0; d < place.dim; ++d, at += element) {
      const float x = value_of(c, place, tensor, seed, b, row, head, d);
      if (tensor == kBias)
        store_bias(at, c, x);
      else
        store(at, c.dtype, x);
    }
  });
}

}  // namespace

float value_of(const Case& c, const Place& p, Filled tensor, std::uint64_t seed, std::int64_t b, std::int64_t row,
               std::int64_t head, std::int64_t d) {
  const std::int64_t index = ((b * p.rows + row) * p.heads + head) * p.dim + d;
  const float x = bell(stream_of(seed, tensor), static_cast<uint64>(index));
  if (tensor <= kV) {
    const float scaled = x * static_cast<float>(c.magnitude_of(tensor));
    if (!c.planted.any()) return scaled;
    return reference::planted(reference::planted_columns(c.planted, c.softmax_scale), tensor, scaled, row, p.rows, d);
  }
  // Three of four keys are seen: 0.6745 standard deviations leave a quarter below.
  return tensor == kBias && c.bias.kind == BiasKind::kVisible ? (x > -0.6745f ? 1 : 0) : x;
}

float sink_of(std::uint64_t seed, std::int64_t head) {
  return bell(stream_of(seed, kSinks), static_cast<uint64>(head));
}

void store(std::byte* at, DType dtype, float x) {
  if (dtype == DType::kF32) {
    std::memcpy(at, &x, sizeof(x));
    return;
  }
  const unsigned short bits = dtype == DType::kF16 ? from_float<f16>(x).bits : from_float<bf16>(x).bits;
  std::memcpy(at, &bits, sizeof(bits));
}

void store_bias(std::byte* at, const Case& c, float x) {
  if (c.bias.kind == BiasKind::kVisible)
    *at = std::byte{x != 0};
  else
    store(at, c.bias.kind == BiasKind::kF32 ? DType::kF32 : c.dtype, x);
}

const Place& place_of(const Placement& p, Filled tensor) {
  return tensor == kQ ? p.q : tensor == kK ? p.k : tensor == kV ? p.v : p.bias;
}

std::vector<SmallTensor> small_tensors(const Case& c, const Placement& p, std::uint64_t seed) {
  std::vector<SmallTensor> all;
  if (c.variable_length) {
    all.push_back({p.cu_q, bytes_of(offsets_of(c.lengths_q))});
    all.push_back({p.cu_k, bytes_of(offsets_of(c.lengths_k))});
  }
  const auto of_heads = [&](std::size_t offset, const auto& value) {
    std::vector<float> values;
    for (std::int64_t h = 0; h < c.heads_q; ++h) values.push_back(value(h));
    all.push_back({offset, bytes_of(values)});
  };
  if (c.alibi) of_heads(p.alibi, [&](std::int64_t h) { return alibi_slope(h, c.heads_q); });
  if (c.sinks) of_heads(p.sinks, [&](std::int64_t h) { return sink_of(seed, h); });
  if (!c.used_k.empty())
    all.push_back({p.used_k, bytes_of(std::vector<std::int32_t>(c.used_k.begin(), c.used_k.end()))});
  return all;
}

void fill_on_host(const Case& c, const Placement& p, std::uint64_t seed, std::byte* memory) {
  for (const Filled tensor : {kQ, kK, kV, kBias}) fill_tensor(c, p, tensor, seed, memory + place_of(p, tensor).offset);
  for (const SmallTensor& small : small_tensors(c, p, seed))
    std::memcpy(memory + small.offset, small.bytes.data(), small.bytes.size());
}

}  // namespace flashfit::measure
