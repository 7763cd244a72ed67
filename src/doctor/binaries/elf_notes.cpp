#include "doctor/binaries/elf_notes.hpp"

namespace flashfit::doctor {

Result<std::vector<ElfNote>> read_elf_notes(Bytes section, std::uint64_t offset) {
  const auto padding = [](std::uint64_t size) { return (4 - size % 4) % 4; };
  std::vector<ElfNote> notes;
  for (Reader reader(section); reader.left() > 0;) {
    const std::uint64_t at = reader.at();
    const std::uint32_t owner = reader.u32(), content = reader.u32();
    ElfNote note;
    note.type = reader.u32();
    note.owner = as_text(reader.take(owner));
    while (!note.owner.empty() && note.owner.back() == '\0') note.owner.remove_suffix(1);
    reader.skip(padding(owner));
    note.content = reader.take(content);
    if (!reader.ok()) return malformed("note", offset + at);
    if (reader.left() > 0) reader.skip(padding(content));
    if (!reader.ok()) return malformed("note", offset + at);
    notes.push_back(note);
  }
  return notes;
}

}  // namespace flashfit::doctor
