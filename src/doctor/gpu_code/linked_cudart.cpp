#include "doctor/gpu_code/linked_cudart.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace flashfit::doctor {
namespace {

struct Text {
  std::string_view text;  ///< with the zero behind it
  int major;              ///< that brought it; 0: all have it
};
// The message of error 35, which nothing but a runtime has, and names of the table of functions that profilers ask for.
// Source: libcudart.so of CUDA 11.7, 11.8, 12.0, 12.1, 12.9, 13.0 and 13.5, libcudart_static.a of the last three,
// cudart64_12.dll of 12.9.
using namespace std::string_view_literals;
constexpr std::array<Text, 3> kTexts{{{"CUDA driver version is insufficient for CUDA runtime version\0"sv, 0},
                                      {"cudaGraphInstantiateWithParams_ptsz\0"sv, 12},
                                      {"cudaDeviceGetHostAtomicCapabilities\0"sv, 13}}};

static_assert(std::all_of(kTexts.begin(), kTexts.end(),
                          [](const Text& t) { return t.text.size() <= LinkedCudart::kWindow; }));

}  // namespace

void LinkedCudart::look(Bytes window) {
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    const std::string_view text = kTexts[i].text;
    if (window.size() >= text.size() && std::memcmp(window.data(), text.data(), text.size()) == 0) found_[i] = true;
  }
}

int LinkedCudart::major() const {
  if (!found_[0]) return 0;
  int major = 0;
  for (std::size_t i = 0; i < kTexts.size(); ++i)
    if (found_[i]) major = std::max(major, kTexts[i].major);
  return major;
}

}  // namespace flashfit::doctor
