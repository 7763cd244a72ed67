#include "doctor/packaging/metadata.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/packaging/headers.hpp"

namespace flashfit::doctor {
namespace {

std::string_view value_of(const std::vector<Header>& headers, std::string_view key) {
  for (const Header& h : headers)
    if (h.key == key) return h.value;
  return {};
}

using Tags = std::set<std::string>;

Tags part(const std::vector<WheelTag>& tags, std::string WheelTag::* which) {
  Tags out;
  for (const WheelTag& tag : tags) out.insert(tag.*which);
  return out;
}

void compare(std::vector<std::string>& out, const Tags& name, const Tags& file) {
  if (name == file) return;
  const auto list = [](const Tags& tags) { return printable(fmt::format("{}", fmt::join(tags, ".")), 200); };
  out.push_back(fmt::format("the file name says {}, WHEEL says {}", list(name), list(file)));
}

}  // namespace

Result<Metadata> parse_metadata(std::string_view text) {
  const auto headers = parse_headers(text);
  if (!headers) return tl::unexpected(headers.error());
  Metadata m;
  m.name = normalised_name(value_of(*headers, "name"));
  if (m.name.empty()) return fail(Code::kInvalidArgument, "METADATA has no Name");
  auto version = parse_version(value_of(*headers, "version"));
  if (!version) return fail(Code::kInvalidArgument, "METADATA: " + version.error().message);
  m.version = std::move(*version);
  m.requires_python = value_of(*headers, "requires-python");
  if (!m.requires_python.empty()) {
    auto versions = parse_specifiers(m.requires_python);
    if (versions) {
      m.python_versions = std::move(*versions);
    } else {
      m.unread.push_back("Requires-Python: " + versions.error().message);
    }
  }
  for (const Header& h : *headers) {
    if (h.key != "requires-dist") continue;
    auto requirement = parse_requirement(h.value);
    if (requirement) {
      m.requirements.push_back(std::move(*requirement));
    } else {
      m.unread.push_back("Requires-Dist: " + requirement.error().message);
    }
  }
  return m;
}

Result<WheelFile> parse_wheel_file(std::string_view text) {
  const auto headers = parse_headers(text);
  if (!headers) return tl::unexpected(headers.error());
  WheelFile file;
  file.version = value_of(*headers, "wheel-version");
  if (file.version.empty()) return fail(Code::kInvalidArgument, "WHEEL has no Wheel-Version");
  file.generator = value_of(*headers, "generator");
  file.build = value_of(*headers, "build");
  file.pure = lower(value_of(*headers, "root-is-purelib")) == "true";
  for (const Header& h : *headers) {
    if (h.key != "tag") continue;
    const auto tags = parse_tags(h.value);
    if (file.tags.size() + file.unread.size() + (tags ? tags->size() : 1) > kMostTags)
      return fail(Code::kInvalidArgument, fmt::format("WHEEL has more than {} tags", kMostTags));
    if (tags)
      file.tags.insert(file.tags.end(), tags->begin(), tags->end());
    else
      file.unread.push_back("WHEEL: " + tags.error().message);
  }
  return file;
}

std::string format_misfit(const WheelFile& file) {
  const auto parts = split(file.version, '.');
  const auto is_number = [](std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), is_digit);
  };
  std::string_view major = parts[0];
  while (major.size() > 1 && major.front() == '0') major.remove_prefix(1);
  if (std::all_of(parts.begin(), parts.end(), is_number) && (major == "0" || major == "1")) return "";
  return fmt::format("Wheel-Version: {}; installers read 1.x", printable(file.version, 40));
}

std::string dist_info_misfit(const WheelName& name, const std::vector<std::string>& dist_infos) {
  if (dist_infos.size() > 1)
    return fmt::format("{} .dist-info folders, such as {} and {}; installers take one", dist_infos.size(),
                       printable(dist_infos[0]), printable(dist_infos[1]));
  if (dist_infos.empty() || normalised_name(dist_infos[0]).starts_with(name.name + "-")) return "";
  return fmt::format("its folder {} is not {}'s", printable(dist_infos[0]), printable(name.name));
}

std::string python_misfit(const Metadata& metadata, const Python& python) {
  if (!metadata.python_versions) return "";
  const auto version = parse_version(python.version);
  if (!version || !refusing(*metadata.python_versions, *version)) return "";
  return fmt::format("needs Python {}; yours is {}", printable(metadata.requires_python), python.version);
}

std::vector<std::string> disagreements(const WheelName& name, const Metadata& metadata) {
  std::vector<std::string> out;
  if (name.name != metadata.name)
    out.push_back(
        fmt::format("the file name says {}, METADATA says {}", printable(name.name), printable(metadata.name)));
  if (name.version != metadata.version)
    out.push_back(fmt::format("the file name says version {}, METADATA says {}", printable(name.version.text),
                              printable(metadata.version.text)));
  return out;
}

std::vector<std::string> disagreements(const WheelName& name, const WheelFile& file) {
  std::vector<std::string> out = file.unread;
  if (file.tags.empty()) {
    if (out.empty()) out.emplace_back("WHEEL names no tag");
    return out;
  }
  for (const auto which : {&WheelTag::python, &WheelTag::abi, &WheelTag::platform})
    compare(out, part(name.tags, which), part(file.tags, which));
  if (name.build != file.build)
    out.push_back(
        fmt::format("the file name says build '{}', WHEEL says '{}'", printable(name.build), printable(file.build)));
  return out;
}

}  // namespace flashfit::doctor
