#include "doctor/knowledge/picked_cuda.hpp"

#include <algorithm>
#include <set>

namespace flashfit::doctor {

std::string cuda_digits(const std::string& torch_version) {
  const std::size_t cu = torch_version.find("+cu");
  return cu == std::string::npos
             ? ""
             : torch_version.substr(cu + 3, torch_version.find_first_not_of("0123456789", cu + 3) - cu - 3);
}

std::string carried_cuda(const Knowledge& row, std::string_view path) {
  std::string star = star_of(row.files, path);
  return star.find_first_not_of("0123456789") == std::string::npos ? star : "";
}

std::vector<std::string> carried_cudas(const Knowledge& row, const std::vector<std::string>& paths) {
  std::set<std::pair<std::size_t, std::string>> found;  // "90" before "118"
  for (const std::string& path : paths)
    if (std::string cuda = carried_cuda(row, path); !cuda.empty()) found.emplace(cuda.size(), std::move(cuda));
  std::vector<std::string> list;
  for (const auto& [size, cuda] : found) list.push_back(cuda);
  return list;
}

std::string picked_cuda(const Knowledge& row, const std::vector<std::string>& carried, const std::string& wanted) {
  if (std::find(carried.begin(), carried.end(), wanted) != carried.end()) return wanted;
  if (row.kind != Knowledge::Kind::kPicksNearCuda || wanted.size() < 2) return "";
  // Of the same major version the newest below, else the oldest above.
  std::string below, above;
  for (const std::string& one : carried) {
    if (one.size() != wanted.size() || one.compare(0, one.size() - 1, wanted, 0, one.size() - 1) != 0) continue;
    if (one < wanted) below = one;
    if (one > wanted && above.empty()) above = one;
  }
  return below.empty() ? above : below;
}

std::string nearest_cuda(const std::vector<std::string>& carried, const std::string& wanted) {
  std::string nearest;
  for (const std::string& one : carried)
    if (one.size() == wanted.size() && one.substr(0, 2) == wanted.substr(0, 2)) nearest = one;
  return nearest;
}

std::string file_for_cuda(const Knowledge& row, std::string_view cuda) {
  std::string name(row.files.substr(row.files.rfind('/') + 1));
  const std::size_t star = name.find('*');
  return star == std::string::npos ? name : name.replace(star, 1, cuda);
}

}  // namespace flashfit::doctor
