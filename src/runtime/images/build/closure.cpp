#include "runtime/images/build/closure.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "runtime/images/build/member_initialisers.hpp"

namespace flashfit {
namespace {

namespace fs = std::filesystem;

Result<std::string> read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf()))
    return fail(Code::kInvalidArgument, fmt::format("{} cannot be read", file.string()));
  return text.str();
}

Result<void> append(const std::string& name, const std::vector<fs::path>& folders, std::set<std::string>& seen,
                    std::string& out) {
  if (!seen.insert(name).second) return {};
  const auto folder =
      std::find_if(folders.begin(), folders.end(), [&](const fs::path& f) { return fs::exists(f / name); });
  if (folder == folders.end())
    return fail(Code::kInvalidArgument, fmt::format("{} cannot be read: it is in none of the folders given", name));
  const Result<std::string> text = read(*folder / name);
  if (!text) return tl::unexpected(text.error());
  if (const auto found = find_member_initialiser(*text))
    return fail(Code::kInvalidArgument,
                fmt::format("{}:{}: member {} has a default initialiser, which NVRTC forgets in arrays of two "
                            "dimensions (docs/nvrtc-array-initialisers.md); types of kernels are initialised by hand",
                            name, found->line, found->member));
  out += fmt::format("// {}\n{}", name, *text);
  static const std::regex include(R"re(#include\s+["<]([^">]+)[">])re");
  for (std::sregex_iterator i(text->begin(), text->end(), include), end; i != end; ++i)
    if (Result<void> r = append((*i)[1], folders, seen, out); !r) return r;
  return {};
}

}  // namespace

Result<std::string> closure_of(const std::string& header, const std::vector<fs::path>& folders) {
  std::string text;
  std::set<std::string> seen;
  if (Result<void> r = append(header, folders, seen, text); !r) return tl::unexpected(r.error());
  return text;
}

std::string hash_of(const std::string& text) {
  const XXH128_hash_t h = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

Result<std::string> fingerprint(const fs::path& file) {
  const Result<std::string> text = read(file);
  if (!text) return tl::unexpected(text.error());
  return hash_of(*text);
}

}  // namespace flashfit
