#include "doctor/bytes/content.hpp"

#include <algorithm>

#include "doctor/bytes/zip_member.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;

}  // namespace

Result<void> SourceContent::read_through(const Visit& visit) const {
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, size())));
  for (std::uint64_t at = 0; at < size();) {
    const auto chunk = std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, size() - at)));
    if (!source_.read(at, chunk)) return malformed("file cut short while it was read", at);
    const auto wanted = visit(at, chunk);
    if (!wanted) return tl::unexpected(wanted.error());
    at = std::max(at + chunk.size(), *wanted);
  }
  return {};
}

Result<std::vector<std::byte>> SourceContent::head(std::size_t size) const {
  return read_part(source_, 0, std::min<std::uint64_t>(size, source_.size()), size, "head");
}

Result<void> MemberContent::read_through(const Visit& visit) const {
  auto reader = ZipMemberReader::open(zip_, member_);
  if (!reader) return tl::unexpected(reader.error());
  for (std::uint64_t at = 0;;) {
    const auto chunk = reader->next();
    if (!chunk) return tl::unexpected(chunk.error());
    if (chunk->empty()) return {};
    const auto wanted = visit(at, *chunk);
    if (!wanted) return tl::unexpected(wanted.error());
    at += chunk->size();
    // The end itself is read for the sake of the checks.
    if (*wanted >= size() && at < size()) return {};
  }
}

Result<std::vector<std::byte>> MemberContent::head(std::size_t size) const {
  const auto first = [&] {
    return std::vector<std::byte>(head_.begin(),
                                  head_.begin() + static_cast<std::ptrdiff_t>(std::min(size, head_.size())));
  };
  if (head_.size() >= std::min<std::uint64_t>(size, this->size())) return first();
  auto reader = ZipMemberReader::open(zip_, member_, size);
  if (!reader) return tl::unexpected(reader.error());
  const auto chunk = reader->next();
  if (!chunk) return tl::unexpected(chunk.error());
  head_.assign(chunk->begin(), chunk->end());
  return first();
}

}  // namespace flashfit::doctor
