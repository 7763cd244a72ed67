// Any bytes as ld.so.cache, as ld.so.conf and as a search path: the first byte says which.
#include <set>

#include "doctor/dynamic_loader/ld_so_cache.hpp"
#include "doctor/dynamic_loader/ld_so_conf.hpp"
#include "doctor/dynamic_loader/made_tree.hpp"
#include "doctor/dynamic_loader/search_path.hpp"
#include "doctor/fuzz/answer.hpp"

namespace {

using namespace flashfit;
using namespace flashfit::doctor::dynamic_loader;
using doctor::fuzz::require;

void read_cache(doctor::Bytes bytes) {
  const auto cache = LdSoCache::read(doctor::MemorySource(bytes));
  doctor::fuzz::require_answer(cache);
  if (!cache) return;
  require(cache->size() <= bytes.size());
  const auto* const found = cache->find("libc.so.6", LdSoCache::flags_of("x86_64"), {"x86-64-v3", "x86-64-v2"});
  require(found == nullptr || (found->flags == LdSoCache::flags_of("x86_64") && !found->legacy));
}

void require_folders(const std::vector<std::string>& folders) {
  std::set<std::string_view> seen;
  for (const std::string& folder : folders) {
    require(folder.starts_with('/') && (folder.size() == 1 || !folder.ends_with('/')));
    require(seen.insert(folder).second);
  }
}

void read_conf(std::string_view text) {
  MadeTree tree;
  tree.add_file("/etc/ld.so.conf", text);
  tree.add_file("/etc/ld.so.conf.d/a.conf", text);
  tree.add_link("/etc/ld.so.conf.d/b.conf", "a.conf");
  require_folders(read_ld_so_conf(tree));
}

void split_path(std::string_view text) {
  const PathTokens tokens{.origin = "/opt/app", .lib = "lib64"};
  require_folders(split_search_path(text, ":;", tokens, "/here"));
  require_folders(split_search_path(text, ":", tokens, ""));
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const doctor::Bytes bytes = std::as_bytes(std::span(data + 1, size - 1));
  if (data[0] % 4 == 1) {
    read_conf(doctor::as_text(bytes));
  } else if (data[0] % 4 == 2) {
    split_path(doctor::as_text(bytes));
  } else {
    read_cache(bytes);
  }
  return 0;
}
