#include "runtime/images/build/kernel_list.hpp"

#include <fmt/format.h>

#include <fstream>
#include <optional>

#include "runtime/images/build/closure.hpp"

namespace flashfit {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(at, begin)) != std::string::npos; begin = end + 1)
    parts.push_back(trimmed(text.substr(begin, end - begin)));
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

}  // namespace

Result<std::vector<Recipe>> read_kernel_list(const std::filesystem::path& list,
                                             const std::vector<std::filesystem::path>& folders,
                                             const std::string& nvrtc) {
  std::ifstream in(list);
  if (!in) return fail(Code::kInvalidArgument, fmt::format("--list {}: cannot be read", list.string()));
  std::vector<Recipe> recipes;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string where = fmt::format("{}:{}", list.string(), number);
    const std::vector<std::string> fields = split(line, '|');
    if (fields.size() != 4)
      return fail(Code::kInvalidArgument, where + ": a line is NAME | HEADER | KERNEL | TARGET, TARGET ...");
    const Result<std::string> closure = closure_of(fields[1], folders);
    if (!closure) return fail(closure.error().code, fmt::format("{}: {}", where, closure.error().message));
    const Kernel kernel{.name = fields[0], .header = fields[1], .type = fields[2]};
    for (const std::string& text : split(fields[3], ',')) {
      const std::optional<Target> target = parse_target(text);
      if (!target)
        return fail(Code::kInvalidArgument,
                    fmt::format("{}: target '{}' is not of the form 9.0, 9.0a, 10.0f or 8.0+PTX", where, text));
      recipes.push_back(make_recipe(kernel, *target, *closure, nvrtc));
    }
  }
  return recipes;
}

}  // namespace flashfit
