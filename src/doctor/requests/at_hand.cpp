#include "doctor/requests/at_hand.hpp"

#include <filesystem>

#include "doctor/packaging/tags.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/requests/by_name.hpp"

namespace flashfit::doctor::requests {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostWheels = 100'000;

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

}  // namespace

std::string AtHand::in_list_folder(const std::string& path) const {
  constexpr std::string_view kFile = "file://";
  const fs::path given = path.starts_with(kFile) ? path.substr(kFile.size()) : path;
  return given.is_absolute() || folder_.empty() ? given.string() : (fs::path(folder_) / given).string();
}

const std::vector<std::string>& AtHand::wheels_in(const std::string& folder) {
  const auto [found, fresh] = listed_.try_emplace(folder);
  if (!fresh) return found->second;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && found->second.size() < kMostWheels;
       at.increment(error))
    if (at->path().extension() == ".whl") found->second.push_back(at->path().filename().string());
  return found->second;
}

std::string AtHand::file_of(const WheelLink& wheel, const Indexes& indexes) {
  if (!wheel.path.empty()) {
    std::string path = in_list_folder(wheel.path);
    if (is_file(path)) return path;
  }
  // A name out of a list leads no further than the folder.
  if (wheel.file_name.empty() || wheel.file_name.find('/') != std::string::npos) return "";
  for (const std::string& folder : indexes.find_links) {
    if (folder.find("://") != std::string::npos && !folder.starts_with("file://")) continue;
    const fs::path path = fs::path(in_list_folder(folder)) / wheel.file_name;
    if (is_file(path)) return path.string();
  }
  return "";
}

std::string AtHand::wheel_for(const doctor::Requirement& package, const Indexes& indexes,
                              const doctor::Question& question) {
  std::string best;
  std::optional<doctor::Version> newest;
  for (const std::string& links : indexes.find_links) {
    if (links.find("://") != std::string::npos && !links.starts_with("file://")) continue;
    const std::string folder = in_list_folder(links);
    for (const std::string& name : wheels_in(folder)) {
      const auto wheel = doctor::parse_wheel_name(name);
      if (!wheel || wheel->name != package.name || doctor::refusing(package.versions, wheel->version) != nullptr)
        continue;
      if (!installs(name, question) || (newest && wheel->version <= *newest)) continue;
      newest = wheel->version;
      best = (fs::path(folder) / name).string();
    }
  }
  return best;
}

}  // namespace flashfit::doctor::requests
