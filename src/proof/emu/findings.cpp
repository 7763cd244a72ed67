// How the machine says what is wrong: one line that names kernel, block, warp,
// lane, schedule, seed and source line.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>

#include "proof/emu/fibres.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::emu {

std::string Machine::lanes_in_words(std::uint32_t mask) {
  std::string text = std::has_single_bit(mask) ? "lane " : "lanes ";
  const char* comma = "";
  for (int first = 0; first < kLanes; ++first) {
    if ((mask >> first & 1) == 0) continue;
    const int last = first + std::countr_one(mask >> first) - 1;
    text += first == last ? fmt::format("{}{}", comma, first) : fmt::format("{}{}-{}", comma, first, last);
    comma = ",";
    first = last;
  }
  return text;
}

std::string Machine::in_words(const Site& site) {
  const std::string_view path = site.file;
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), site.line);
}

std::string Machine::warp_in_words(int warp) const {
  if (blocks_.size() == 1) return fmt::format("warp {}", warp);
  return fmt::format("block {} of the cluster, warp {}", warp / block_warps_, warp % block_warps_);
}

std::string Machine::thread_in_words(int thread) const {
  return fmt::format("{} lane {}", warp_in_words(thread / kLanes), thread % kLanes);
}

std::string Machine::waits() const {
  std::string text;
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    const std::string warp = warp_in_words(static_cast<int>(i));
    const Warp& w = warps_[i];
    if (w.arrived != 0)
      text += fmt::format("{} {} wait in {} at {}; ", warp, lanes_in_words(w.arrived), w.op->name, in_words(w.site));
    for (std::uint32_t left = ~std::uint32_t{0}; left != 0;) {
      const Wait& wait = waits_[i * kLanes + static_cast<std::size_t>(std::countr_zero(left))];
      std::uint32_t same = 0;
      for (int l = 0; l < kLanes; ++l) {
        const Wait& other = waits_[i * kLanes + static_cast<std::size_t>(l)];
        if (other.describe == wait.describe &&
            (wait.describe == nullptr || (other.on == wait.on && other.site == wait.site)))
          same |= std::uint32_t{1} << l;
      }
      left &= ~same;
      if (wait.describe != nullptr)
        text += program_.by_warp
                    ? fmt::format("{} waits in {} at {}; ", warp, wait.describe(wait.on), in_words(wait.site))
                    : fmt::format("{} {} wait in {} at {}; ", warp, lanes_in_words(same), wait.describe(wait.on),
                                  in_words(wait.site));
    }
    if (w.left != 0)
      text += program_.by_warp ? warp + " left; " : fmt::format("{} {} left; ", warp, lanes_in_words(w.left));
  }
  return text.substr(0, text.size() - std::min<std::size_t>(text.size(), 2));
}

std::string Machine::where(int thread) const {
  const int block = thread / program_.threads, of_block = thread % program_.threads;
  const Index3 at = blocks_[static_cast<std::size_t>(block)].index;
  return fmt::format("{}: block ({},{},{}) warp {} lane {} ({}, seed {}): ", options_.kernel, at.x, at.y, at.z,
                     of_block / kLanes, of_block % kLanes, name_of(options_.schedule), options_.seed);
}

void Machine::stop_at(int thread, const std::string& what, const Site* site) {
  finding_ = where(thread) + (site != nullptr ? in_words(*site) + ": " : "") + what;
  fibres_->switch_to(Fibres::kHost);
  std::abort();  // the host unwinds this fibre and never resumes it
}

}  // namespace flashfit::emu
