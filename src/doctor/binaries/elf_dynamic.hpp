#pragma once
// What a shared library asks of the loader: other libraries and where to look for them, as the loader itself reads it
// (by program headers; sections may be absent or lie).
#include <string>
#include <vector>

#include "doctor/binaries/elf.hpp"

namespace flashfit::doctor {

struct ElfDynamic {
  std::vector<std::string> needed;  ///< DT_NEEDED, in order
  std::string soname, rpath, runpath;
  bool text_relocations = false;    ///< DT_TEXTREL
  bool static_tls = false;          ///< DF_STATIC_TLS: may not fit when opened late
  bool no_default_folders = false;  ///< DF_1_NODEFLIB: its needs are not looked for in the system's folders
};
template <class V>
void visit(V& v, ElfDynamic& d) {
  v(d.needed, d.soname, d.rpath, d.runpath, d.text_relocations, d.static_tls, d.no_default_folders);
}

/// Empty for files without a dynamic segment. Errors: malformed; more than 65,536 entries; 64 MB of texts.
Result<ElfDynamic> read_elf_dynamic(const Source& source, const Elf& elf);

}  // namespace flashfit::doctor
