#include "core/gpu/gpu_key.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

namespace flashfit {
namespace {

// Words that name the maker, the board or the product line, not the GPU.
constexpr std::string_view kNoise[] = {"nvidia",      "geforce", "tesla",   "jetson", "graphics", "gpu",   "blackwell",
                                       "workstation", "server",  "edition", "sxm",    "sxm2",     "sxm4",  "sxm5",
                                       "sxm6",        "hbm2",    "hbm2e",   "hbm3",   "hbm3e",    "nvgpu", "(nvgpu)"};

}  // namespace

std::string gpu_key(std::string_view name, bool drop_memory_size) {
  std::string out, word;
  const auto flush = [&] {
    const bool memory = word.size() > 2 && word.ends_with("gb") &&
                        std::all_of(word.begin(), word.end() - 2, [](unsigned char c) { return std::isdigit(c); });
    if (std::find(std::begin(kNoise), std::end(kNoise), word) == std::end(kNoise) && !(drop_memory_size && memory))
      out += word;
    word.clear();
  };
  for (const unsigned char c : name) {
    if (c == ' ' || c == '-' || c == '_') {
      flush();
    } else {
      word += static_cast<char>(std::tolower(c));
    }
  }
  flush();
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace flashfit
