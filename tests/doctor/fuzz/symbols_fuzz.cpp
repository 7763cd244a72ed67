// Any bytes as a mangled name: what is said of it is one line, and soon.
#include "doctor/binaries/demangle.hpp"
#include "doctor/facts/torch_symbols.hpp"
#include "doctor/fuzz/answer.hpp"
#include "doctor/knowledge/stable_abi.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flashfit::doctor;
  if (size == 0) return 0;
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  fuzz::require_line(demangled(name));
  const TorchAbi abi = string_abi_of(name);
  fuzz::require(abi == TorchAbi::kEither || name.starts_with("_Z"));
  fuzz::require(!is_torch_symbol(name) || name.starts_with("_Z"));
  (void)is_stable_torch_symbol(name);
  (void)stable_abi_since(name);
  return 0;
}
