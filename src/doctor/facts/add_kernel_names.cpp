#include "doctor/facts/add_kernel_names.hpp"

#include <algorithm>

#include "doctor/bytes/spool.hpp"
#include "doctor/bytes/zip.hpp"
#include "doctor/facts/read_binary.hpp"

namespace flashfit::doctor {

void add_kernel_names(const std::string& path, Target& target, std::size_t binary,
                      const std::vector<std::size_t>& which) {
  Binary& b = target.binaries[binary];
  // The file or member that holds the binary: itself, or the static archive that it lies in.
  const std::string& holder = b.archive_offset == 0 ? b.path : b.archive;
  const bool folder = target.kind == TargetKind::kDirectory;
  const auto file = FileSource::open(folder ? path + "/" + holder : path);
  if (!file) return;
  // Names are an extra: a file that changed meanwhile has none.
  const auto read = [&](const Content& content) {
    if (b.archive_offset == 0) {
      if (content.size() == b.size) (void)read_kernel_names(content, b, which);
      return;
    }
    const auto spool = content.source() == nullptr ? Spool::make(content) : Result<Spool>(Spool());
    if (!spool) return;
    const Source& source = content.source() == nullptr ? spool->source() : *content.source();
    if (!within(b.archive_offset, b.size, source.size())) return;
    const PartSource part(source, b.archive_offset, b.size);
    (void)read_kernel_names(SourceContent(part), b, which);
  };
  if (holder.empty() || folder) return read(SourceContent(*file));
  const auto members = read_zip_directory(*file);
  if (!members) return;
  const auto member =
      std::find_if(members->begin(), members->end(), [&](const ZipMember& m) { return m.name == holder; });
  if (member != members->end()) read(MemberContent(*file, *member));
}

}  // namespace flashfit::doctor
