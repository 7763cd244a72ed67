#include "doctor/facts/sdist.hpp"

#include <algorithm>
#include <array>

#include "core/base/ascii.hpp"
#include "doctor/bytes/decompress.hpp"
#include "doctor/bytes/tar.hpp"
#include "doctor/bytes/zip_member.hpp"
#include "doctor/packaging/headers.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kLargestText = std::uint64_t{1} << 20, kMostContent = std::uint64_t{4} << 30;

/// The name without the first folder; "" where the file lies deeper or not in one.
std::string_view top_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {};
  name.remove_prefix(slash + 1);
  return name.find('/') == std::string_view::npos ? name : std::string_view{};
}

bool is_wanted_text(std::string_view name) {
  const std::string_view top = top_name(name);
  return top == "PKG-INFO" || top == "pyproject.toml" || top == "setup.py";
}

/// The strings of `requires = [...]` in [build-system]: as much of TOML as such lists use.
std::vector<std::string> build_requires(std::string_view toml) {
  std::vector<std::string> out;
  std::size_t at = toml.find("[build-system]");
  if (at == std::string_view::npos) return out;
  std::string_view section = toml.substr(at + 1);
  section = section.substr(0, section.find("\n["));
  at = section.find("requires");
  if (at != std::string_view::npos) at = section.find('[', at);
  if (at == std::string_view::npos) return out;
  for (++at; at < section.size() && section[at] != ']'; ++at) {
    const char quote = section[at];
    if (quote == '#') at = std::min(section.find('\n', at), section.size() - 1);
    if (quote != '"' && quote != '\'') continue;
    const std::size_t end = section.find(quote, at + 1);
    if (end == std::string_view::npos) break;
    if (out.size() < 100) out.emplace_back(section.substr(at + 1, end - at - 1));
    at = end;
  }
  return out;
}

void take_text(std::string_view name, std::string_view text, Target& target) {
  const std::string_view top = top_name(name);
  if (top == "PKG-INFO") target.metadata = text.substr(0, std::min(text.find("\n\n"), kLargestHeaders));
  if (top == "pyproject.toml") target.build_requires = build_requires(text);
  if (text.find("torch.utils.cpp_extension") != std::string_view::npos) target.uses_torch = true;
}

/// Whether a file's name is one of compiled code that the build would only copy. Tests of tools for such files bring
/// some, which nothing installs.
bool looks_compiled(std::string_view name) {
  for (const std::string_view folder : {"/test/", "/tests/", "/testing/", "/testdata/"})
    if (name.find(folder) != std::string_view::npos) return false;
  const std::string_view file = name.substr(name.rfind('/') + 1);
  return file.ends_with(".so") || file.find(".so.") != std::string_view::npos || file.ends_with(".pyd") ||
         file.ends_with(".cubin") || file.ends_with(".fatbin");
}

void take_name(std::string_view name, Target& target) {
  ++target.files;
  if (looks_compiled(name) && ++target.compiled == 1) target.first_compiled = name;
  if (name.ends_with(".cu") || name.ends_with(".cuh")) ++target.cuda_sources;
  if (name.ends_with(".cpp") || name.ends_with(".cc") || name.ends_with(".c") || name.ends_with(".cxx"))
    ++target.cpp_sources;
}

/// Names of all members, texts of those wanted.
class SdistVisitor final : public TarVisitor {
 public:
  explicit SdistVisitor(Target& target) : target_(target) {}

  Result<bool> begin(const TarMember& member) override {
    if (member.kind != TarMember::Kind::kFile) return false;
    if (member.size > kMostContent) return malformed("size of a tar member", member.offset - TarReader::kBlock);
    take_name(member.name, target_);
    name_ = member.name;
    text_.clear();
    return member.size <= kLargestText && is_wanted_text(member.name);
  }
  Result<void> content(Bytes piece) override {
    text_ += as_text(piece);
    return {};
  }
  Result<void> end() override {
    take_text(name_, text_, target_);
    return {};
  }

 private:
  Target& target_;
  std::string name_, text_;
};

}  // namespace

bool is_gzip(Bytes head) { return compression_of(head) == Compression::kGzip; }

bool is_sdist(const std::vector<ZipMember>& members) {
  // An egg's PKG-INFO, too, lies in a folder of the archive, but all else there is built.
  return std::any_of(members.begin(), members.end(),
                     [](const ZipMember& m) { return is_wanted_text(m.name) && !m.name.starts_with("EGG-INFO/"); });
}

void read_zip_sdist(const Source& zip, const std::vector<ZipMember>& members, Target& target) {
  target.files = 0;
  for (const ZipMember& member : members) {
    if (member.name.ends_with('/')) continue;
    take_name(member.name, target);
    if (!is_wanted_text(member.name)) continue;
    const auto text = read_member(zip, member, kLargestText);
    if (text) {
      take_text(member.name, as_text(*text), target);
    } else {
      target.errors.push_back(text.error().message);
    }
  }
}

void read_tar_sdist(const Source& file, Target& target) {
  target.files = 0;
  SdistVisitor visitor(target);
  TarReader tar(visitor);
  const auto size = read_decompressed(file, Compression::kGzip, kMostContent,
                                      [&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
                                        auto next = tar.feed(at, chunk);
                                        // What opens with no header is no tar archive, and something else than a source
                                        // distribution.
                                        if (!next && !tar.sound()) return TarReader::kEnd;
                                        return next;
                                      });
  if (!size) target.errors.push_back(size.error().message);
  if (tar.sound() && (!target.metadata.empty() || !target.build_requires.empty() || target.uses_torch))
    target.kind = TargetKind::kSdist;
}

}  // namespace flashfit::doctor
