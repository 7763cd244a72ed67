#pragma once
// What the readers found in a target. It is the same whatever is asked of the target: no GPU, driver or Python has a
// part in it, so that it can be kept in the cache. Collectors fill it (collect.hpp), checks judge it (checks.hpp).
#include <cstdint>
#include <string>
#include <vector>

#include "doctor/facts/extension_facts.hpp"
#include "doctor/gpu_code/code_entry.hpp"

namespace flashfit::doctor {

/// One container of a fat binary: one compiled source. A kernel runs only if its own container has a usable image. A
/// loose cubin or PTX file is a container of one entry.
struct Container {
  std::uint64_t offset = 0;                 ///< in the binary
  std::vector<CodeEntry> entries;           ///< what a driver can load: machine code and PTX
  std::uint32_t unread = 0;                 ///< entries of other kinds: LTO, Mercury, NVIDIA's oldest cubins
  bool usual_section = true;                ///< false: found by search alone, outside .nv_fatbin and __nv_relfatbin
  bool relocatable = false;                 ///< from __nv_relfatbin (-rdc): the driver must link it
  std::uint64_t image = 0, image_size = 0;  ///< in the binary: the entry, with its header, to read kernel names from
  std::vector<std::string> kernels = {};    ///< mangled names; read only where a container lacks an image
};

/// Versions that a library asks another for: {"libc.so.6", "GLIBC_2.34", {"pthread_create"}}.
struct VersionNeed {
  std::string library, version;
  std::vector<std::string> symbols;  ///< the first few that need it
};

/// One kernel of a loose cubin.
struct KernelFacts {
  std::string name;            ///< mangled
  int registers = 0;           ///< of a thread; 0: not said
  std::uint64_t stack = 0;     ///< bytes of a thread
  std::uint64_t shared = 0;    ///< static bytes of a block
  int max_threads = 0;         ///< of a block; 0: not said
  bool exact_threads = false;  ///< a block must have just these
};

enum class BinaryKind : std::uint8_t { kElf, kObject, kPe, kMachO, kCubin, kFatbin, kPtx };
/// "elf", "object", "pe", "mach-o", "cubin", "fatbin", "ptx".
const char* name_of(BinaryKind kind);

/// One library, object, cubin, fat binary or PTX text.
struct Binary {
  std::string path;  ///< the member's name; "" for the target itself; "lib.a!x.o" within an archive
  BinaryKind kind = BinaryKind::kElf;
  std::uint64_t size = 0;
  std::string archive;               ///< path of the static archive that it lies in
  std::uint64_t archive_offset = 0;  ///< where, in that archive; 0: it lies in none
  std::string machine;               ///< of the host's code: "x86_64", "aarch64"; "" for GPU code alone
  bool windows = false;
  CudaVersion compiler =
      0;              ///< of a compiler of GPU code (gpu_compiler.hpp): the CUDA that it is of; 0: unknown, or none
  std::string error;  ///< "malformed: WHAT at OFFSET"; what was read before it stands
  // GPU code
  std::vector<Container> containers;
  CudaVersion toolkit = 0;     ///< that made the GPU code; 0: unknown
  std::uint64_t doubtful = 0;  ///< what looked like GPU code and was none
  int cudart = 0;              ///< major version of the CUDA runtime linked into it: LinkedCudart::major()
  std::vector<KernelFacts> kernels;
  // what it asks of the system
  std::vector<std::string> needed;  ///< DT_NEEDED, or the DLLs of the import table
  std::string soname, rpath, runpath;
  bool executable_stack = false, static_tls = false;
  std::vector<VersionNeed> versions;
  ExtensionFacts extension;
  // evidence of src/doctor/facts/*_evidence.cpp: add fields here and to visit() below
};

enum class TargetKind : std::uint8_t {
  kWheel,
  kSdist,
  kLibrary,  ///< .so, .pyd, .dll, a program
  kObject,
  kArchive,  ///< static library
  kCubin,
  kFatbin,
  kPtx,
  kDirectory,
  kName,          ///< a wheel's file name without the file
  kDistribution,  ///< an installed package: its files among others of an environment
  kOther,
};
/// "wheel", "sdist", "library", "object", "archive", "cubin", "fatbin", "ptx", "directory", "name", "distribution",
/// "other".
const char* name_of(TargetKind kind);

struct Target {
  std::string target;     ///< as the user named it
  std::string file_name;  ///< without folders
  TargetKind kind = TargetKind::kOther;
  std::string metadata, wheel_file;     ///< texts of METADATA (its headers) and WHEEL; "" if there is none
  std::vector<std::string> dist_infos;  ///< names of a wheel's folders that end in .dist-info: installers want one
  std::vector<std::string> refusals;    ///< what else of a wheel's members makes installers refuse it, printable
  std::vector<std::string> errors;  ///< what could not be read: "malformed: WHAT at OFFSET", "cannot be opened: WHY"
  std::vector<Binary> binaries;
  std::uint64_t files = 0;  ///< files or members looked at
  // of a source distribution; cuda_sources of a wheel, too: what it compiles when it runs
  std::vector<std::string> build_requires;  ///< [build-system] requires of pyproject.toml
  std::uint64_t cuda_sources = 0, cpp_sources = 0;
  std::uint64_t compiled = 0;  ///< files of a source distribution that by their names are compiled already
  std::string first_compiled;
  bool uses_torch = false;  ///< setup.py names torch.utils.cpp_extension
};

// The members in one order, for the cache: visit(v, x) calls v(member, ...).
template <class V>
void visit(V& v, GpuTarget& t) {
  v(t.architecture, t.scope);
}
template <class V>
void visit(V& v, CodeEntry& e) {
  v(e.kind, e.target, e.ptx_isa, e.toolkit, e.zstd, e.relocatable);
}
template <class V>
void visit(V& v, Container& c) {
  v(c.offset, c.entries, c.unread, c.usual_section, c.relocatable, c.image, c.image_size, c.kernels);
}
template <class V>
void visit(V& v, VersionNeed& n) {
  v(n.library, n.version, n.symbols);
}
template <class V>
void visit(V& v, KernelFacts& k) {
  v(k.name, k.registers, k.stack, k.shared, k.max_threads, k.exact_threads);
}
template <class V>
void visit(V& v, Binary& b) {
  v(b.path, b.kind, b.size, b.archive, b.archive_offset, b.machine, b.windows, b.compiler, b.error, b.containers,
    b.toolkit, b.doubtful, b.cudart, b.kernels, b.needed, b.soname, b.rpath, b.runpath, b.executable_stack,
    b.static_tls, b.versions, b.extension);
}
template <class V>
void visit(V& v, Target& t) {
  v(t.file_name, t.kind, t.metadata, t.wheel_file, t.dist_infos, t.refusals, t.errors, t.binaries, t.files,
    t.build_requires, t.cuda_sources, t.cpp_sources, t.compiled, t.first_compiled, t.uses_torch);
}

}  // namespace flashfit::doctor
