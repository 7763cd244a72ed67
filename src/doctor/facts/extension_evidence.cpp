#include <algorithm>
#include <bit>

#include "core/base/ascii.hpp"
#include "doctor/binaries/elf_notes.hpp"
#include "doctor/binaries/elf_symbols.hpp"
#include "doctor/facts/all_collectors.hpp"
#include "doctor/knowledge/torch_libraries.hpp"

namespace flashfit::doctor {
namespace {

// libtorch_python, which is not looked at, needs some 4,000 names; extensions have hundreds.
constexpr std::size_t kMostNames = 50'000, kMostNameBytes = std::size_t{16} << 20;
constexpr std::uint64_t kMostNoteBytes = 1 << 16;

bool is_python_symbol(std::string_view name) { return name.starts_with("Py") || name.starts_with("_Py"); }

/// PyTorch's own libraries need and define tens of thousands of its names, which says nothing of any fit. By the place,
/// or by the name that a library goes by: its soname, which collect_elf_needs has read, or the file's.
bool is_torch_itself(const Binary& binary) {
  const std::size_t slash = binary.path.rfind('/');
  const std::string_view folder = std::string_view(binary.path).substr(0, slash == std::string::npos ? 0 : slash);
  return folder == "torch/lib" || folder.ends_with("/torch/lib") || is_torch_library(binary.soname) ||
         is_torch_library(binary.path.substr(slash + 1));
}

bool needs_torch(const Binary& binary) {
  return std::any_of(binary.needed.begin(), binary.needed.end(), [](const auto& one) { return is_torch_library(one); });
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
    cxx |= is_torch_symbol(name) || is_torch_python_symbol(name);
    old_strings += abi == TorchAbi::kPreCxx11 ? 1 : 0;
    new_strings += abi == TorchAbi::kCxx11 ? 1 : 0;
  }
  if (old_strings + new_strings > 0) return new_strings >= old_strings ? TorchAbi::kCxx11 : TorchAbi::kPreCxx11;
  if (cxx) return TorchAbi::kEither;
  return facts.torch.empty() ? TorchAbi::kNone : TorchAbi::kStable;
}

Result<void> read_symbols(const Source& source, const Elf& elf, Binary& binary) {
  const auto symbols = read_elf_symbols(source, elf, kSectionDynamicSymbols);
  if (!symbols) return tl::unexpected(symbols.error());
  constexpr std::uint8_t kGlobal = 1;
  ExtensionFacts& facts = binary.extension;
  const bool of_torch = is_torch_itself(binary), on_torch = needs_torch(binary);
  Names names;
  bool room = true;
  for (const ElfSymbol& symbol : symbols->list) {
    // C functions of a family that is not known yet are PyTorch's where its libraries are asked for; so are THP's.
    const bool of_torchs =
        !of_torch && (is_torch_symbol(symbol.name) || is_stable_torch_symbol(symbol.name) ||
                      (on_torch && (symbol.name.starts_with("torch_") || is_torch_python_symbol(symbol.name))));
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
  if (auto read = read_symbols(source, elf, binary); !read) return read;
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

}  // namespace flashfit::doctor
