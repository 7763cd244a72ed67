#pragma once
// The kernel of aten::scaled_dot_product_attention that flashfit.integrations.sdpa registers. A call of which it is
// known that flashfit leaves it goes straight to PyTorch's own function, without Python. All others go to the kernel of
// Python (python/flashfit/integrations/sdpa.py), which decides, and says here what is to be known of calls alike.
#include "runtime/python/known_calls.hpp"
#include "runtime/python/torch_shim.hpp"

namespace flashfit::python::sdpa {

/// What it needs of torch beside the stable interface: functions of C++ whose names, as the linker has them, hold the
/// types of their arguments.
struct Torch {
  void* redispatch;      ///< at::_ops::scaled_dot_product_attention::redispatch(DispatchKeySet, ...)
  void* mode_stack_len;  ///< c10::impl::TorchDispatchModeTLS::stack_len()
  std::uint64_t own;     ///< a set of keys, none of them a tensor's, for which torch calls its own function,
  std::uint64_t ours;    ///< and one for which it calls the kernel of Python
};

/// False if handles of tensors are not what they were in every release so far: then the kernel must not be registered.
/// torch_shim::functions come first.
bool connect(const Torch& torch);

/// Registered for the keys of CPUs and GPUs, below autograd and above.
void kernel(torch_shim::Value* stack, std::uint64_t count, std::uint64_t results);

/// Of all calls of this process.
KnownCalls& known_calls();

}  // namespace flashfit::python::sdpa
