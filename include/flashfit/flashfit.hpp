// flashfit: fused attention and mixture of experts that fit the GPU that is there. C++17 over the C API of flashfit.h,
// header only.
//
// Nothing here throws but Expected::value(), and that only where exceptions are on; all that allocates on the host may
// throw std::bad_alloc as usual. Everything may be called from any thread; objects are the caller's to share.
#ifndef FLASHFIT_FLASHFIT_HPP_
#define FLASHFIT_FLASHFIT_HPP_

#include <flashfit/flashfit.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace flashfit {
inline namespace v0 {

/// FLASHFIT_OK, FLASHFIT_INVALID_ARGUMENT, ...: flashfit.h says when.
using Status = flashfit_status;

/// "FLASHFIT_MISFIT".
inline std::string_view name_of(Status status) { return flashfit_status_name(status); }

/// Why a call failed: one line that names the argument, its value and what is accepted.
struct Error {
  Status status;
  std::string message;
};

/// What Expected::value() throws where there is no value; what() is the error's message.
class BadExpectedAccess : public std::exception {
 public:
  explicit BadExpectedAccess(Error error) : error_(std::move(error)) {}
  const Error& error() const noexcept { return error_; }
  const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  Error error_;
};

namespace detail {

[[noreturn]] inline void no_value(const Error& error) {
#if defined(__cpp_exceptions)
  throw BadExpectedAccess(error);
#else
  std::fprintf(stderr, "flashfit: value() of an error: %s\n", error.message.c_str());
  std::abort();
#endif
}

}  // namespace detail

/// A value or why there is none: the part of std::expected<T, Error> that is needed.
template <class T>
class [[nodiscard]] Expected {
 public:
  using value_type = T;
  using error_type = Error;

  // NOLINTBEGIN(google-explicit-constructor): `return value;` and `return error;` are the use
  Expected(T value) : either_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : either_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  bool has_value() const noexcept { return either_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  /// Throws BadExpectedAccess where there is none; without exceptions prints the error and aborts.
  T& value() & { return has_value() ? **this : (detail::no_value(error()), **this); }
  const T& value() const& { return has_value() ? **this : (detail::no_value(error()), **this); }
  T&& value() && { return std::move(value()); }

  /// Only where there is a value.
  T& operator*() & noexcept { return *std::get_if<0>(&either_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&either_); }
  T&& operator*() && noexcept { return std::move(**this); }
  T* operator->() noexcept { return std::get_if<0>(&either_); }
  const T* operator->() const noexcept { return std::get_if<0>(&either_); }

  /// Only where there is none.
  const Error& error() const noexcept { return *std::get_if<1>(&either_); }

  template <class U>
  T value_or(U&& other) const {
    return has_value() ? **this : static_cast<T>(std::forward<U>(other));
  }
  /// next(value), an Expected, or this error.
  template <class Next>
  auto and_then(Next&& next) const -> std::invoke_result_t<Next, const T&> {
    if (has_value()) return std::forward<Next>(next)(**this);
    return error();
  }

 private:
  std::variant<T, Error> either_;
};

template <>
class [[nodiscard]] Expected<void> {
 public:
  using value_type = void;
  using error_type = Error;

  Expected() = default;
  Expected(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor): as above

  bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }
  /// Throws BadExpectedAccess after a failure; without exceptions prints the error and aborts.
  void value() const {
    if (error_) detail::no_value(*error_);
  }
  /// Only after a failure.
  const Error& error() const noexcept { return *error_; }
  /// next(), an Expected, or this error.
  template <class Next>
  auto and_then(Next&& next) const -> std::invoke_result_t<Next> {
    if (has_value()) return std::forward<Next>(next)();
    return error();
  }

 private:
  std::optional<Error> error_;
};

inline constexpr DLDataType kFp16{kDLFloat, 16, 1}, kBf16{kDLBfloat, 16, 1}, kFp32{kDLFloat, 32, 1},
    kInt32{kDLInt, 32, 1}, kBool{6, 8, 1};  // kDLBool, which headers of DLPack before 0.8 do not name

inline constexpr DLDevice kCpu{kDLCPU, 0};
/// GPU `index` of this process, in the driver's order.
constexpr DLDevice cuda(int index = 0) { return {kDLCUDA, index}; }

/// A tensor's shape and strides (its own) and memory, which is the caller's or a DLPack producer's. Copies share it.
class Tensor {
 public:
  /// `data` is on `device` and outlives all calls with this tensor. `strides` in elements; none: row-major contiguous.
  /// Inputs are only read, so their memory may be const. Nothing is checked here: calls do.
  Tensor(const void* data, DLDataType dtype, std::vector<std::int64_t> shape, DLDevice device = kCpu,
         std::vector<std::int64_t> strides = {})
      : data_(const_cast<void*>(data)),
        dtype_(dtype),
        device_(device),
        shape_(std::move(shape)),
        strides_(std::move(strides)) {}

  /// fp32 of the CPU; on a GPU `device` says which.
  Tensor(const float* data, std::vector<std::int64_t> shape, DLDevice device = kCpu,
         std::vector<std::int64_t> strides = {})
      : Tensor(data, kFp32, std::move(shape), device, std::move(strides)) {}

  /// int32, for cu_seqlens.
  Tensor(const std::int32_t* data, std::vector<std::int64_t> shape, DLDevice device = kCpu)
      : Tensor(data, kInt32, std::move(shape), device) {}

  /// Of a tensor that stays the caller's, with its memory.
  explicit Tensor(const DLTensor& t)
      : Tensor(t.data ? static_cast<const char*>(t.data) + t.byte_offset : nullptr, t.dtype,
               {t.shape, t.shape + t.ndim}, t.device) {
    if (t.strides) strides_.assign(t.strides, t.strides + t.ndim);
  }

  /// Takes a producer's tensor over: its deleter is called when the last copy goes.
  explicit Tensor(DLManagedTensor* managed) : Tensor(managed->dl_tensor) {
    owner_.reset(managed, [](DLManagedTensor* m) {
      if (m->deleter) m->deleter(m);
    });
  }

  void* data() const noexcept { return data_; }
  DLDataType dtype() const noexcept { return dtype_; }
  DLDevice device() const noexcept { return device_; }
  const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
  /// Elements; empty: row-major contiguous.
  const std::vector<std::int64_t>& strides() const noexcept { return strides_; }

  /// For C; valid while this object lives and is not assigned to.
  DLTensor dl() const noexcept {
    auto* strides = strides_.size() == shape_.size() ? const_cast<std::int64_t*>(strides_.data()) : nullptr;
    return {
        data_,   device_, static_cast<std::int32_t>(shape_.size()), dtype_, const_cast<std::int64_t*>(shape_.data()),
        strides, 0};
  }

 private:
  void* data_;
  DLDataType dtype_;
  DLDevice device_;
  std::vector<std::int64_t> shape_, strides_;
  std::shared_ptr<DLManagedTensor> owner_;
};

/// Which keys around its own a query sees: from i + seqlen_k - seqlen_q - left to i + seqlen_k - seqlen_q + right.
struct Window {
  std::int64_t left = -1, right = -1;  ///< 0 or more; -1: no limit. With causal, right counts as 0
};

/// What attention() may be told beyond its tensors; all may stay as they are.
struct AttentionOptions {
  bool causal = false;                   ///< key j is visible to query i iff j <= i + seqlen_k - seqlen_q
  float softmax_scale = 0;               ///< above 0 and finite; 0: 1 / sqrt(head_dim)
  const Tensor* lse = nullptr;           ///< fp32, contiguous: [batch, heads_q, seqlen_q], or [heads_q, total_q]
  const Tensor* cu_seqlens_q = nullptr;  ///< int32 [batch + 1], contiguous; both or neither: variable length
  const Tensor* cu_seqlens_k = nullptr;
  flashfit_stream stream = nullptr;   ///< a CUstream or cudaStream_t; nullptr: the legacy default stream
  const char* variant = nullptr;      ///< forces a variant of `flashfit images`
  bool ptx_only = false;              ///< PTX even where machine code fits
  void* workspace = nullptr;          ///< on the tensors' device, 256-byte aligned
  std::uint64_t workspace_bytes = 0;  ///< at least what workspace() says

  // The score of query i and key j is s = softmax_scale * q k; then come softcap, ALiBi and bias, in this order.
  std::optional<Window> window;          ///< a sliding window
  float softcap = 0;                     ///< above 0 and finite: s = softcap * tanh(s / softcap); 0: none
  const Tensor* alibi_slopes = nullptr;  ///< fp32 [heads_q] or [batch, heads_q], contiguous:
                                         ///< s -= slope * |i + seqlen_k - seqlen_q - j|
  const Tensor* bias = nullptr;          ///< [batch or 1, heads_q or 1, seqlen_q or 1, seqlen_k or 1], any strides from
                                         ///< 0; q's dtype or fp32: added; bool: false hides the key
  const Tensor* sinks = nullptr;      ///< fp32 [heads_q], contiguous: exp(sink) joins the sum of weights, and the LSE
  const Tensor* seqused_k = nullptr;  ///< int32 [batch], contiguous: a sequence's keys are only so many
  bool batch_invariant = false;       ///< a sequence's bits do not depend on the batch around it
};

namespace detail {

inline Error error_of(Status status) { return {status, flashfit_last_error()}; }

/// Calls `function(const flashfit_attention_args*)`.
template <class Function>
Expected<void> with_args(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                         const AttentionOptions& options, Function function) {
  const DLTensor tensors[] = {q.dl(), k.dl(), v.dl(), out.dl()};
  flashfit_attention_args args{};
  args.struct_size = sizeof args;
  args.flags = (options.causal ? FLASHFIT_CAUSAL : 0) | (options.ptx_only ? FLASHFIT_PTX_ONLY : 0) |
               (options.window ? FLASHFIT_WINDOW : 0) | (options.batch_invariant ? FLASHFIT_BATCH_INVARIANT : 0);
  args.q = &tensors[0];
  args.k = &tensors[1];
  args.v = &tensors[2];
  args.out = &tensors[3];
  const std::pair<const Tensor*, const DLTensor**> given[] = {{options.lse, &args.lse},
                                                              {options.cu_seqlens_q, &args.cu_seqlens_q},
                                                              {options.cu_seqlens_k, &args.cu_seqlens_k},
                                                              {options.alibi_slopes, &args.alibi_slopes},
                                                              {options.bias, &args.bias},
                                                              {options.sinks, &args.sinks},
                                                              {options.seqused_k, &args.seqused_k}};
  DLTensor extra[sizeof given / sizeof given[0]];
  DLTensor* next = extra;
  for (const auto& [tensor, slot] : given) {
    if (!tensor) continue;
    *next = tensor->dl();
    *slot = next++;
  }
  if (options.window) {
    args.window_left = options.window->left;
    args.window_right = options.window->right;
  }
  args.softcap = options.softcap;
  args.stream = options.stream;
  args.variant = options.variant;
  args.softmax_scale = options.softmax_scale;
  args.workspace = options.workspace;
  args.workspace_bytes = options.workspace_bytes;
  const Status status = function(&args);
  if (status != FLASHFIT_OK) return error_of(status);
  return {};
}

/// The document that `function(char**)` makes.
template <class Function>
Expected<std::string> document(Function function) {
  char* json = nullptr;
  const Status status = function(&json);
  if (status != FLASHFIT_OK) return error_of(status);
  const std::unique_ptr<char, void (*)(char*)> owned(json, flashfit_free);
  return std::string(json);
}

/// `run(args, ..., ...)`, flashfit_attention_run or flashfit_fused_moe_run, as a function of its args alone, with
/// `allocate` as what gives the workspace.
template <class Allocate, class Run>
auto asking(Allocate& allocate, Run run) {
  return [&allocate, run](const auto* args) {
    const flashfit_allocate call = [](void* context, std::uint64_t bytes) noexcept -> void* {
      return (*static_cast<Allocate*>(context))(bytes);
    };
    return run(args, call, const_cast<std::remove_const_t<Allocate>*>(std::addressof(allocate)));
  };
}

}  // namespace detail

/// out = softmax(softmax_scale * q k^T) v over visible keys; a query that sees no key gives 0 and LSE = -inf.
/// q, out [batch, seqlen_q, heads_q, head_dim], k, v [batch, seqlen_k, heads_kv, head_dim]; with cu_seqlens q, out
/// [total_q, heads_q, head_dim], k, v [total_k, heads_kv, head_dim]; v and out may have another head_dim. One dtype:
/// fp16, bf16, on the CPU also fp32. On the CPU the result is there on return, on a GPU the work is queued on the
/// stream. flashfit.h has every rule and status.
inline Expected<void> attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                                const AttentionOptions& options = {}) {
  return detail::with_args(q, k, v, out, options, flashfit_attention_forward);
}

