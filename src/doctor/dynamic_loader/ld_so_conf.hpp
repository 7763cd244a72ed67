#pragma once
// /etc/ld.so.conf: the folders that ldconfig puts into ld.so.cache. The loader itself never reads it.
#include <string>
#include <vector>

#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::dynamic_loader {

/// The folders in the order of the file, each once, `include PATTERN` followed (in the order of names, 8 deep, each
/// file once). A file that is not there or longer than 64 KB has none; what ldconfig would warn of is passed over.
std::vector<std::string> read_ld_so_conf(const FileTree& tree, const std::string& path = "/etc/ld.so.conf");

/// Whether `name` fits a shell's pattern of '*', '?' and other characters, which stand for themselves.
bool fits_pattern(std::string_view name, std::string_view pattern);

}  // namespace flashfit::doctor::dynamic_loader
