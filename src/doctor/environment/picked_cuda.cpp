#include "doctor/environment/picked_cuda.hpp"

#include <algorithm>
#include <set>

#include "core/base/printable.hpp"

namespace flashfit::doctor::environment {

std::string cuda_digits(const std::string& torch_version) {
  const std::size_t cu = torch_version.find("+cu");
  return cu == std::string::npos
             ? ""
             : torch_version.substr(cu + 3, torch_version.find_first_not_of("0123456789", cu + 3) - cu - 3);
}

std::vector<std::string> carried_cudas(const Package& package, const Knowledge& row) {
  std::set<std::pair<std::size_t, std::string>> found;  // "90" before "118"
  for (const FileFacts& file : package.files) {
    std::string star = star_of(row.files, package.relative(file.path));
    if (!star.empty() && star.find_first_not_of("0123456789") == std::string::npos)
      found.emplace(star.size(), std::move(star));
  }
  std::vector<std::string> list;
  for (const auto& [size, star] : found) list.push_back(printable(star));
  return list;
}

std::string picked_cuda(const std::vector<std::string>& carried, const std::string& wanted, Knowledge::Kind kind) {
  if (std::find(carried.begin(), carried.end(), wanted) != carried.end()) return wanted;
  if (kind != Knowledge::Kind::kPicksNearCuda || wanted.size() < 2) return "";
  // Of the same major version the newest below, else the oldest above.
  std::string below, above;
  for (const std::string& one : carried) {
    if (one.size() != wanted.size() || one.compare(0, one.size() - 1, wanted, 0, one.size() - 1) != 0) continue;
    if (one < wanted) below = one;
    if (one > wanted && above.empty()) above = one;
  }
  return below.empty() ? above : below;
}

}  // namespace flashfit::doctor::environment
