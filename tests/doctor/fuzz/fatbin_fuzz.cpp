// Any bytes as fat binaries: what is found in small chunks is what is found at once, and lies in the bytes.
#include <cstdlib>

#include "doctor/gpu_code/fatbin_payload.hpp"
#include "doctor/gpu_code/fatbin_scanner.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

namespace {

using namespace flashfit::doctor;

flashfit::Result<std::vector<FatbinContainer>> search(Bytes bytes, std::size_t chunk) {
  FatbinScanner scanner(0, bytes.size(), FatbinScanner::Mode::kSearch);
  for (std::size_t at = 0; at < bytes.size(); at += chunk)
    if (auto fed = scanner.feed(at, bytes.subspan(at, std::min(chunk, bytes.size() - at))); !fed)
      return tl::unexpected(fed.error());
  return scanner.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  const MemorySource source(bytes);
  const auto section = read_fatbins(source, 0, size);
  const auto whole = search(bytes, size + 1), parts = search(bytes, 1 + size % 61);
  // A search takes what contradicts itself for no container: it cannot fail.
  if (!whole || !parts || whole->size() != parts->size()) std::abort();
  if (section && section->size() != whole->size()) std::abort();
  for (std::size_t i = 0; i < whole->size(); ++i) {
    const FatbinContainer &a = (*whole)[i], &b = (*parts)[i];
    if (a.offset != b.offset || a.entries.size() != b.entries.size()) std::abort();
    if (!within(a.offset, a.size, size)) std::abort();
    for (const FatbinEntry& entry : a.entries) {
      if (!within(entry.offset, entry.size, a.offset + a.size)) std::abort();
      const auto image = read_image(source, entry, 1 << 20);
      if (image && entry.compressed != 0 && image->size() != entry.uncompressed) std::abort();
    }
  }
  return 0;
}
