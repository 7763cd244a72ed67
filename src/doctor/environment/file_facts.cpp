#include "doctor/environment/file_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <unordered_map>

#include "core/base/printable.hpp"
#include "doctor/bytes/side_by_side.hpp"
#include "doctor/facts/binary_format.hpp"
#include "doctor/facts/facts_cache.hpp"
#include "doctor/facts/facts_codec.hpp"
#include "doctor/facts/read_binary.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileTree;

constexpr std::int64_t kSettled = 2;  // seconds: what changed later may change again under the same time

std::string mark_of(const NativeFile& file) {
  return fmt::format("{}:{}:{}:{}", file.id.device, file.id.number, file.size, file.stamp);
}

using Known = std::unordered_map<std::string, FileFacts>;

Known known_facts(const doctor::FactsCache& cache, const std::string& name) {
  Known known;
  const auto text = cache.find_text(name);
  if (!text) return known;
  doctor::FactsReader reader(*text);
  std::vector<FileFacts> list;
  reader(list);
  if (!reader.ok() || !reader.ended()) return known;
  for (FileFacts& facts : list) known.emplace(facts.path, std::move(facts));
  return known;
}

FileFacts read_one(const FileTree& tree, const NativeFile& file, doctor::FactsBudget& budget) {
  FileFacts facts{.path = file.path, .mark = mark_of(file), .id = file.id};
  if (budget.exhausted()) return facts;
  const auto source = tree.open(file.path);
  if (!source) {
    facts.error = source.error().message;
    return facts;
  }
  const doctor::SourceContent content(**source);
  const auto head = content.head(doctor::kHeadSize);
  if (const auto why = head ? doctor::broken_by_name(file.path, *head) : ""; !why.empty())
    facts.error = printable(file.path, 300) + ": " + std::string(why);
  if (!head || !facts.error.empty() || !doctor::may_be_binary(*head)) return facts;
  auto binaries = doctor::read_binaries(content, file.path, budget);
  if (!binaries) {
    facts.error = printable(file.path, 300) + ": " + binaries.error().message;
    return facts;
  }
  facts.binaries = std::move(*binaries);
  if (facts.binaries.size() == 1 && facts.binaries[0].kind == doctor::BinaryKind::kElf)
    facts.object = dynamic_loader::read_object(**source, dynamic_loader::elf_machine(facts.binaries[0].machine));
  return facts;
}

void keep(const doctor::FactsCache& cache, const std::string& name, const std::vector<NativeFile>& files,
          const std::vector<FileFacts>& facts) {
  const std::int64_t now = std::time(nullptr);
  std::vector<FileFacts> settled;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (files[i].changed != 0 && now - files[i].changed > kSettled && facts[i].error.empty())
      settled.push_back(facts[i]);
  doctor::FactsWriter writer;
  writer(settled);
  cache.keep_text(name, writer.take());
}

}  // namespace

std::vector<FileFacts> read_file_facts(const FileTree& tree, const std::vector<NativeFile>& files,
                                       const std::string& folder, const std::string& name,
                                       const doctor::Progress& progress) {
  const doctor::FactsCache cache(folder);
  Known known = known_facts(cache, name);
  std::vector<FileFacts> facts(files.size());
  std::vector<std::size_t> order;
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto found = known.find(files[i].path);
    if (found != known.end() && found->second.mark == mark_of(files[i])) {
      facts[i] = std::move(found->second);
      facts[i].id = files[i].id;
      continue;
    }
    order.push_back(i);
    all += files[i].size;
  }
  if (order.empty()) return facts;
  // The largest first: the last to be done should be short.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return files[a].size > files[b].size; });
  std::atomic<std::uint64_t> done{0};
  doctor::FactsBudget budget;
  doctor::side_by_side(order.size(), doctor::worker_count(), [&](std::size_t i) {
    facts[order[i]] = read_one(tree, files[order[i]], budget);
    const std::uint64_t now = done += files[order[i]].size;
    if (progress) progress(now, all);
  });
  if (!folder.empty()) keep(cache, name, files, facts);
  return facts;
}

}  // namespace flashfit::doctor::environment
