#include "doctor/environment/distributions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/bytes/json.hpp"
#include "doctor/facts/binary_format.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/packaging/metadata.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileTree;

constexpr std::uint64_t kMostMetadata = std::uint64_t{4} << 20, kMostWheel = 1 << 16, kMostOrigin = 1 << 16;
constexpr std::uint64_t kMostRecord = std::uint64_t{32} << 20;

/// The headers alone: what follows the first empty line is a description, often long.
std::string headers_of(std::string text) {
  const std::size_t end = std::min(text.find("\n\n"), text.find("\r\n\r\n"));
  if (end != std::string::npos) text.resize(end + 1);
  return text;
}

/// The last field of a RECORD's line: "a.py,sha256=...,120".
std::optional<std::uint64_t> size_in(std::string_view line) {
  const std::string_view field = line.substr(line.rfind(',') + 1);
  std::uint64_t size = 0;
  const auto read = std::from_chars(field.data(), field.data() + field.size(), size);
  if (read.ec != std::errc() || read.ptr != field.data() + field.size()) return std::nullopt;
  return size;
}

/// ".." and "." taken out of a RECORD's path; "" if it leads out of the tree.
std::string joined(const std::string& folder, std::string_view relative) {
  if (relative.starts_with('/')) return std::string(relative);
  std::string path = folder;
  for (const std::string_view part : split(relative, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      const std::size_t slash = path.rfind('/');
      if (slash == std::string::npos) return "";
      path.resize(slash);
    } else {
      path += '/';
      path += part;
    }
  }
  return path;
}

/// The first field of a line of comma-separated values: quoted if it holds a comma or a quote.
std::string first_field(std::string_view line) {
  if (!line.starts_with('"')) return std::string(line.substr(0, line.find(',')));
  std::string field;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '"' && (i + 1 == line.size() || line[i + 1] != '"')) break;
    if (line[i] == '"') ++i;
    field += line[i];
  }
  return field;
}

/// direct_url.json (PyPA, "Recording the Direct URL Origin of installed distributions"), which installers leave for
/// what came from no index.
void read_origin(const FileTree& tree, Distribution& d) {
  const auto text = dynamic_loader::read_text(tree, d.info + "/direct_url.json", kMostOrigin);
  if (!text) return;
  d.by_url = true;
  const auto json = doctor::parse_json(*text).value_or(nlohmann::json());
  const auto word = [](const nlohmann::json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  const std::string url = word(json, "url");
  if (url.empty() || !doctor::is_plain_path(url)) return;
  if (json.contains("vcs_info")) {
    const std::string vcs = word(json["vcs_info"], "vcs"), commit = word(json["vcs_info"], "commit_id");
    if (!vcs.empty() && doctor::is_plain_path(vcs + commit))
      d.source = fmt::format("{}+{}{}{}", vcs, url, commit.empty() ? "" : "@", commit);
  } else if (json.contains("dir_info") && url.starts_with("file:///")) {
    d.source = url.substr(7);
  }
}

/// Of a folder whose METADATA cannot be read, as a link into an emptied cache, and which has its RECORD: its own name,
/// "flash_attn-2.8.3.dist-info".
bool name_by_folder(const FileTree& tree, const std::string& name, Distribution& d) {
  const std::size_t dash = name.find('-'), end = name.rfind(".dist-info");
  if (end == std::string::npos || dash == 0 || dash >= end || name.starts_with('~')) return false;
  if (!dynamic_loader::is_file(tree, d.info + "/RECORD")) return false;
  d.name = printable(doctor::normalised_name(name.substr(0, dash)));
  d.version = printable(name.substr(dash + 1, end - dash - 1));
  return true;
}

}  // namespace

std::vector<Distribution> read_distributions(const FileTree& tree, const std::string& folder,
                                             std::vector<std::string>& unread) {
  std::vector<Distribution> list;
  const auto entries = tree.list(folder);
  if (!entries) {
    unread.push_back(entries.error().message);
    return list;
  }
  std::size_t tried = 0;
  for (const dynamic_loader::Entry& entry : *entries) {
    const bool dist = entry.name.ends_with(".dist-info"), egg = entry.name.ends_with(".egg-info");
    if (!dist && !egg) continue;
    if (++tried > kMostDistributions) continue;
    Distribution d{.folder = folder, .info = folder + "/" + entry.name};
    // An egg-info may be a file by itself.
    const std::string text = dist                                            ? d.info + "/METADATA"
                             : entry.kind == dynamic_loader::FileKind::kFile ? d.info
                                                                             : d.info + "/PKG-INFO";
    auto metadata = dynamic_loader::read_text(tree, text, kMostMetadata);
    const auto parsed = metadata ? doctor::parse_metadata(headers_of(*metadata)) : tl::unexpected(metadata.error());
    if (parsed) {
      d.name = printable(parsed->name);
      d.version = printable(parsed->version.text);
      d.metadata = headers_of(std::move(*metadata));
    } else {
      unread.push_back(printable(entry.name) + ": " + parsed.error().message);
      if (!name_by_folder(tree, entry.name, d)) continue;
    }
    if (auto wheel = dynamic_loader::read_text(tree, d.info + "/WHEEL", kMostWheel)) d.wheel = std::move(*wheel);
    read_origin(tree, d);
    list.push_back(std::move(d));
  }
  if (tried > kMostDistributions)
    unread.push_back(fmt::format("{}: {} of its {} distributions were not read: at most {} are", printable(folder),
                                 tried - kMostDistributions, tried, kMostDistributions));
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i].name == list[i - 1].name) list[i].doubled = list[i - 1].doubled = true;
  return list;
}

void for_each_recorded(const FileTree& tree, const Distribution& distribution,
                       const std::function<void(const Recorded& file)>& owns) {
  const auto record = dynamic_loader::read_text(tree, distribution.info + "/RECORD", kMostRecord);
  if (!record) return;
  for (const std::string_view line : split(*record, '\n')) {
    const std::string_view sound = trimmed(line);
    if (sound.empty()) continue;
    if (std::string path = joined(distribution.folder, first_field(sound)); !path.empty())
      owns({.path = std::move(path), .size = size_in(sound)});
  }
}

std::vector<std::string> recorded_outside(const FileTree& tree, const Distribution& distribution) {
  std::vector<std::string> outside;
  // lib/python3.11/site-packages lies three below its prefix.
  const std::string prefix =
      dynamic_loader::parent_of(dynamic_loader::parent_of(dynamic_loader::parent_of(distribution.folder)));
  const std::string within = prefix == "/" ? prefix : prefix + "/";
  for_each_recorded(tree, distribution, [&](const Recorded& file) {
    if (file.path.starts_with(distribution.folder + "/") || !file.path.starts_with(within)) return;
    if (outside.size() < kMostOutside && doctor::is_named_as_code(file.path)) outside.push_back(file.path);
  });
  return outside;
}

std::string wheel_name_of(const Distribution& distribution) {
  const std::string name = doctor::underscored(distribution.name);
  const auto wheel = doctor::parse_wheel_file(distribution.wheel);
  const std::string tag = wheel && !wheel->tags.empty() ? fmt::format("{}-{}-{}", wheel->tags[0].python,
                                                                      wheel->tags[0].abi, wheel->tags[0].platform)
                                                        : "py3-none-any";
  return fmt::format("{}-{}-{}.whl", name, distribution.version, tag);
}

}  // namespace flashfit::doctor::environment
