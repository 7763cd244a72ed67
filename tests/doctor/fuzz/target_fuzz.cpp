// Any bytes as a wheel or a binary: from the bytes to the verdict, by every check. Facts survive the cache.
#include "doctor/bytes/content.hpp"
#include "doctor/facts/facts_codec.hpp"
#include "doctor/facts/read_binary.hpp"
#include "doctor/facts/read_wheel.hpp"
#include "doctor/fuzz/answer.hpp"
#include "doctor/fuzz/question.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flashfit::doctor;
  const Bytes bytes = std::as_bytes(std::span(data, size));
  const MemorySource source(bytes);
  Target target{.target = "given", .file_name = "a-1+cu124torch2.6cxx11abiFALSE-cp39-abi3-manylinux_2_17_x86_64.whl"};
  FactsBudget budget;
  if (is_zip(bytes)) {
    read_wheel(source, target, {});
  } else if (auto binaries = read_binaries(SourceContent(source), "a/_C.abi3.so", budget)) {
    target.binaries = std::move(*binaries);
  } else {
    target.errors.push_back(binaries.error().message);
  }
  for (const std::string& error : target.errors) fuzz::require_line(error);
  fuzz::require_problems(target);

  FactsWriter writer, again;
  visit(writer, target);
  const std::string written = writer.take();
  Target copy;
  FactsReader reader(written);
  visit(reader, copy);
  fuzz::require(reader.ok() && reader.ended());
  visit(again, copy);
  fuzz::require(again.take() == written);
  return 0;
}
