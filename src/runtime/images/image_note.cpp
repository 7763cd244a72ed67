#include "runtime/images/image_note.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

namespace flashfit {
namespace {

// Elf64_Nhdr: three words; then the owner with its zero and the content, each filled up to a word (gABI, "Note
// Section").
constexpr char kOwner[] = "gpu-images";
constexpr std::uint32_t kType = 1;
constexpr std::size_t kWord = 4;

void put(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const std::size_t begin = to.size();
  to.resize(begin + (bytes + kWord - 1) / kWord * kWord);
  std::memcpy(to.data() + begin, from, bytes);
}

}  // namespace

std::vector<std::byte> make_image_note(std::span<const ServedUnit> units, const std::string& toolkit,
                                       const std::string& ptx_isa) {
  std::string text = fmt::format("toolkit {}\nptx {}\n", toolkit, ptx_isa);
  for (const ServedUnit& unit : units) {
    text += unit.name + ":";
    for (const Target& target : unit.targets) text += fmt::format(" {}", target.str());
    text += '\n';
  }
  std::vector<std::byte> note;
  const std::uint32_t header[] = {sizeof kOwner, static_cast<std::uint32_t>(text.size()), kType};
  put(note, header, sizeof header);
  put(note, kOwner, sizeof kOwner);
  put(note, text.data(), text.size());
  return note;
}

}  // namespace flashfit
