#include "doctor/bytes/unnamed_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace flashfit::doctor {

Result<std::unique_ptr<UnnamedFile>> UnnamedFile::make() {
  const char* given = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nothing here sets variables
  std::string folder = given == nullptr || *given == '\0' ? "/tmp" : given;
  int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);  // NOLINT(*-vararg)
  if (descriptor < 0) {  // a file system that has no such files
    std::string name = folder + "/flashfit-XXXXXX";
    descriptor = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor >= 0) unlink(name.c_str());
  }
  if (descriptor < 0) return fail(Code::kInternal, "no temporary file can be made in " + folder);
  return std::unique_ptr<UnnamedFile>(new UnnamedFile(descriptor));
}

UnnamedFile::~UnnamedFile() { close(descriptor_); }

bool UnnamedFile::read(std::uint64_t at, std::span<std::byte> into) const {
  return within(at, into.size(), size_) && read_at(descriptor_, at, into);
}

Result<void> UnnamedFile::append(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t put = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return fail(Code::kInternal, "the folder for temporary files is full");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    size_ += static_cast<std::uint64_t>(put);
  }
  return {};
}

}  // namespace flashfit::doctor
