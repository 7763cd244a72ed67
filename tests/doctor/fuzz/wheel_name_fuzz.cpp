// Wheel names, and what follows from them: labels and the tags' verdict.
#include "core/gpu/gpu_names.hpp"
#include "doctor/fuzz/answer.hpp"
#include "doctor/packaging/build_label.hpp"
#include "doctor/packaging/tags.hpp"
#include "doctor/packaging/wheel_name.hpp"

using namespace flashfit;
using namespace flashfit::doctor;

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const Environment kHere{parse_python("3.11").value(), parse_platform("manylinux_2_31_x86_64").value()};
  const auto wheel = parse_wheel_name(text);
  fuzz::require_answer(wheel);
  if (wheel) {
    fuzz::require(!wheel->tags.empty() && wheel->tags.size() <= kMostTags);
    label_of(*wheel);
    const TagVerdict verdict = judge(wheel->tags, kHere);
    if (!verdict.fits) fuzz::require_line(verdict.reason);
  }
  const auto python = parse_python(text);
  fuzz::require_answer(python);
  const auto platform = parse_platform(text);
  fuzz::require_answer(platform);
  if (platform) platform_misfit("manylinux_2_28_x86_64", *platform);
  fuzz::require_answer(with_glibc(kHere.platform, text));
  fuzz::require_answer(name_gpu(text));
  return 0;
}