/// Bytes of workspace that the same call of attention() needs; checks its arguments but for the workspace.
inline Expected<std::uint64_t> workspace(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                                         const AttentionOptions& options = {}) {
  std::uint64_t bytes = 0;
  return detail::with_args(
             q, k, v, out, options,
             [&](const flashfit_attention_args* args) { return flashfit_attention_workspace(args, &bytes); })
      .and_then([&]() -> Expected<std::uint64_t> { return bytes; });
}

/// attention() that asks for a workspace only where the call needs one: `allocate(std::uint64_t bytes)` then gives the
/// address of that much memory on the tensors' device, 256-byte aligned, which stays the caller's and is no other
/// call's until the stream has passed this one; nullptr is an error. It must not throw: that ends the program.
template <class Allocate>
Expected<void> attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                         const AttentionOptions& options, Allocate&& allocate) {
  return detail::with_args(q, k, v, out, options, detail::asking(allocate, flashfit_attention_run));
}

/// All of attention() but the launch: checks, but for the workspace, and loads the kernel.
inline Expected<void> prepare(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                              const AttentionOptions& options = {}) {
  return detail::with_args(q, k, v, out, options, flashfit_attention_prepare);
}

/// A GPU's answer; flashfit.h describes the members.
using Plan = flashfit_plan;

