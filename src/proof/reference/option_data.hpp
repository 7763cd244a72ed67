#pragma once
// What a case asks of attention beyond q, k and v, and the memory of it: slopes, sinks, bias, used keys, with red
// zones.
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/attention/problem.hpp"
#include "proof/reference/attention.hpp"

namespace flashfit::reference {

enum class Slopes : unsigned char { kNone, kOfHeads, kOfBatchAndHeads };

enum class Sinks : unsigned char {
  kNone,
  kNormal,
  kExtreme,  ///< in turn: one that outweighs every key, one that none notices, -inf, an ordinary one
};

/// A bias tensor and how it lies in memory. `own_*`: has a size of its own there, else 1, which is broadcast.
struct BiasCase {
  BiasKind kind = BiasKind::kNone;
  bool own_batch = true, own_heads = true, own_rows = true, own_keys = true;
  bool holes = true;        ///< -inf (or false) here and there, in whole rows, and in keys that no row then sees
  bool transposed = false;  ///< keys far apart, rows side by side
  bool steep = false;     ///< some rows see nothing of their first tiles, or ever larger scores, or large negative ones
  bool in_pairs = false;  ///< rows begin where two elements are loaded at once, else mostly where none is
};

/// What is not set is not asked for.
struct OptionCase {
  std::int64_t window_left = -1, window_right = -1;
  double softcap = 0;
  Slopes alibi = Slopes::kNone;
  Sinks sinks = Sinks::kNone;
  BiasCase bias;
  std::vector<std::int64_t> seqused_k;  ///< of each sequence
  bool batch_invariant = false;
};

/// Values in the middle of poison.
template <class T>
class Guarded {
 public:
  static constexpr std::size_t kZone = 64;

  Guarded() = default;
  /// 0 values: none are asked for.
  Guarded(std::size_t count, T poison) : all_(count ? count + 2 * kZone : 0, poison), poison_(poison) {}

  T* data() { return all_.empty() ? nullptr : all_.data() + kZone; }
  const T* data() const { return all_.empty() ? nullptr : all_.data() + kZone; }
  std::size_t size() const { return all_.empty() ? 0 : all_.size() - 2 * kZone; }
  /// The whole, for a copy of it elsewhere: data() lies kZone values in.
  std::vector<T>& with_zones() { return all_; }

 private:
  std::vector<T> all_;
  T poison_{};
};

struct BiasMemory {
  BiasKind kind = BiasKind::kNone;
  Guarded<unsigned char> bytes;
  std::int64_t batch_stride = 0, head_stride = 0, row_stride = 0, key_stride = 0;  ///< elements
};

/// Memory as the library is given it.
struct OptionData {
  Guarded<float> alibi_slopes, sinks;
  std::int64_t alibi_batch_stride = 0;
  BiasMemory bias;
  Guarded<std::int32_t> seqused_k;
};

/// The sizes that options depend on.
struct OptionSizes {
  DType dtype;
  std::int64_t batch, heads, rows, keys;
};

/// Random values, from a seed of their own.
OptionData make_option_data(const OptionCase& options, const OptionSizes& sizes, std::uint64_t seed);

/// Sets a problem's options.
void set_options(ForwardProblem& problem, const OptionCase& options);
/// Sets a call's options, which point into `data`; its problem has them already.
void set_options(ForwardCall& call, const OptionCase& options, const OptionData& data);
/// The same for the reference; the lengths of sequences are the caller's to shorten.
void set_options(Problem& problem, const OptionCase& options, const OptionData& data);

}  // namespace flashfit::reference
