#include "proof/lab/ptx.hpp"

#include <fmt/format.h>

#include <string_view>

#include "proof/ptx/parser.hpp"
#include "runtime/images/blob.hpp"

namespace flashfit::lab {

Result<std::unique_ptr<ptx::Program>> kernel_ptx(std::span<const std::byte> blob, const std::string& name) {
  const Result<BlobIndex> index = read_blob(blob);
  if (!index) return tl::unexpected(index.error());
  const BlobEntry* newest = nullptr;
  std::string has;
  for (const BlobEntry& e : index->entries) {
    if (e.kernel != name) continue;
    has += (has.empty() ? "" : ", ") + e.target.str();
    if (e.target.kind == Target::Kind::kPtx && (newest == nullptr || newest->target.cc < e.target.cc)) newest = &e;
  }
  if (newest == nullptr)
    return fail(Code::kMisfit, fmt::format("no PTX of {}; there are {}: a target such as 8.0+PTX makes some", name,
                                           has.empty() ? "no images at all" : has));
  const Result<std::vector<std::byte>> bytes = unpack_image(blob, *index, *newest);
  if (!bytes) return tl::unexpected(bytes.error());
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  text = text.substr(0, text.find('\0'));
  const Result<ptx::Module> module = ptx::parse(name + ".ptx", text);
  if (!module) return tl::unexpected(module.error());
  return ptx::decode(*module, newest->entry);
}

}  // namespace flashfit::lab
