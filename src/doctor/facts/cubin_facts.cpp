#include "doctor/facts/cubin_facts.hpp"

#include <algorithm>

#include "doctor/gpu_code/cubin.hpp"

namespace flashfit::doctor {
namespace {

void add_cubin(Binary& binary, const Cubin& cubin, std::uint64_t offset, std::uint64_t size, bool bare) {
  const CudaVersion toolkit = cubin.toolkit();
  Container container{.offset = offset, .usual_section = !bare, .image = offset, .image_size = size};
  container.entries.push_back({.kind = CodeEntry::Kind::kSass, .target = cubin.target, .toolkit = toolkit});
  binary.containers.push_back(std::move(container));
  if (binary.toolkit == 0) binary.toolkit = toolkit;
}

}  // namespace

void fill_cubin(const Source& source, const Elf& elf, Binary& binary) {
  binary.kind = BinaryKind::kCubin;
  const auto cubin = read_cubin(source, elf);
  if (!cubin) {
    binary.error = cubin.error().message;
    return;
  }
  add_cubin(binary, *cubin, 0, source.size(), false);
  for (const CubinKernel& k : cubin->kernels)
    binary.kernels.push_back(
        {k.name, k.registers, k.stack_bytes, k.static_shared_bytes, k.max_threads, k.exact_threads});
}

void add_bare_cubins(const ProgramBytes& bytes, const std::vector<GpuSection>& sections, Binary& binary) {
  for (const BareCubin& bare : bytes.found().cubins) {
    const bool in_section = std::any_of(sections.begin(), sections.end(), [&](const GpuSection& s) {
      return bare.offset >= s.offset && bare.offset - s.offset < s.size;
    });
    if (in_section) continue;
    const PartSource source(bytes.source(), bare.offset, bare.size);
    const auto elf = read_elf(source);
    const auto cubin = elf ? read_cubin(source, *elf) : tl::unexpected(elf.error());
    if (cubin) {
      add_cubin(binary, *cubin, bare.offset, bare.size, true);
    } else {
      ++binary.doubtful;
    }
  }
}

}  // namespace flashfit::doctor