/// What moe_route() may be told beyond its tensors.
struct RouteOptions {
  bool topk_first = false;           ///< the softmax is over the chosen experts, not over all
  bool renormalize = false;          ///< a token's weights are divided by their sum
  flashfit_stream stream = nullptr;  ///< a CUstream or cudaStream_t; nullptr: the legacy default stream
  const char* variant = nullptr;     ///< forces a variant of `flashfit images`
  bool ptx_only = false;             ///< PTX even where machine code fits

  // Scores that see one expert alone, one of the two: experts are then chosen by score + router_bias.
  bool sigmoid = false;                      ///< 1 / (1 + exp(-logit))
  bool sqrt_softplus = false;                ///< sqrt(log(1 + exp(logit)))
  const Tensor* router_bias = nullptr;       ///< fp32 [experts], contiguous
  std::int32_t groups = 0, groups_kept = 0;  ///< equal parts of the experts, and how many a token keeps; 0: one group
  float scale = 0;                           ///< of all routers: multiplies weights; 0: 1

  std::uint32_t flags() const noexcept {
    return (topk_first ? FLASHFIT_TOPK_FIRST : 0) | (renormalize ? FLASHFIT_RENORMALIZE : 0) |
           (sigmoid ? FLASHFIT_SIGMOID : 0) | (sqrt_softplus ? FLASHFIT_SQRT_SOFTPLUS : 0) |
           (ptx_only ? FLASHFIT_PTX_ONLY : 0);
  }
};

