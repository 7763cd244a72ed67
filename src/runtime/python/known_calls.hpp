#pragma once
// Which calls of a host, such as F.scaled_dot_product_attention's, flashfit takes, and which it leaves to the host, as
// far as that is known, and how often each came.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace flashfit::python {

/// All of a call by which it is decided whether flashfit takes it, but for its gradients and for what watches or
/// changes calls: dtypes, devices, layouts and sizes of its tensors, and its options.
class CallSignature {
 public:
  static constexpr int kMostDims = 5;

  /// One more number of the call; of each call of a host the same ones in the same order. False if there are too many.
  bool add(std::int64_t word) {
    if (count_ == kMost) return false;
    words_[count_++] = word;
    return true;
  }
  std::uint64_t hash() const;
  bool operator==(const CallSignature& other) const {
    return count_ == other.count_ && std::equal(words_, words_ + count_, other.words_);
  }

 private:
  static constexpr int kTensors = 4, kOptions = 8;
  static constexpr int kMost = (1 + kMostDims) * kTensors + kOptions;
  int count_ = 0;
  std::int64_t words_[kMost];
};

/// What was decided of a call.
enum class Fate : std::uint8_t {
  kUnknown,
  kLeft,   ///< the host's own function answers it, whatever else there is
  kPlain,  ///< flashfit answers it if its tensors are plain and need no gradient
  kByWay,  ///< a function of Python answers it, if it is like the one for which that function was made
};

/// The last calls of which something is known, each counted in a line of the log. Threads may use it at once. None ever
/// waits: while one looks, the others know nothing, and ask Python; so does a process that was forked meanwhile.
class KnownCalls {
 public:
  static constexpr int kLines = 1024;

  struct Found {
    Fate fate = Fate::kUnknown;
    int line = 0;
    int way = 0;  ///< of kByWay: the function's number
  };
  Found find(const CallSignature& call);

  void remember(const CallSignature& call, Found found);

  /// One more call of this line, 0 .. kLines - 1.
  void add(int line) { counts_[line].fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t count(int line) const { return counts_[line].load(std::memory_order_relaxed); }

  /// Nothing is known any more, and every count is 0.
  void forget();

 private:
  struct Known {
    std::uint64_t era = 0;
    Found found;
    CallSignature call;
  };
  static constexpr std::size_t kKnown = 512;  ///< one replaces another whose hash is the same

  static std::size_t place(const CallSignature& call) { return call.hash() % kKnown; }

  Known known_[kKnown];
  std::atomic<std::uint64_t> counts_[kLines] = {};
  std::atomic<std::uint64_t> era_ = 1;  ///< what was remembered in another one is forgotten
  std::atomic_flag busy_;
};

/// A call that this thread asks Python about, and what was known of it before.
struct Asked {
  KnownCalls* calls = nullptr;
  CallSignature signature;
  KnownCalls::Found found;
};

/// nullptr: none, or one of which nothing may be known.
inline thread_local const Asked* asked_now = nullptr;

/// Lets Python know which call it is asked about, until the end of the scope.
class Asking {
 public:
  explicit Asking(const Asked* call) : before_(std::exchange(asked_now, call)) {}
  ~Asking() { asked_now = before_; }
  Asking(const Asking&) = delete;

 private:
  const Asked* before_;
};

}  // namespace flashfit::python
