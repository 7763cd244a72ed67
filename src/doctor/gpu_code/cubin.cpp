#include "doctor/gpu_code/cubin.hpp"

#include <algorithm>
#include <unordered_map>

#include "doctor/binaries/elf_symbols.hpp"
#include "doctor/gpu_code/cubin_target.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint8_t kEntryPoint = 0x10;  // of st_other
constexpr std::uint64_t kMostKernels = 1 << 16, kMostInfoBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostNames = std::uint64_t{32} << 20;

/// Forms of .nv.info's records: only a sized one has a content behind its four bytes.
constexpr std::uint8_t kSized = 4;
/// Attributes, by the names that cuobjdump and nvdisasm print (EIATTR_...).
enum : std::uint8_t { kMaxThreads = 0x05, kRequiredThreads = 0x10, kFrameSize = 0x11, kRegisterCount = 0x2f };

/// Calls f(attribute, content) for each sized record.
template <class F>
Result<void> each_record(Bytes info, std::uint64_t offset, F f) {
  for (Reader reader(info); reader.left() > 0;) {
    const std::uint64_t at = reader.at();
    const std::uint8_t form = reader.u8(), attribute = reader.u8();
    const std::uint16_t size = reader.u16();  // or the value
    const Bytes content = form == kSized ? reader.take(size) : Bytes();
    if (!reader.ok()) return malformed("record of .nv.info", offset + at);
    if (form == kSized) f(attribute, content);
  }
  return {};
}

/// Kernels by the index of their symbol and of their code's section.
struct Index {
  std::unordered_map<std::uint32_t, std::size_t> symbols, sections;

  static CubinKernel* find(const std::unordered_map<std::uint32_t, std::size_t>& in, std::uint32_t key, Cubin& cubin) {
    const auto found = in.find(key);
    return found == in.end() ? nullptr : &cubin.kernels[found->second];
  }
};

Result<Index> read_kernels(const Source& source, const Elf& elf, Cubin& cubin) {
  const auto symbols = read_elf_symbols(source, elf, kSectionSymbols);
  if (!symbols) return tl::unexpected(symbols.error());
  Index index;
  std::uint64_t names = 0;
  for (std::size_t i = 0; i < symbols->list.size(); ++i) {
    const ElfSymbol& symbol = symbols->list[i];
    if (!symbol.function() || !symbol.defined() || (symbol.other & kEntryPoint) == 0) continue;
    names += symbol.name.size();
    if (cubin.kernels.size() == kMostKernels) return beyond("number of kernels", kMostKernels, 0);
    if (names > kMostNames) return beyond("length of kernels' names", kMostNames, 0);
    index.symbols.emplace(static_cast<std::uint32_t>(i), cubin.kernels.size());
    index.sections.emplace(symbol.section, cubin.kernels.size());
    cubin.kernels.push_back({.name = std::string(symbol.name)});
  }
  return index;
}

/// .nv.info: records of all kernels, each with the index of its symbol.
Result<void> read_common_info(Bytes info, std::uint64_t offset, const Index& index, Cubin& cubin) {
  return each_record(info, offset, [&](std::uint8_t attribute, Bytes content) {
    if (attribute != kRegisterCount && attribute != kFrameSize) return;
    Reader reader(content);
    CubinKernel* const kernel = Index::find(index.symbols, reader.u32(), cubin);
    const std::uint32_t value = reader.u32();
    if (kernel == nullptr || !reader.ok()) return;
    if (attribute == kRegisterCount) kernel->registers = static_cast<int>(std::min<std::uint32_t>(value, 0xffff));
    if (attribute == kFrameSize) kernel->stack_bytes = value;
  });
}

/// .nv.info.KERNEL: records of that one.
Result<void> read_kernel_info(Bytes info, std::uint64_t offset, CubinKernel& kernel) {
  return each_record(info, offset, [&](std::uint8_t attribute, Bytes content) {
    if (attribute != kMaxThreads && attribute != kRequiredThreads) return;
    Reader reader(content);
    const std::uint64_t x = reader.u32(), y = reader.u32(), z = reader.u32();
    constexpr std::uint64_t kMost = 1 << 20;
    // Each at most 1024, by any GPU's limit: a larger one is no number of threads.
    if (!reader.ok() || x > kMost || y > kMost || z > kMost || x * y * z > kMost) return;
    kernel.max_threads = static_cast<int>(x * y * z);
    kernel.exact_threads = attribute == kRequiredThreads;
  });
}

}  // namespace

Result<Cubin> read_cubin(const Source& source, const Elf& elf) {
  if (!is_cubin(elf)) return malformed("machine of a cubin", 18);
  Cubin cubin;
  if (auto read = read_cubin_target(source, elf, cubin); !read) return tl::unexpected(read.error());
  const auto index = read_kernels(source, elf, cubin);
  if (!index) return tl::unexpected(index.error());
  std::uint64_t info_bytes = 0;
  for (const ElfSection& section : elf.sections) {
    const bool common = section.name == ".nv.info";
    // Sections of one kernel name its code's section.
    CubinKernel* const kernel = Index::find(index->sections, section.info, cubin);
    if (kernel != nullptr && section.name.starts_with(".nv.shared.")) kernel->static_shared_bytes = section.size;
    if (!common && (kernel == nullptr || !section.name.starts_with(".nv.info."))) continue;
    info_bytes += section.size;
    if (info_bytes > kMostInfoBytes) return beyond("size of .nv.info", kMostInfoBytes, section.offset);
    const auto info = read_section(source, section, kMostInfoBytes);
    if (!info) return tl::unexpected(info.error());
    const auto read = common ? read_common_info(*info, section.offset, *index, cubin)
                             : read_kernel_info(*info, section.offset, *kernel);
    if (!read) return tl::unexpected(read.error());
  }
  return cubin;
}

}  // namespace flashfit::doctor
