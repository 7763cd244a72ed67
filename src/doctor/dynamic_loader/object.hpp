#pragma once
// What the loader looks at in an ELF file before anything of it runs.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/binaries/elf_dynamic.hpp"

namespace flashfit::doctor::dynamic_loader {

/// What the loader makes of a file that a search came upon.
enum class Usable : std::uint8_t {
  kYes,
  kPassedOver,  ///< of another class or machine, or not to be opened: the search goes on
  kBroken,      ///< the search ends here, and loading fails: "invalid ELF header", "file too short"
};

struct VersionWanted {
  std::string library, version;  ///< "libstdc++.so.6", "GLIBCXX_3.4.30"
  bool weak = false;             ///< its absence is no error
};

/// A symbol that must come with a version that is no C or C++ runtime's: those keep what a version once had, NVIDIA's
/// libraries add to theirs from release to release.
struct SymbolWanted {
  std::string library, symbol;  ///< "libnvJitLink.so.12", "__nvJitLinkComplete_12_4"
};

struct Object {
  Usable usable = Usable::kYes;
  std::string why;  ///< of what is not usable: the loader's own words; of kYes: what this reader could not read, or ""
  doctor::ElfType type = doctor::ElfType::kShared;
  std::string interpreter;  ///< of a program: "/lib64/ld-linux-x86-64.so.2"
  doctor::ElfDynamic dynamic;
  bool executable_stack = false;
  std::uint64_t tls_size = 0, tls_alignment = 1;  ///< bytes of thread-local variables; 0: none
  std::vector<std::string> versions;              ///< that it defines; none: it answers for every version
  std::vector<VersionWanted> wanted;
  std::vector<SymbolWanted> symbols_wanted;  ///< neither weak ones nor those of GLIBC, GLIBCXX, CXXABI and GCC
  std::vector<std::string> symbols;          ///< that it defines with a version of its own outside of those, sorted
};

// Its members in one order, for caches of files (doctor/facts/facts_codec.hpp).
template <class V>
void visit(V& v, VersionWanted& w) {
  v(w.library, w.version, w.weak);
}
template <class V>
void visit(V& v, SymbolWanted& w) {
  v(w.library, w.symbol);
}
template <class V>
void visit(V& v, Object& o) {
  v(o.usable, o.why, o.type, o.interpreter, o.dynamic, o.executable_stack, o.tls_size, o.tls_alignment, o.versions,
    o.wanted, o.symbols_wanted, o.symbols);
}

/// The ELF machine of "x86_64" and "aarch64"; 0 for another.
std::uint16_t elf_machine(std::string_view machine);

/// Never fails: see Object::usable.
Object read_object(const doctor::Source& source, std::uint16_t machine);

}  // namespace flashfit::doctor::dynamic_loader
