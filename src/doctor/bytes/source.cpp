#include "doctor/bytes/source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace flashfit::doctor {

bool MemorySource::read(std::uint64_t at, std::span<std::byte> into) const {
  const auto from = part(bytes_, at, into.size());
  if (!from) return false;
  std::copy(from->begin(), from->end(), into.begin());
  return true;
}

bool read_at(int descriptor, std::uint64_t at, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = pread(descriptor, into.data(), into.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
  return true;
}

Result<FileSource> FileSource::open(const std::string& path) {
  // Not blocking: opening a pipe would wait for its other end.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // NOLINT(*-vararg)
  if (descriptor < 0) return fail(Code::kInvalidArgument, path + ": " + std::system_category().message(errno));
  struct stat status = {};
  const bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  constexpr std::uint64_t kBlock = 512;  // of st_blocks: stat(2)
  const std::uint64_t size = regular ? static_cast<std::uint64_t>(status.st_size) : 0;
  FileSource source(descriptor, size, std::min(size, static_cast<std::uint64_t>(status.st_blocks) * kBlock));
  if (!regular) return fail(Code::kInvalidArgument, path + ": not a regular file");
  return source;
}

FileSource::FileSource(FileSource&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_), stored_(other.stored_) {}

FileSource::~FileSource() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool FileSource::read(std::uint64_t at, std::span<std::byte> into) const {
  return within(at, into.size(), size_) && read_at(descriptor_, at, into);
}

std::uint64_t FileSource::next_data(std::uint64_t at) const {
  if (stored_ == size_ || at >= size_) return at;
  const off_t data = lseek(descriptor_, static_cast<off_t>(at), SEEK_DATA);
  if (data >= 0) return std::min(static_cast<std::uint64_t>(data), size_);
  return errno == ENXIO ? size_ : at;  // other errors: a file system that tells nothing of holes
}

std::uint64_t PartSource::next_data(std::uint64_t at) const {
  const std::uint64_t data = whole_.next_data(begin_ + at);
  return std::min(data - begin_, size_);
}

bool PartSource::read(std::uint64_t at, std::span<std::byte> into) const {
  return within(at, into.size(), size_) && whole_.read(begin_ + at, into);
}

Result<std::vector<std::byte>> read_part(const Source& source, std::uint64_t at, std::uint64_t size,
                                         std::uint64_t limit, std::string_view what) {
  if (!within(at, size, source.size())) return malformed(fmt::format("{} outside the file", what), at);
  if (size > limit) return beyond(what, limit, at);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  if (!source.read(at, bytes)) return malformed(fmt::format("{} cannot be read", what), at);
  return bytes;
}

}  // namespace flashfit::doctor
