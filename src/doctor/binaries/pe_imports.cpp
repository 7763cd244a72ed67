#include "doctor/binaries/pe_imports.hpp"

#include <algorithm>
#include <array>

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kMostLibraries = 4096, kMostFunctions = 1 << 18, kMostText = std::uint64_t{16} << 20;
constexpr std::uint64_t kByOrdinal = std::uint64_t{1} << 63;
/// Mangled C++ names reach a few kilobytes.
constexpr std::size_t kLongestName = 4096;

class ImportReader {
 public:
  ImportReader(const Source& source, const std::vector<PeSection>& sections) : source_(source), sections_(sections) {}

  /// A table of descriptors of `words` 32-bit fields; the fields' places hold the library's name and the table of its
  /// functions' names.
  Result<void> read_table(std::uint32_t address, std::size_t words, std::size_t name_at, std::size_t functions_at,
                          bool delayed) {
    for (std::uint64_t at = address;; at += 4 * words) {
      std::array<std::byte, 32> raw{};
      if (!read(at, std::span(raw).first(4 * words))) return malformed("PE import table", at);
      const auto field = [&](std::size_t i) { return Reader(raw, 4 * i).u32(); };
      if (field(name_at) == 0) return {};
      PeImport import{.library = {}, .functions = {}, .delayed = delayed};
      auto library = text(field(name_at));
      if (!library) return tl::unexpected(library.error());
      import.library = std::move(*library);
      // Old linkers leave the table of names out and use that of addresses, the fifth field, which holds the same.
      std::uint32_t functions = field(functions_at);
      if (!delayed && functions == 0) functions = field(4);
      if (auto read = read_functions(functions, import); !read) return read;
      if (imports_.size() == kMostLibraries) return beyond("number of imported libraries", kMostLibraries, at);
      imports_.push_back(std::move(import));
    }
  }

  std::vector<PeImport> take() { return std::move(imports_); }

 private:
  /// Fills `into` with the bytes that lie at an address of the image.
  bool read(std::uint64_t address, std::span<std::byte> into) const {
    const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const PeSection& s) {
      return address >= s.address && within(address - s.address, into.size(), s.size);
    });
    return found != sections_.end() && source_.read(found->offset + (address - found->address), into);
  }

  Result<std::string> text(std::uint64_t address) {
    std::string text;
    for (std::array<std::byte, 64> chunk{}; text.size() < kLongestName;) {
      // Up to the section's end, which may come before the chunk's.
      std::size_t size = chunk.size();
      while (size > 0 && !read(address + text.size(), std::span(chunk).first(size))) size /= 2;
      if (size == 0) return malformed("name of a PE import", address);
      const std::string_view read = as_text(std::span(chunk).first(size));
      const std::size_t end = read.find('\0');
      text += read.substr(0, end);
      text_bytes_ += read.size();
      if (text_bytes_ > kMostText) return beyond("length of the PE imports' names", kMostText, address);
      if (end != std::string_view::npos) return text;
    }
    return beyond("length of the name of a PE import", kLongestName, address);
  }

  Result<void> read_functions(std::uint64_t address, PeImport& import) {
    for (;; address += 8) {
      std::array<std::byte, 8> raw{};
      if (!read(address, raw)) return malformed("functions of a PE import", address);
      const std::uint64_t entry = Reader(raw).u64();
      if (entry == 0) return {};
      if (++functions_ > kMostFunctions) return beyond("number of imported functions", kMostFunctions, address);
      if ((entry & kByOrdinal) != 0) {
        import.functions.push_back(fmt::format("#{}", entry & 0xffff));
        continue;
      }
      auto name = text((entry & 0x7fffffff) + 2);  // after a hint
      if (!name) return tl::unexpected(name.error());
      import.functions.push_back(std::move(*name));
    }
  }

  const Source& source_;
  const std::vector<PeSection>& sections_;
  std::vector<PeImport> imports_;
  std::uint64_t functions_ = 0, text_bytes_ = 0;
};

}  // namespace

Result<std::vector<PeImport>> read_pe_imports(const Source& source, const std::vector<PeSection>& sections,
                                              const PeDirectories& directories) {
  ImportReader reader(source, sections);
  // {names, time, forwarder, library, addresses} and {attributes, library, module, addresses, names, bound, unload,
  // time}.
  if (directories.imports != 0)
    if (auto read = reader.read_table(directories.imports, 5, 3, 0, false); !read) return tl::unexpected(read.error());
  if (directories.delayed != 0)
    if (auto read = reader.read_table(directories.delayed, 8, 1, 4, true); !read) return tl::unexpected(read.error());
  return reader.take();
}

}  // namespace flashfit::doctor