namespace detail {

template <class Function>
Expected<void> with_route_args(const Tensor& logits, const Tensor& weights, const Tensor& ids,
                               const RouteOptions& options, Function function) {
  const DLTensor tensors[] = {logits.dl(), weights.dl(), ids.dl()};
  flashfit_moe_route_args args{};
  args.struct_size = sizeof args;
  args.flags = options.flags();
  args.logits = &tensors[0];
  args.weights = &tensors[1];
  args.ids = &tensors[2];
  args.stream = options.stream;
  args.variant = options.variant;
  DLTensor bias;
  if (options.router_bias) args.router_bias = &(bias = options.router_bias->dl());
  args.groups = options.groups, args.groups_kept = options.groups_kept;
  args.scale = options.scale;
  const Status status = function(&args);
  if (status != FLASHFIT_OK) return error_of(status);
  return {};
}

}  // namespace detail

/// The router of a mixture of experts: each token's top_k experts, the largest logit first, the lower id first where
/// two are equal, and their weights. logits [tokens, experts], 1 to 512 experts, fp16, bf16 or fp32; weights fp32 and
/// ids int32 [tokens, top_k], contiguous, top_k to 16. flashfit.h has every rule and status.
inline Expected<void> moe_route(const Tensor& logits, const Tensor& weights, const Tensor& ids,
                                const RouteOptions& options = {}) {
  return detail::with_route_args(logits, weights, ids, options, flashfit_moe_route);
}

