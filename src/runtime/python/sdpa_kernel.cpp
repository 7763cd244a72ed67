// Compiled with exceptions: those of torch pass through.
#include "runtime/python/sdpa_kernel.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <optional>
#include <utility>

namespace flashfit::python::sdpa {
namespace {

using torch_shim::Handle;
using torch_shim::Reference;
using torch_shim::Value;

/// at::Tensor: one pointer, counted. It is returned into memory of the caller's, as its destructor is not trivial; this
/// one is never called, for torch's own functions end what they made.
struct Tensor {
  void* impl;
  // NOLINTNEXTLINE(modernize-use-equals-default): "= default" would make it trivial
  ~Tensor() {}
};

/// std::optional<at::Tensor> of libstdc++.
struct OptionalTensor {
  void* impl = nullptr;
  bool has_value = false;
};

using Redispatch = Tensor (*)(std::uint64_t keys, Handle query, Handle key, Handle value, const OptionalTensor& mask,
                              double dropout_p, bool is_causal, std::optional<double> scale, bool enable_gqa);
using StackLen = std::int64_t (*)();

Redispatch redispatch = nullptr;
StackLen mode_stack_len = nullptr;
std::uint64_t own_keys = 0, our_keys = 0;

KnownCalls calls;

void* impl_of(Handle tensor) { return *reinterpret_cast<void**>(tensor); }

/// A call's arguments, given back at the end of the scope, whatever ends it.
struct Arguments {
  enum { kQuery, kKey, kValue, kMask, kTensors };
  Reference tensors[kTensors];
  double dropout_p;
  bool is_causal;
  std::optional<double> scale;
  bool enable_gqa;

  explicit Arguments(const Value* stack) {
    enum { kDropout = kTensors, kCausal, kScale, kGqa };
    for (int i = kQuery; i <= kValue; ++i) tensors[i].reset(reinterpret_cast<Handle>(stack[i]));
    if (const auto mask = torch_shim::taken(stack[kMask])) tensors[kMask].reset(reinterpret_cast<Handle>(*mask));
    dropout_p = std::bit_cast<double>(stack[kDropout]);
    is_causal = (stack[kCausal] & 1) != 0;
    if (const auto number = torch_shim::taken(stack[kScale])) scale = std::bit_cast<double>(*number);
    enable_gqa = (stack[kGqa] & 1) != 0;
  }
};

/// False if the tensor does not say its sizes, or has too many.
bool describe(Handle tensor, CallSignature& signature) {
  const torch_shim::Functions& f = torch_shim::functions;
  std::int32_t dtype = 0, type = 0, index = 0, layout = 0;
  std::int64_t ndim = 0;
  std::int64_t* sizes = nullptr;
  if (f.get_dim(tensor, &ndim) != 0 || ndim > CallSignature::kMostDims || f.get_sizes(tensor, &sizes) != 0 ||
      f.get_dtype(tensor, &dtype) != 0 || f.get_device_type(tensor, &type) != 0 ||
      f.get_device_index(tensor, &index) != 0 || f.get_layout(tensor, &layout) != 0)
    return false;
  std::int64_t kind = index;
  for (const std::int64_t each : {std::int64_t{dtype}, std::int64_t{type}, std::int64_t{layout}, ndim})
    kind = kind << 8 | (each & 0xff);
  signature.add(kind);
  for (std::int64_t i = 0; i < ndim; ++i) signature.add(sizes[i]);
  return true;
}

bool describe(const Arguments& call, CallSignature& signature) {
  for (const Reference& each : call.tensors) {
    if (!each) {
      signature.add(-1);
    } else if (!describe(each.get(), signature)) {
      return false;
    }
  }
  signature.add(std::bit_cast<std::int64_t>(call.dropout_p));
  signature.add(std::bit_cast<std::int64_t>(call.scale.value_or(0.0)));
  return signature.add((call.is_causal ? 1 : 0) | (call.enable_gqa ? 2 : 0) | (call.scale ? 4 : 0));
}

}  // namespace

bool connect(const Torch& torch) {
  if (!torch_shim::functions.get_layout) return false;
  redispatch = reinterpret_cast<Redispatch>(torch.redispatch);
  mode_stack_len = reinterpret_cast<StackLen>(torch.mode_stack_len);
  own_keys = torch.own;
  our_keys = torch.ours;
  const torch_shim::Place cpu = {torch_shim::functions.device_type_cpu(), 0};
  const Reference one = torch_shim::empty(0, nullptr, nullptr, torch_shim::functions.dtype_float32(), cpu);
  const Reference other = torch_shim::empty(0, nullptr, nullptr, torch_shim::functions.dtype_float32(), cpu);
  const Reference same = one ? torch_shim::again(one.get()) : nullptr;
  // A handle is the address of an at::Tensor.
  return same && other && same != one && impl_of(same.get()) == impl_of(one.get()) &&
         impl_of(other.get()) != impl_of(one.get());
}

void kernel(Value* stack, std::uint64_t, std::uint64_t) {
  const Arguments call(stack);
  Asked about;
  about.calls = &calls;
  // A mode watches calls, and tensors that torch.compile traces with may not know their sizes.
  const bool readable = mode_stack_len() == 0 && describe(call, about.signature);
  if (readable) about.found = calls.find(about.signature);
  const bool left = about.found.fate == Fate::kLeft;
  if (left) calls.add(about.found.line);
  const Asking asking(readable && !left ? &about : nullptr);
  const auto at = [&](int i) { return call.tensors[i].get(); };
  OptionalTensor mask;
  if (Handle given = at(Arguments::kMask)) mask = {impl_of(given), true};
  Reference result = torch_shim::undefined();
  new (result.get())
      Tensor(redispatch(left ? own_keys : our_keys, at(Arguments::kQuery), at(Arguments::kKey), at(Arguments::kValue),
                        mask, call.dropout_p, call.is_causal, call.scale, call.enable_gqa));
  stack[0] = reinterpret_cast<Value>(result.release());
}

KnownCalls& known_calls() { return calls; }

}  // namespace flashfit::python::sdpa
