#include <algorithm>
#include <bit>

#include "inspect/all_collectors.hpp"
#include "inspect/ascii.hpp"
#include "inspect/elf_notes.hpp"
#include "inspect/elf_symbols.hpp"

namespace flashfit::inspect {
namespace {

// libtorch_python, which is not looked at, needs some 4,000 names; extensions have hundreds.
constexpr std::size_t kMostNames = 50'000, kMostNameBytes = std::size_t{16} << 20;
constexpr std::uint64_t kMostNoteBytes = 1 << 16;

bool is_python_symbol(std::string_view name) { return name.starts_with("Py") || name.starts_with("_Py"); }

/// PyTorch's own libraries need and define tens of thousands of its names, which says nothing of any fit.
bool is_torch_itself(const std::string& soname) {
  return soname.starts_with("libtorch") || soname.starts_with("libc10") || soname.starts_with("libcaffe2");
}

class Names {
 public:
  bool add(std::vector<std::string>& to, std::string_view name) {
    bytes_ += name.size();
    if (++count_ > kMostNames || bytes_ > kMostNameBytes) return false;
    to.emplace_back(name);
    return true;
  }

 private:
  std::size_t count_ = 0, bytes_ = 0;
};

TorchAbi torch_abi_of(const ExtensionFacts& facts) {
  std::size_t old_strings = 0, new_strings = 0;
  bool cxx = false;
  for (const std::string& name : facts.torch) {
    const TorchAbi abi = string_abi_of(name);
    cxx |= is_torch_symbol(name);
    old_strings += abi == TorchAbi::kPreCxx11 ? 1 : 0;
    new_strings += abi == TorchAbi::kCxx11 ? 1 : 0;
  }
  if (old_strings + new_strings > 0) return new_strings >= old_strings ? TorchAbi::kCxx11 : TorchAbi::kPreCxx11;
  if (cxx) return TorchAbi::kEither;
  return facts.torch.empty() ? TorchAbi::kNone : TorchAbi::kStable;
}

Result<void> read_symbols(const Source& source, const Elf& elf, bool of_torch, ExtensionFacts& facts) {
  const auto symbols = read_elf_symbols(source, elf, kSectionDynamicSymbols);
  if (!symbols) return tl::unexpected(symbols.error());
  constexpr std::uint8_t kGlobal = 1;
  Names names;
  bool room = true;
  for (const ElfSymbol& symbol : symbols->list) {
    const bool of_torchs = !of_torch && (is_torch_symbol(symbol.name) || is_stable_torch_symbol(symbol.name));
    if (symbol.defined()) {
      // Weak ones are inline functions that every user has a copy of.
      if (of_torchs && symbol.binding == kGlobal) room &= names.add(facts.torch_defined, symbol.name);
    } else if (is_python_symbol(symbol.name)) {
      room &= names.add(facts.python, symbol.name);
    } else if (of_torchs && !symbol.weak()) {
      room &= names.add(facts.torch, symbol.name);
    }
    if (!room) return beyond("number of symbols for Python and PyTorch", kMostNames, 0);
  }
  facts.torch_abi = torch_abi_of(facts);
  return {};
}

/// The highest level among the bits of GNU_PROPERTY_X86_ISA_1_NEEDED (x86-64 psABI, "Program Property").
Result<int> read_x86_level(const Source& source, const Elf& elf) {
  constexpr std::uint32_t kProperties = 5, kIsaNeeded = 0xc0008002;
  const ElfSection* const section = elf.find(".note.gnu.property");
  if (section == nullptr) return 0;
  const auto bytes = read_section(source, *section, kMostNoteBytes);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto notes = read_elf_notes(*bytes, section->offset);
  if (!notes) return tl::unexpected(notes.error());
  int level = 0;
  for (const ElfNote& note : *notes) {
    if (note.owner != "GNU" || note.type != kProperties) continue;
    for (Reader reader(note.content); reader.left() >= 8;) {
      const std::uint32_t type = reader.u32(), size = reader.u32();
      const Bytes data = reader.take(size);
      if (type == kIsaNeeded && size == 4)
        level = std::max(level, static_cast<int>(std::bit_width(Reader(data).u32() & 0xfU)));
      reader.skip((8 - size % 8) % 8);
    }
  }
  return level;
}

}  // namespace

Result<void> collect_elf_extension(const Source& source, const Elf& elf, Binary& binary) {
  // By the name that it goes by: the soname stands in the dynamic segment, which collect_elf_needs has read.
  const std::string file = binary.path.substr(binary.path.rfind('/') + 1);
  const bool of_torch = is_torch_itself(binary.soname) || is_torch_itself(file);
  if (auto read = read_symbols(source, elf, of_torch, binary.extension); !read) return read;
  const auto level = elf.machine == kMachineX86_64 ? read_x86_level(source, elf) : Result<int>(0);
  if (!level) return tl::unexpected(level.error());
  binary.extension.x86_level = *level;
  return {};
}

Result<void> collect_pe_extension(const Source&, const Pe& pe, Binary& binary) {
  Names names;
  for (const PeImport& import : pe.imports) {
    if (!lower(import.library).starts_with("python")) continue;
    for (const std::string& function : import.functions)
      if (is_python_symbol(function) && !names.add(binary.extension.python, function))
        return beyond("number of symbols for Python", kMostNames, 0);
  }
  return {};
}

}  // namespace flashfit::inspect