/// All of moe_route() but the launch: checks, and loads the kernel.
inline Expected<void> moe_route_prepare(const Tensor& logits, const Tensor& weights, const Tensor& ids,
                                        const RouteOptions& options = {}) {
  return detail::with_route_args(logits, weights, ids, options, flashfit_moe_route_prepare);
}

/// h of an expert's g and u. swiglu: alpha, limit and shift are ExpertsOptions'; silu and relu2 have no gate.
enum class Activation : std::int32_t {
  swiglu = FLASHFIT_SWIGLU,
  geglu_tanh = FLASHFIT_GEGLU_TANH,
  geglu_erf = FLASHFIT_GEGLU_ERF,
  silu = FLASHFIT_SILU,
  relu2 = FLASHFIT_RELU2
};

/// What fused_moe() may be told beyond x, w13, w2 and out. One of three ways says which expert a row is for: topk_ids
/// with topk_weights; router_logits with top_k and `router`; or offsets.
struct ExpertsOptions {
  const Tensor* topk_ids = nullptr;       ///< int32 [tokens, top_k], contiguous
  const Tensor* topk_weights = nullptr;   ///< fp32 [tokens, top_k], contiguous
  const Tensor* router_logits = nullptr;  ///< [tokens, all experts], as of moe_route()
  const Tensor* offsets = nullptr;  ///< int32 [experts + 1]: row r is expert e's if offsets[e] <= r < offsets[e + 1]
  std::int32_t top_k = 0;           ///< with router_logits
  RouteOptions router;              ///< with router_logits; its stream, variant and ptx_only are not looked at
  const Tensor* b13 = nullptr;      ///< [experts, outputs of w13]
  const Tensor* b2 = nullptr;       ///< [experts, hidden]
  Activation activation = Activation::swiglu;
  float alpha = 0, limit = 0, shift = 0;           ///< of swiglu; alpha 0: 1, limit 0: none
  bool transposed = false;                         ///< weights lie [experts, inputs, outputs]
  bool interleaved = false;                        ///< w13's outputs are gate and up of feature 0, of feature 1, ...
  bool weight_on_input = false;                    ///< a token's weight of an expert multiplies x instead of y
  std::int32_t experts_low = 0, experts_high = 0;  ///< whose weights w13 has; both 0: all
  const Tensor* expert_map = nullptr;              ///< int32 [all experts]: each one's place in w13, or -1
  const Tensor* shared_w13 = nullptr;              ///< an expert of every token, without experts' dimension
  const Tensor* shared_w2 = nullptr;
  const Tensor* shared_gate = nullptr;  ///< [hidden]
  const Tensor* z = nullptr;            ///< written, for a backward: [tokens top_k + experts, outputs of w13]
  flashfit_stream stream = nullptr;     ///< a CUstream or cudaStream_t; nullptr: the legacy default stream
  const char* variant = nullptr;        ///< forces a variant of `flashfit images`
  bool ptx_only = false;                ///< PTX even where machine code fits
  void* workspace = nullptr;            ///< on the tensors' device, 256-byte aligned
  std::uint64_t workspace_bytes = 0;    ///< at least what fused_moe_workspace() says
};

