#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "bench/run.hpp"

namespace flashfit::bench {

Result<void> write_file(const std::string& path, const std::string& text) {
  const std::string part = path + ".part";
  std::FILE* file = std::fopen(part.c_str(), "wb");
  const auto refuse = [&] {
    const int why = errno;
    std::remove(part.c_str());
    return fail(Code::kInvalidArgument, fmt::format("{}: {}", path, std::strerror(why)));
  };
  if (file == nullptr) return refuse();
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written || std::rename(part.c_str(), path.c_str()) != 0) return refuse();
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

}  // namespace flashfit::bench
