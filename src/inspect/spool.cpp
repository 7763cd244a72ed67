#include "inspect/spool.hpp"

#include <cstdio>

namespace flashfit::inspect {
namespace {

constexpr std::uint64_t kMostInMemory = std::uint64_t{32} << 20, kMostOnDisk = std::uint64_t{4} << 30;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

/// The file has no name and ends with this object.
class TemporarySource final : public Source {
 public:
  TemporarySource(File file, std::uint64_t size) : file_(std::move(file)), size_(size) {}
  std::uint64_t size() const override { return size_; }
  bool read(std::uint64_t at, std::span<std::byte> into) const override {
    return within(at, into.size(), size_) && std::fseek(file_.get(), static_cast<long>(at), SEEK_SET) == 0 &&
           std::fread(into.data(), 1, into.size(), file_.get()) == into.size();
  }

 private:
  File file_;
  std::uint64_t size_;
};

}  // namespace

Result<Spool> Spool::make(const Content& content) {
  Spool spool;
  const bool small = content.size() <= kMostInMemory;
  File file(small ? nullptr : std::tmpfile());
  if (content.size() > kMostOnDisk) return beyond("static archive in an archive", kMostOnDisk, 0);
  if (!small && !file) return fail(Code::kInternal, "no temporary file can be made");
  const auto passed = content.read_through([&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
    if (small) {
      spool.bytes_.insert(spool.bytes_.end(), chunk.begin(), chunk.end());
    } else if (std::fwrite(chunk.data(), 1, chunk.size(), file.get()) != chunk.size()) {
      return fail(Code::kInternal, "the folder for temporary files is full");
    }
    return at + chunk.size();
  });
  if (!passed) return tl::unexpected(passed.error());
  if (small) {
    spool.source_ = std::make_unique<MemorySource>(spool.bytes_);
  } else {
    spool.source_ = std::make_unique<TemporarySource>(std::move(file), content.size());
  }
  return spool;
}

}  // namespace flashfit::inspect
