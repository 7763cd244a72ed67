// Any bytes as PTX.
#include "doctor/fuzz/answer.hpp"
#include "doctor/gpu_code/ptx.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flashfit::doctor;
  const Bytes bytes = std::as_bytes(std::span(data, size));
  const bool opens = is_ptx(bytes);
  const auto ptx = read_ptx(bytes);
  fuzz::require_answer(ptx);
  if (ptx) fuzz::require(opens && ptx->target.architecture >= 10 && ptx->isa_major < 100 && ptx->isa_minor < 100);
  return 0;
}
