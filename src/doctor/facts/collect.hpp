#pragma once
// From bytes to facts. A collector reads one kind of evidence from a library into a Binary; each lives in a file of its
// own, *_evidence.cpp, and stands in the list of collect.cpp.
#include <span>

#include "doctor/binaries/elf.hpp"
#include "doctor/binaries/pe.hpp"
#include "doctor/bytes/source.hpp"
#include "doctor/facts/facts.hpp"

namespace flashfit::doctor {

/// `source` may be a member of an archive of which only some parts are in memory: a read of others fails, the part is
/// noted, and the collectors run anew, on an empty Binary, once it is there. So read what is needed and little else (a
/// new part costs a pass over the member), and return the reader's error as it is.
using ElfCollector = Result<void> (*)(const Source& source, const Elf& elf, Binary& binary);
using PeCollector = Result<void> (*)(const Source& source, const Pe& pe, Binary& binary);

std::span<const ElfCollector> elf_collectors();
std::span<const PeCollector> pe_collectors();

}  // namespace flashfit::doctor
