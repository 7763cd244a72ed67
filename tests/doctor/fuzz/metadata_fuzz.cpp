// METADATA and WHEEL: the same bytes are read as either.
#include "doctor/fuzz/answer.hpp"
#include "doctor/packaging/metadata.hpp"

using namespace flashfit::doctor;

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const WheelName kName = parse_wheel_name("a-1-cp311-cp311-linux_x86_64.whl").value();
  static const Python kPython = parse_python("3.11").value();
  const auto metadata = parse_metadata(text);
  fuzz::require_answer(metadata);
  if (metadata) {
    for (const std::string& line : metadata->unread) fuzz::require_line(line);
    for (const std::string& line : disagreements(kName, *metadata)) fuzz::require_line(line);
    if (const std::string line = python_misfit(*metadata, kPython); !line.empty()) fuzz::require_line(line);
  }
  const auto file = parse_wheel_file(text);
  fuzz::require_answer(file);
  if (file) {
    fuzz::require(file->tags.size() <= kMostTags);
    for (const std::string& line : disagreements(kName, *file)) fuzz::require_line(line);
  }
  return 0;
}
