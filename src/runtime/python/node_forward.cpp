#include "runtime/python/node_forward.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <iterator>
#include <numeric>
#include <utility>

namespace flashfit::python {
namespace {

using torch_shim::Place;
using torch_shim::Reference;
using torch_shim::Value;

constexpr int kDims = 4;

decltype(&flashfit_attention_run) attention_run = nullptr;

/// Where an operator has its arguments and results after q, k, v and (out, lse).
struct Form {
  int is_causal, scale;   ///< places among the arguments
  bool heads_first;       ///< of q, k, v and out
  bool has_offsets;       ///< results: two offsets of packed sequences, which are none, and the longest sequences
  bool has_random_state;  ///< results at the end: the state of dropout's random numbers
};

constexpr Form form_of(NodeOperator name) {
  switch (name) {
    case NodeOperator::kOnCpu:
      return {4, 6, true, false, false};
    case NodeOperator::kOnGpu:
      return {4, 6, true, true, true};
    case NodeOperator::kOnGpuRowsFirst:
      break;
  }
  return {8, 10, false, false, true};
}

/// Strides of a new tensor like this one, as torch.empty_like gives them: its own if it has no gaps, else dimensions in
/// the same order without gaps.
void dense_strides(const DLTensor& like, std::int64_t* strides) {
  int order[kDims];
  std::iota(order, order + like.ndim, 0);
  std::sort(order, order + like.ndim, [&](int a, int b) {
    return like.strides[a] != like.strides[b] ? like.strides[a] > like.strides[b] : a < b;
  });
  std::int64_t next = 1;
  bool dense = true;
  for (int i = like.ndim - 1; i >= 0; --i) {
    const int dim = order[i];
    dense = dense && (like.shape[dim] == 1 || like.strides[dim] == next);
    strides[dim] = next;
    next *= like.shape[dim];
  }
  if (dense) std::copy_n(like.strides, like.ndim, strides);
}

/// What dropout would leave for the backward, which without dropout nobody reads: the random numbers' seed and offset,
/// and the mask that shows them. Made once for each device, and never freed, for a process may end without torch.
class RandomState {
 public:
  enum Part { kSeed, kOffset, kMask, kParts };

  /// nullptr if there is no memory, or another thread makes it right now.
  static const RandomState* of(Place place) {
    static RandomState known[64];
    const std::int32_t index = place.device_index + 1;  // the CPU's index is -1
    if (index < 0 || index >= std::ssize(known)) return nullptr;
    RandomState& state = known[index];
    Stage stage = kNone;
    if (state.stage_.load(std::memory_order_acquire) == kMade) return &state;
    if (!state.stage_.compare_exchange_strong(stage, kMaking, std::memory_order_acquire)) return nullptr;
    const bool made = state.make(place);
    state.stage_.store(made ? kMade : kNone, std::memory_order_release);
    return made ? &state : nullptr;
  }

  Reference part(Part part) const { return torch_shim::again(parts_[part]); }

 private:
  enum Stage { kNone, kMaking, kMade };

  bool make(Place place) {
    constexpr std::int64_t kTwo = 2, kNothing = 0, kOne = 1;
    const std::int32_t word = torch_shim::functions.dtype_uint64();
    Reference made[kParts] = {torch_shim::empty(1, &kTwo, &kOne, word, place),
                              torch_shim::empty(0, nullptr, nullptr, word, place),
                              torch_shim::empty(1, &kNothing, &kOne, torch_shim::functions.dtype_float32(), place)};
    for (const Reference& each : made)
      if (!each) return false;
    for (int i = 0; i < kParts; ++i) parts_[i] = made[i].release();
    return true;
  }

  torch_shim::Handle parts_[kParts] = {};
  std::atomic<Stage> stage_ = kNone;
};

/// A call's workspace, of torch: its memory goes with this, and work that uses the memory again is queued behind.
struct Workspace {
  Place place;
  Reference memory;

