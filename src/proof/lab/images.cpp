#include "proof/lab/images.hpp"

#include <fmt/format.h>

#include <utility>

#include "runtime/images/blob.hpp"

namespace flashfit::lab {

Result<KernelImage> find_kernel_image(std::span<const std::byte> blob, const std::string& name, ComputeCapability gpu) {
  const Result<BlobIndex> index = read_blob(blob);
  if (!index) return tl::unexpected(index.error());
  const auto rank = [](const BlobEntry& e) { return std::pair(e.target.kind == Target::Kind::kSass, e.target.cc); };
  const BlobEntry* best = nullptr;
  std::string has;
  for (const BlobEntry& e : index->entries) {
    if (e.kernel != name) continue;
    has += (has.empty() ? "" : ", ") + e.target.str();
    if (runs_on(e.target, gpu) && (best == nullptr || rank(*best) < rank(e))) best = &e;
  }
  if (best == nullptr)
    return fail(Code::kMisfit, fmt::format("no image of {} runs on compute capability {}; there are {}", name,
                                           gpu.str(), has.empty() ? "none at all" : has));
  Result<std::vector<std::byte>> bytes = unpack_image(blob, *index, *best);
  if (!bytes) return tl::unexpected(bytes.error());
  return KernelImage{name, best->entry, best->target, std::move(*bytes)};
}

}  // namespace flashfit::lab
