#include "doctor/requests/lock_file.hpp"

#include <fmt/format.h>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/bytes/limits.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/requests/link.hpp"
#include "doctor/requests/logical_lines.hpp"
#include "doctor/requests/toml.hpp"

namespace flashfit::doctor::requests {
namespace {

constexpr std::size_t kMostWheels = 10'000;  // of a package; PyPI's largest release has some hundreds

std::uint32_t line_of(const toml::node& node) { return node.source().begin.line; }

std::string text_at(const toml::table& table, std::string_view key) {
  const auto* value = table.get_as<std::string>(key);
  return value != nullptr && value->get().size() <= kLongestValue ? value->get() : "";
}

class Reader {
 public:
  explicit Reader(RequestList& list) : list_(list) {}

  void read(const toml::table& lock) {
    const auto* version = lock.get_as<std::string>("lock-version");
    if (version == nullptr) return trouble(1, "lock-version: missing; a lock of version 1.x has one");
    if (!version->get().starts_with("1."))
      trouble(line_of(*version), fmt::format("lock-version '{}': version 1.x is read", printable(version->get())));
    list_.requires_python = text_at(lock, "requires-python");
    const auto* packages = lock.get_as<toml::array>("packages");
    if (packages == nullptr) return trouble(1, "packages: missing, or no array of tables");
    for (const toml::node& node : *packages) {
      if (list_.requests.size() == kMostRequests) return;
      if (const auto* table = node.as_table())
        take_package(*table);
      else
        trouble(line_of(node), "packages: an entry that is no table");
    }
  }

 private:
  void trouble(std::uint32_t line, std::string why) { list_.troubles.push_back({line, std::move(why)}); }

  void take_package(const toml::table& table) {
    const std::uint32_t line = line_of(table);
    const std::string name = text_at(table, "name"), version = text_at(table, "version");
    if (name.empty()) return trouble(line, "packages.name: missing, or no text");
    auto package = doctor::parse_requirement(version.empty() ? name : name + "==" + version);
    if (!package) return trouble(line, package.error().message);
    Request request{
        .line = line, .text = version.empty() ? name : name + "==" + version, .package = std::move(*package)};
    request.locked = true;
    request.package.marker = text_at(table, "marker");
    request.requires_python = text_at(table, "requires-python");
    request.sources = table.contains("sdist") || table.contains("vcs") || table.contains("directory");
    if (const auto* archive = table.get_as<toml::table>("archive")) {
      if (!take_wheel(*archive, request)) request.sources = true;
    }
    if (const auto* wheels = table.get_as<toml::array>("wheels"))
      for (const toml::node& node : *wheels) {
        if (request.wheels.size() == kMostWheels) break;
        const auto* wheel = node.as_table();
        if (wheel == nullptr || !take_wheel(*wheel, request))
          trouble(line_of(node),
                  fmt::format("packages.wheels of {}: an entry without the name of a wheel", printable(name)));
      }
    list_.requests.push_back(std::move(request));
  }

  static bool take_wheel(const toml::table& table, Request& request) {
    const std::string url = text_at(table, "url"), path = text_at(table, "path"), name = text_at(table, "name");
    auto link = wheel_link(!url.empty() ? url : !path.empty() ? path : name);
    if (!link && !name.ends_with(".whl")) return false;
    if (!link) link = WheelLink{};
    if (!name.empty()) link->file_name = name;
    link->path = path;
    link->url = url;
    if (const auto* hashes = table.get_as<toml::table>("hashes")) link->sha256 = text_at(*hashes, "sha256");
    if (!link->sha256.empty()) request.hashes.push_back("sha256:" + link->sha256);
    request.wheels.push_back(std::move(*link));
    return true;
  }

  RequestList& list_;
};

}  // namespace

RequestList read_lock(std::string_view text) {
  RequestList list;
  if (text.size() > limits::kListBytes.most) {
    list.troubles.push_back({0, fmt::format("larger than {} MB", limits::kListBytes.most >> 20)});
    return list;
  }
  if (const auto lock = parse_toml(text)) {
    Reader(list).read(*lock);
  } else {
    list.troubles.push_back({lock.error().line, lock.error().message});
  }
  return list;
}

}  // namespace flashfit::doctor::requests
