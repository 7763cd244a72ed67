#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "measure/run.hpp"

namespace flashfit::measure {

namespace {

/// What a link leads to, there or not.
std::string linked(std::filesystem::path path) {
  std::error_code none;
  for (int i = 0; i < 16 && std::filesystem::is_symlink(path, none); ++i)
    path = path.parent_path() / std::filesystem::read_symlink(path, none);
  return path.string();
}

bool filled(std::FILE* file, const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written;
}

}  // namespace

Result<void> write_file(const std::string& path, const std::string& text) {
  // A pipe or a device is written to, not replaced, and a link stays one.
  const std::string target = linked(path);
  std::error_code unknown;
  const bool replaces = !std::filesystem::exists(target, unknown) || std::filesystem::is_regular_file(target, unknown);
  const std::string part = replaces ? target + ".part" : target;
  std::FILE* file = std::fopen(part.c_str(), "wb");
  const auto refuse = [&] {
    const int why = errno;
    if (replaces) std::remove(part.c_str());
    return fail(Code::kInvalidArgument, fmt::format("{}: {}", path, std::strerror(why)));
  };
  if (file == nullptr || !filled(file, text)) return refuse();
  if (replaces && std::rename(part.c_str(), target.c_str()) != 0) return refuse();
  return {};
}

std::string text_of(const nlohmann::ordered_json& json) {
  const std::string tall = json.dump(1);
  std::string text;
  for (std::size_t i = 0; i < tall.size();) {
    const std::size_t end = tall[i] == '[' ? tall.find_first_not_of("0123456789+-.eE, \n", i + 1) : std::string::npos;
    if (end == std::string::npos || tall[end] != ']') {
      text += tall[i++];
      continue;
    }
    for (; i <= end; ++i)
      if (tall[i] != '\n' && (tall[i] != ' ' || tall[i - 1] == ','))
        text += tall[i];
      else if (tall[i] == '\n' && tall[i - 1] == ',')
        text += ' ';
  }
  return text + "\n";
}

}  // namespace flashfit::measure