  static void* give(void* context, std::uint64_t bytes) {
    Workspace& workspace = *static_cast<Workspace*>(context);
    const auto size = static_cast<std::int64_t>(bytes);
    constexpr std::int64_t kOne = 1;
    workspace.memory = torch_shim::empty(1, &size, &kOne, torch_shim::functions.dtype_uint8(), workspace.place);
    void* data = nullptr;
    if (workspace.memory) torch_shim::functions.get_data_ptr(workspace.memory.get(), &data);
    return data;
  }
};

struct Results {
  Reference out, lse;
  std::int64_t rows = 0, keys = 0;
  Place place;
};

/// False, with nothing written, if the C API does not take these tensors.
bool attend(const Reference (&inputs)[3], bool causal, double scale, bool heads_first, Results& results) {
  enum { kQ, kK, kV };
  DLTensor read[3] = {};
  Tensor tensors[3];
  for (int i = 0; i < 3; ++i) {
    if (!torch_shim::read(inputs[i].get(), read[i], results.place) || read[i].ndim != kDims) return false;
    tensors[i].take(read[i], heads_first);
  }
  if (read[kQ].shape[kDims - 1] != read[kV].shape[kDims - 1]) return false;  // out would have another head_dim
  const std::int64_t* const shape = tensors[kQ].get().shape;                 // batch, rows, heads, head_dim
  results.rows = shape[1];
  results.keys = tensors[kK].get().shape[1];
  const std::int64_t lse_shape[] = {shape[0], shape[2], shape[1]};
  const std::int64_t lse_strides[] = {shape[2] * shape[1], shape[1], 1};
  std::int64_t strides[kDims];
  dense_strides(read[kQ], strides);
  std::int32_t dtype = 0;
  torch_shim::functions.get_dtype(inputs[kQ].get(), &dtype);
  results.out = torch_shim::empty(kDims, read[kQ].shape, strides, dtype, results.place);
  results.lse = torch_shim::empty(3, lse_shape, lse_strides, torch_shim::functions.dtype_float32(), results.place);
  DLTensor out = {};
  DLTensor lse = {};
  Place place;
  if (!results.out || !results.lse || !torch_shim::read(results.out.get(), out, place) ||
      !torch_shim::read(results.lse.get(), lse, place))
    return false;
  Tensor of_out;
  of_out.take(out, heads_first);
  flashfit_attention_args args{};
  args.struct_size = sizeof args;
  args.flags = causal ? FLASHFIT_CAUSAL : 0;
  args.q = &tensors[kQ].get();
  args.k = &tensors[kK].get();
  args.v = &tensors[kV].get();
  args.out = &of_out.get();
  args.lse = &lse;
  args.softmax_scale = static_cast<float>(scale);
  if (out.device.device_type == kDLCUDA) {
    const auto stream_of = torch_shim::functions.current_cuda_stream;
    void* stream = nullptr;
    if (!stream_of || stream_of(results.place.device_index, &stream) != 0) return false;
    args.stream = static_cast<decltype(args.stream)>(stream);
  }
  Workspace workspace{results.place, nullptr};
  return attention_run(&args, Workspace::give, &workspace) == FLASHFIT_OK;
}

template <NodeOperator kName>
void forward(Value* stack, std::uint64_t count, std::uint64_t) {
  constexpr Form kForm = form_of(kName);
  Reference inputs[3];
  for (int i = 0; i < 3; ++i) inputs[i].reset(reinterpret_cast<torch_shim::Handle>(stack[i]));
  const bool causal = (stack[kForm.is_causal] & 1) != 0;
  const auto scale =
      static_cast<std::uint64_t>(kForm.scale) < count ? torch_shim::taken(stack[kForm.scale]) : std::nullopt;
  Results results;
  const bool done = attend(inputs, causal, std::bit_cast<double>(scale.value_or(0)), kForm.heads_first, results);
  const RandomState* const random = done && kForm.has_random_state ? RandomState::of(results.place) : nullptr;
  const bool whole = done && (random || !kForm.has_random_state);
  int next = 0;
  const auto give = [&](Reference tensor) { stack[next++] = reinterpret_cast<Value>(tensor.release()); };
  give(whole ? std::move(results.out) : torch_shim::undefined());
  give(whole ? std::move(results.lse) : torch_shim::undefined());
  if constexpr (kForm.has_offsets) {
    give(torch_shim::undefined());
    give(torch_shim::undefined());
    stack[next++] = static_cast<Value>(results.rows);
    stack[next++] = static_cast<Value>(results.keys);
  }
  if constexpr (kForm.has_random_state) {
    for (const auto part : {RandomState::kSeed, RandomState::kOffset, RandomState::kMask})
      give(whole ? random->part(part) : torch_shim::undefined());
  }
}

}  // namespace

TorchKernel node_forward(NodeOperator name) {
  switch (name) {
    case NodeOperator::kOnCpu:
      return forward<NodeOperator::kOnCpu>;
    case NodeOperator::kOnGpu:
      return forward<NodeOperator::kOnGpu>;
    case NodeOperator::kOnGpuRowsFirst:
      break;
  }
  return forward<NodeOperator::kOnGpuRowsFirst>;
}

void connect_node_forward(decltype(&flashfit_attention_run) run) { attention_run = run; }

}  // namespace flashfit::python
