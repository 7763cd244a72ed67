#include "doctor/facts/read_wheel.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <set>

#include "core/base/printable.hpp"
#include "doctor/bytes/encoding.hpp"
#include "doctor/bytes/limits.hpp"
#include "doctor/bytes/zip_member.hpp"
#include "doctor/facts/binary_format.hpp"
#include "doctor/facts/imported_modules.hpp"
#include "doctor/facts/read_binary.hpp"
#include "doctor/facts/read_parts.hpp"
#include "doctor/facts/sdist.hpp"
#include "doctor/packaging/headers.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::size_t kMostDistInfos = 8;  // one is right, so a few of several say enough

constexpr std::size_t kMostRefusals = 8;  // of several .dist-info folders that a wheel may have

/// Whether `name` is FILE of the wheel's own .dist-info.
bool is_own(std::string_view name, std::string_view file) {
  return name.ends_with(file) && name.find('/') == name.rfind('/') &&
         name.substr(0, name.size() - file.size()).ends_with(".dist-info/");
}

/// What comes before the first empty line: a description may follow.
std::string headers_in(std::string_view text) {
  const std::size_t unix_end = text.find("\n\n"), dos_end = text.find("\n\r\n");
  const std::size_t end = std::min(unix_end, dos_end);
  return std::string(text.substr(0, end == std::string_view::npos ? end : end + 1));
}

/// Bytes of all members read so far, against what the archive may come to, and what is kept of them.
struct Budget {
  Limit limit;
  std::atomic<std::uint64_t> spent{0};
  FactsBudget kept = {};
};

/// Whether a member has content.
bool is_file(const ZipMember& m) { return !m.name.ends_with('/') && m.size > 0; }

Part read_part(const Source& zip, const ZipMember& member, Budget& budget) {
  const auto refused = [&](const std::string& why) {
    return Part{.binaries = {}, .error = why + " in " + printable(member.name)};
  };
  const auto broken = [&](Bytes start) { return std::string(broken_by_name(member.name, start)); };
  if (const std::string why = member.size == 0 ? broken({}) : ""; !why.empty()) return refused(why);
  if (!is_file(member) || budget.kept.exhausted()) return {};
  const MemberContent content(zip, member);
  // A text costs little more than its header: a wheel has ten thousand of them.
  const auto start = content.head(std::min<std::uint64_t>(kFirstLook, member.size));
  if (!start) return refused(start.error().message);
  if (const std::string why = broken(*start); !why.empty()) return refused(why);
  if (!may_have_format(*start)) return {};
  const auto head = content.head(std::min<std::uint64_t>(kHeadSize, member.size));
  if (!head) return refused(head.error().message);
  if (!may_be_binary(*head)) return {};
  // What is nearly all zeros: no library has so little in it, and reading it takes long.
  const std::uint64_t stored = std::min(member.compressed, zip.stored());
  if (member.size > limits::kUnsuspected && member.size / limits::kMemberRatio.most > stored)
    return refused(beyond(limits::kMemberRatio, member.header).value().message);
  if (budget.spent.fetch_add(member.size) + member.size > budget.limit.most)
    return refused(beyond(budget.limit, member.header).value().message);
  auto binaries = read_binaries(content, member.name, budget.kept);
  if (!binaries) return refused(binaries.error().message);
  return {.binaries = std::move(*binaries)};
}

/// Folders of the archive, not of a folder in it, that end in .dist-info; of very many those that come first by name.
std::vector<std::string> dist_infos_in(const std::vector<ZipMember>& members) {
  std::set<std::string> found;
  for (const ZipMember& member : members) {
    const std::string_view top = std::string_view(member.name).substr(0, member.name.find('/'));
    if (top.ends_with(".dist-info")) found.emplace(top);
    if (found.size() > kMostDistInfos) found.erase(std::prev(found.end()));
  }
  return {found.begin(), found.end()};
}

