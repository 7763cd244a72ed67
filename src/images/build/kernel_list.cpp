#include "images/build/kernel_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <optional>
#include <regex>

#include "images/build/closure.hpp"

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

/// NVRTC's name of a target, or nothing.
std::optional<std::string> architecture_of(KernelRecipe& r) {
  static const std::regex form(R"((\d+)\.(\d)(a|f)?(\+PTX)?)");
  std::smatch m;
  if (!std::regex_match(r.target, m, form)) return std::nullopt;
  r.cc = std::stoi(m[1]) * 10 + std::stoi(m[2]);
  r.ptx = m[4].matched;
  return fmt::format("{}_{}{}", r.ptx ? "compute" : "sm", r.cc, m[3].str());
}

}  // namespace

Result<std::vector<KernelRecipe>> read_kernel_list(const std::filesystem::path& list,
                                                   const std::vector<std::filesystem::path>& folders,
                                                   const std::string& nvrtc) {
  std::ifstream in(list);
  if (!in) return fail(Code::kInvalidArgument, fmt::format("--list {}: cannot be read", list.string()));
  std::vector<KernelRecipe> recipes;
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
    for (const std::string& target : split(fields[3], ',')) {
      KernelRecipe r{.name = fields[0], .header = fields[1], .kernel = fields[2], .target = target};
      const auto architecture = architecture_of(r);
      if (!architecture)
        return fail(Code::kInvalidArgument,
                    fmt::format("{}: target '{}' is not of the form 9.0, 9.0a or 8.0+PTX", where, target));
      r.source = fmt::format("#include \"{}\"\nnamespace flashfit {{ using Kernel = {}; }}\n", r.header, r.kernel);
      r.expression = "flashfit::arch::entry<flashfit::Kernel>";
      r.options = {"--gpu-architecture=" + *architecture, "--std=c++20", "-default-device", "--ptxas-options=-v"};
      r.key = hash_of(fmt::format("{}\n{}\n{}\n{}", nvrtc, fmt::join(r.options, " "), r.source, *closure));
      recipes.push_back(std::move(r));
    }
  }
  return recipes;
}

}  // namespace flashfit
