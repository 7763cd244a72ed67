#include "doctor/bytes/spool.hpp"

#include "doctor/bytes/unnamed_file.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kMostInMemory = std::uint64_t{32} << 20, kMostOnDisk = std::uint64_t{4} << 30;

}  // namespace

Result<Spool> Spool::make(const Content& content) {
  if (content.size() > kMostOnDisk) return beyond("static archive in an archive", kMostOnDisk, 0);
  Spool spool;
  std::unique_ptr<UnnamedFile> file;
  if (content.size() > kMostInMemory) {
    auto made = UnnamedFile::make();
    if (!made) return tl::unexpected(made.error());
    file = std::move(*made);
  }
  const auto passed = content.read_through([&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
    if (file == nullptr) {
      spool.bytes_.insert(spool.bytes_.end(), chunk.begin(), chunk.end());
    } else if (auto put = file->append(chunk); !put) {
      return tl::unexpected(put.error());
    }
    return at + chunk.size();
  });
  if (!passed) return tl::unexpected(passed.error());
  if (file == nullptr)
    spool.source_ = std::make_unique<MemorySource>(spool.bytes_);
  else
    spool.source_ = std::move(file);
  return spool;
}

}  // namespace flashfit::doctor
