// Any bytes as a cubin and as PTX.
#include "doctor/gpu_code/cubin.hpp"
#include "doctor/gpu_code/ptx.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flashfit::doctor;
  const Bytes bytes = std::as_bytes(std::span(data, size));
  if (is_ptx(bytes)) (void)read_ptx(bytes);
  const MemorySource source(bytes);
  if (const auto elf = read_elf(source)) (void)read_cubin(source, *elf);
  return 0;
}