/// Why no installer knows where this member goes: "x-1.0.data/SCHEME/PATH" goes where the interpreter has SCHEME. ""
/// of members that go somewhere. Source: pip, operations/install/wheel.py, make_data_scheme_file.
std::string refusal_of(const std::string& member) {
  constexpr std::string_view kSchemes[] = {"purelib", "platlib", "headers", "scripts", "data"};
  const std::size_t top = member.find('/');
  if (member.ends_with('/') || top == std::string::npos || !std::string_view(member).substr(0, top).ends_with(".data"))
    return "";
  const std::size_t end = member.find('/', top + 1);
  const std::string_view scheme = std::string_view(member).substr(top + 1, end - top - 1);
  if (end != std::string::npos && std::find(std::begin(kSchemes), std::end(kSchemes), scheme) != std::end(kSchemes))
    return "";
  return fmt::format("{} has no place where Python's installers put files", printable(member));
}

/// Installers decode these texts as a whole and strictly, pip all of them, uv all but METADATA. What opens with the
/// mark of another encoding is told by that.
std::string not_utf8(const Source& zip, const ZipMember& member) {
  constexpr std::uint64_t kMostRead = 8 << 20;  // a RECORD of eighty thousand files
  for (const auto& [file, who] : {std::pair("METADATA", "pip refuses"), std::pair("WHEEL", "installers refuse"),
                                  std::pair("RECORD", "installers refuse")}) {
    if (!is_own(member.name, file)) continue;
    const auto bytes = MemberContent(zip, member).head(std::min(member.size, kMostRead));
    if (!bytes) return "";  // of METADATA and WHEEL the reading itself tells why
    std::string_view text = as_text(*bytes);
    if (text.size() < member.size) text = text.substr(0, text.rfind('\n') + 1);
    return has_encoding_mark(text) || is_utf8(text) ? "" : fmt::format("{} is not UTF-8: {} it", file, who);
  }
  return "";
}

std::vector<std::string> refusals_of(const Source& zip, const std::vector<ZipMember>& members) {
  std::vector<std::string> found;
  if (std::none_of(members.begin(), members.end(), [](const ZipMember& m) { return is_own(m.name, "RECORD"); }))
    found.emplace_back("no RECORD: installers refuse it");
  for (const ZipMember& member : members)
    if (std::string why = refusal_of(member.name); !why.empty()) {
      found.push_back(std::move(why));
      break;  // one is enough
    }
  for (const ZipMember& member : members)
    if (std::string why = not_utf8(zip, member); !why.empty() && found.size() < kMostRefusals)
      found.push_back(std::move(why));
  return found;
}

void read_texts(const Source& zip, const std::vector<ZipMember>& members, Target& target) {
  for (const ZipMember& member : members) {
    std::string* into = is_own(member.name, "METADATA") ? &target.metadata
                        : is_own(member.name, "WHEEL")  ? &target.wheel_file
                                                        : nullptr;
    if (into == nullptr) continue;
    const auto text = MemberContent(zip, member).head(kLargestHeaders);
    if (text) {
      *into = headers_in(as_text(*text));
    } else {
      target.errors.push_back(text.error().message + " in " + printable(member.name));
    }
  }
}

}  // namespace

void read_wheel(const Source& zip, Target& target, const Progress& progress) {
  const auto members = read_zip_directory(zip);
  if (!members) {
    target.errors.push_back(members.error().message);
    return;
  }
  target.files = static_cast<std::uint64_t>(std::count_if(members->begin(), members->end(), is_file));
  const auto is_cuda = [](const ZipMember& m) { return m.name.ends_with(".cu"); };
  read_texts(zip, *members, target);
  if (!target.wheel_file.empty() || target.file_name.ends_with(".whl")) {
    target.kind = TargetKind::kWheel;
    target.dist_infos = dist_infos_in(*members);
    target.refusals = refusals_of(zip, *members);
    target.cuda_sources = static_cast<std::uint64_t>(std::count_if(members->begin(), members->end(), is_cuda));
  } else if (is_sdist(*members)) {
    target.kind = TargetKind::kSdist;
    read_zip_sdist(zip, *members, target);
    return;
  }

  std::vector<std::uint64_t> sizes;
  sizes.reserve(members->size());
  for (const ZipMember& member : *members) sizes.push_back(is_file(member) ? member.compressed : 0);
  Budget budget{limits::content_of(zip.stored())};
  read_parts(sizes, [&](std::size_t i) { return read_part(zip, (*members)[i], budget); }, progress, target);
  if (target.kind == TargetKind::kWheel) find_unnamed_modules(zip, *members, target);
}

}  // namespace flashfit::doctor