namespace detail {

/// Calls `function(const flashfit_fused_moe_args*)`.
template <class Function>
Expected<void> with_moe_args(const Tensor& x, const Tensor& w13, const Tensor& w2, const Tensor& out,
                             const ExpertsOptions& options, Function function) {
  flashfit_fused_moe_args args{};
  args.struct_size = sizeof args;
  args.flags = (options.transposed ? FLASHFIT_TRANSPOSED : 0) | (options.interleaved ? FLASHFIT_INTERLEAVED : 0) |
               (options.weight_on_input ? FLASHFIT_WEIGHT_ON_INPUT : 0) | (options.ptx_only ? FLASHFIT_PTX_ONLY : 0) |
               (options.router.flags() & ~FLASHFIT_PTX_ONLY);
  const std::pair<const Tensor*, const DLTensor**> given[] = {{&x, &args.x},
                                                              {&w13, &args.w13},
                                                              {&w2, &args.w2},
                                                              {&out, &args.out},
                                                              {options.topk_ids, &args.topk_ids},
                                                              {options.topk_weights, &args.topk_weights},
                                                              {options.router_logits, &args.router_logits},
                                                              {options.offsets, &args.offsets},
                                                              {options.b13, &args.b13},
                                                              {options.b2, &args.b2},
                                                              {options.router.router_bias, &args.router_bias},
                                                              {options.expert_map, &args.expert_map},
                                                              {options.shared_w13, &args.shared_w13},
                                                              {options.shared_w2, &args.shared_w2},
                                                              {options.shared_gate, &args.shared_gate},
                                                              {options.z, &args.z}};
  DLTensor tensors[sizeof given / sizeof given[0]];
  DLTensor* next = tensors;
  for (const auto& [tensor, slot] : given) {
    if (!tensor) continue;
    *next = tensor->dl();
    *slot = next++;
  }
  args.stream = options.stream;
  args.variant = options.variant;
  args.workspace = options.workspace;
  args.workspace_bytes = options.workspace_bytes;
  args.experts_low = options.experts_low, args.experts_high = options.experts_high;
  args.activation = static_cast<std::int32_t>(options.activation);
  args.alpha = options.alpha, args.limit = options.limit, args.shift = options.shift;
  args.top_k = options.top_k;
  args.groups = options.router.groups, args.groups_kept = options.router.groups_kept;
  args.scale = options.router.scale;
  const Status status = function(&args);
  if (status != FLASHFIT_OK) return error_of(status);
  return {};
}

}  // namespace detail

/// A layer of experts: for each token the weighted sum of its experts' w2 activation(w13 x). x, out [tokens, hidden],
/// w13 [experts, 2 intermediate, hidden], w2 [experts, hidden, intermediate], one dtype: fp16, bf16, on the CPU also
/// fp32. flashfit.h has every rule and status.
inline Expected<void> fused_moe(const Tensor& x, const Tensor& w13, const Tensor& w2, const Tensor& out,
                                const ExpertsOptions& options) {
  return detail::with_moe_args(x, w13, w2, out, options, flashfit_fused_moe);
}

/// fused_moe() that asks for a workspace only where the call needs one: `allocate` as of attention().
template <class Allocate>
Expected<void> fused_moe(const Tensor& x, const Tensor& w13, const Tensor& w2, const Tensor& out,
                         const ExpertsOptions& options, Allocate&& allocate) {
  return detail::with_moe_args(x, w13, w2, out, options, detail::asking(allocate, flashfit_fused_moe_run));
}

/// All of fused_moe() but the launches: checks, but for the workspace, and loads the kernels.
inline Expected<void> fused_moe_prepare(const Tensor& x, const Tensor& w13, const Tensor& w2, const Tensor& out,
                                        const ExpertsOptions& options) {
  return detail::with_moe_args(x, w13, w2, out, options, flashfit_fused_moe_prepare);
}

