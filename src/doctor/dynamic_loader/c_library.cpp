#include "doctor/dynamic_loader/c_library.hpp"

#include <algorithm>
#include <charconv>

namespace flashfit::doctor::dynamic_loader {
namespace {

constexpr std::uint64_t kLargestLoader = std::uint64_t{8} << 20;  // stripped ones have 250 KB

bool is_system_folder(std::string_view text) {
  return text.size() > 1 && text.size() < FileTree::kLongestPath && text.front() == '/' && text.back() == '/' &&
         text.find("lib") != std::string_view::npos && text.find("//") == std::string_view::npos;
}

/// Its table of folders: texts "/lib/", "/usr/lib/" one behind the other, two or more.
std::vector<std::string> system_folders(std::string_view bytes) {
  std::vector<std::string> run;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    // The first of the table may stand behind bytes that are no text's.
    std::string_view text = bytes.substr(0, end);
    if (run.empty() && !is_system_folder(text)) text = text.substr(std::min(text.size(), text.rfind("/lib")));
    if (is_system_folder(text)) {
      run.emplace_back(text.substr(0, text.size() - 1));
    } else if (run.size() >= 2) {
      return run;
    } else {
      run.clear();
    }
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return {};
}

GlibcVersion banner_version(std::string_view bytes) {
  constexpr std::string_view kBanner = "release version ";
  const std::size_t at = bytes.find(kBanner);
  if (at == std::string_view::npos) return {};
  const char* const begin = bytes.data() + at + kBanner.size();
  const char* const end = bytes.data() + bytes.size();
  GlibcVersion version;
  const auto major = std::from_chars(begin, end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return {};
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  return minor.ec == std::errc() ? version : GlibcVersion{};
}

std::vector<std::string> guessed_folders(const FileTree& tree, std::string_view machine) {
  const std::string of_machine = std::string(machine) + "-linux-gnu";
  if (is_folder(tree, "/usr/lib/" + of_machine))
    return {"/lib/" + of_machine, "/usr/lib/" + of_machine, "/lib", "/usr/lib"};
  return {"/lib64", "/usr/lib64"};
}

}  // namespace

std::string usual_interpreter(std::string_view machine) {
  if (machine == "x86_64") return "/lib64/ld-linux-x86-64.so.2";
  return machine == "aarch64" ? "/lib/ld-linux-aarch64.so.1" : "";
}

CLibrary find_c_library(const FileTree& tree, std::string_view machine, const std::string& interpreter) {
  CLibrary library{.interpreter = interpreter};
  if (const auto bytes = read_text(tree, interpreter, kLargestLoader)) {
    library.default_folders = system_folders(*bytes);
    library.version = banner_version(*bytes);
  }
  if (library.default_folders.empty()) library.default_folders = guessed_folders(tree, machine);
  library.lib = library.default_folders.front().substr(1);
  return library;
}

}  // namespace flashfit::doctor::dynamic_loader