/// Bytes of workspace that the same call of fused_moe() needs; checks its arguments but for the workspace.
inline Expected<std::uint64_t> fused_moe_workspace(const Tensor& x, const Tensor& w13, const Tensor& w2,
                                                   const Tensor& out, const ExpertsOptions& options) {
  std::uint64_t bytes = 0;
  return detail::with_moe_args(
             x, w13, w2, out, options,
             [&](const flashfit_fused_moe_args* args) { return flashfit_fused_moe_workspace(args, &bytes); })
      .and_then([&]() -> Expected<std::uint64_t> { return bytes; });
}

/// A question about a problem and GPUs, which need not be there. Members are those of flashfit_explain_args.
struct Question {
  std::string gpu;  ///< "L4", "8.9", "all"; "": the GPUs of this machine
  std::string dtype = "fp16";
  std::int64_t batch = 1, seqlen_q = 0, seqlen_k = 0, heads_q = 1, heads_kv = 1, head_dim = 64;
  bool causal = false, ptx_only = false;
  bool variable_length = false;           ///< rows are total_q and total_k; seqlen_q and seqlen_k stay 0
  std::int64_t total_q = 0, total_k = 0;  ///< over all sequences
  int cuda_version = 0;                   ///< of the driver: 12090 is 12.9; 0: this machine's, or new enough
  std::string variant;                    ///< forces a variant of `flashfit images`; "": chooses
  int block_m = 0, block_n = 0, warps = 0, stages = 0;  ///< what if; 0: no such question
  std::int64_t head_dim_v = 0;                          ///< of v and out; 0: as head_dim
  std::optional<Window> window;
  bool softcap = false, alibi = false, sinks = false, batch_invariant = false;
  std::string bias;        ///< what it holds: "bool", "fp32" or the dtype; "": there is none
  bool unaligned = false;  ///< tensors that are not as flashfit.h says under "alignment"

  /// For C; valid while this object lives unchanged.
  flashfit_explain_args c() const noexcept {
    flashfit_explain_args a{};
    a.struct_size = sizeof a;
    a.flags = (causal ? FLASHFIT_CAUSAL : 0) | (ptx_only ? FLASHFIT_PTX_ONLY : 0) |
              (variable_length ? FLASHFIT_VARIABLE_LENGTH : 0) | (window ? FLASHFIT_WINDOW : 0) |
              (softcap ? FLASHFIT_SOFTCAP : 0) | (alibi ? FLASHFIT_ALIBI : 0) | (sinks ? FLASHFIT_SINKS : 0) |
              (batch_invariant ? FLASHFIT_BATCH_INVARIANT : 0) | (unaligned ? FLASHFIT_UNALIGNED : 0);
    a.gpu = gpu.empty() ? nullptr : gpu.c_str();
    a.dtype = dtype.c_str();
    a.batch = batch, a.seqlen_q = seqlen_q, a.seqlen_k = seqlen_k;
    a.heads_q = heads_q, a.heads_kv = heads_kv, a.head_dim = head_dim;
    a.cuda_version = cuda_version;
    a.variant = variant.empty() ? nullptr : variant.c_str();
    a.total_q = total_q, a.total_k = total_k;
    a.block_m = block_m, a.block_n = block_n, a.warps = warps, a.stages = stages;
    a.head_dim_v = head_dim_v;
    if (window) a.window_left = window->left, a.window_right = window->right;
    a.bias = bias.empty() ? nullptr : bias.c_str();
    return a;
  }
};

/// What would run and why: one plan a GPU. A misfit is an answer, no error.
inline Expected<std::vector<Plan>> explain(const Question& question) {
  const flashfit_explain_args args = question.c();
  std::size_t count = 0;
  Status status = flashfit_explain(&args, nullptr, 0, &count);
  std::vector<Plan> plans(count);
  if (status == FLASHFIT_OK && count > 0) {
    plans[0].struct_size = sizeof(Plan);
    status = flashfit_explain(&args, plans.data(), plans.size(), &count);
  }
  if (status != FLASHFIT_OK) return detail::error_of(status);
  if (count < plans.size()) plans.resize(count);
  return plans;
}

/// JSON documents; docs/api.md and docs/plan.md list the keys.
inline Expected<std::string> explain_json(const Question& question) {
  const flashfit_explain_args args = question.c();
  return detail::document([&](char** json) { return flashfit_explain_json(&args, json); });
}
/// A question about a router's problem. Members are those of flashfit_moe_route_explain_args.
struct RouteQuestion {
  std::string gpu;  ///< "L4", "8.9", "all"; "": the GPUs of this machine
  std::string dtype = "fp32";
  std::int64_t tokens = 1, experts = 1, top_k = 1;
  RouteOptions options;  ///< its stream is not looked at
  std::int32_t cuda_version = 0;
};
inline Expected<std::string> moe_route_explain_json(const RouteQuestion& question) {
  flashfit_moe_route_explain_args args{};
  args.struct_size = sizeof args;
  args.flags = question.options.flags();
  args.gpu = question.gpu.empty() ? nullptr : question.gpu.c_str();
  args.dtype = question.dtype.c_str();
  args.tokens = question.tokens;
  args.experts = question.experts;
  args.top_k = question.top_k;
  args.variant = question.options.variant;
  args.cuda_version = question.cuda_version;
  return detail::document([&](char** json) { return flashfit_moe_route_explain_json(&args, json); });
}
/// A question about a layer of experts. Members are those of flashfit_fused_moe_explain_args; of the options the
/// activation, the layout's flags, experts_low, experts_high, variant and ptx_only are looked at.
struct ExpertsQuestion {
  std::string gpu;  ///< "L4", "8.9", "all"; "": the GPUs of this machine
  std::string dtype = "bf16";
  std::int64_t tokens = 1, experts = 1, top_k = 1, hidden = 1, intermediate = 1;
  bool keeping = false;  ///< a call with z
  ExpertsOptions options;
  std::int32_t cuda_version = 0;
};
inline Expected<std::string> fused_moe_explain_json(const ExpertsQuestion& question) {
  const ExpertsOptions& options = question.options;
  flashfit_fused_moe_explain_args args{};
  args.struct_size = sizeof args;
  args.flags = (options.transposed ? FLASHFIT_TRANSPOSED : 0U) | (options.interleaved ? FLASHFIT_INTERLEAVED : 0U) |
               (options.weight_on_input ? FLASHFIT_WEIGHT_ON_INPUT : 0U) | (options.ptx_only ? FLASHFIT_PTX_ONLY : 0U) |
               (question.keeping ? FLASHFIT_KEEPING : 0U);
  args.gpu = question.gpu.empty() ? nullptr : question.gpu.c_str();
  args.dtype = question.dtype.c_str();
  args.tokens = question.tokens, args.experts = question.experts, args.top_k = question.top_k;
  args.hidden = question.hidden, args.intermediate = question.intermediate;
  args.variant = options.variant;
  args.cuda_version = question.cuda_version;
  args.experts_low = options.experts_low, args.experts_high = options.experts_high;
  args.activation = static_cast<std::int32_t>(options.activation);
  return detail::document([&](char** json) { return flashfit_fused_moe_explain_json(&args, json); });
}
inline Expected<std::string> images_json() { return detail::document(flashfit_images_json); }
/// This machine: GPUs, driver; no GPU is a fact, not an error.
inline Expected<std::string> gpus_json() { return detail::document(flashfit_gpus_json); }

/// Of the library that is loaded: major * 10000 + minor * 100 + patch.
inline std::uint32_t version() { return flashfit_version(); }

/// What it can do, by name: flashfit.h lists the names.
inline std::vector<std::string_view> features() {
  std::vector<std::string_view> names;
  for (const char* const* name = flashfit_features(); *name; ++name) names.emplace_back(*name);
  return names;
}
inline bool has_feature(const std::string& name) { return flashfit_has_feature(name.c_str()) != 0; }

}  // namespace v0
}  // namespace flashfit

#endif  // FLASHFIT_FLASHFIT_HPP_
