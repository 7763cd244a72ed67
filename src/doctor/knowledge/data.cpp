#include "doctor/knowledge/data.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/bytes/source.hpp"
#include "doctor/knowledge/built_in.hpp"
#include "doctor/knowledge/data_reader.hpp"

namespace flashfit::doctor {
namespace {

constexpr int kFormat = 1, kDeepest = 8;

/// "2026-11-23".
bool is_date(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00";
  return text.size() == kShape.size() && std::equal(text.begin(), text.end(), kShape.begin(), [](char c, char shape) {
           return shape == '0' ? is_digit(c) : c == shape;
         });
}

/// "12.8" -> 12080.
CudaVersion read_cuda(const DataReader& text) {
  const Version version = text.parsed(&parse_version);
  const bool sound = version.release.size() == 2 && version.release[0] < 100 && version.release[1] < 100;
  if (!sound) text.refuse("a version of CUDA as 12.8");
  return sound ? static_cast<CudaVersion>(version.release[0] * 1000 + version.release[1] * 10) : 0;
}

TorchRelease read_torch_release_row(const DataReader& row) {
  TorchRelease release{};
  const Version version = row.at("version").parsed(&parse_version);
  if (version.release.size() != 3) {
    row.at("version").refuse("three numbers as 2.9.1");
    return release;
  }
  release.major = version.release[0];
  release.minor = version.release[1];
  release.last_patch = version.release[2];
  if (!row.has("python")) return release;
  constexpr std::uint64_t kMostMinor = 999;
  const auto python = row.at("python").items();
  const auto cuda = row.at("cuda").items();
  if (python.size() != 2) {
    row.at("python").refuse("the first and the last minor version of CPython 3");
    return release;
  }
  release.first_python = static_cast<int>(python[0].number(kMostMinor));
  release.last_python = static_cast<int>(python[1].number(kMostMinor));
  if (cuda.size() > release.cuda.size()) row.at("cuda").refuse(fmt::format("{} at most", release.cuda.size()));
  for (std::size_t i = 0; i < std::min(cuda.size(), release.cuda.size()); ++i) release.cuda[i] = read_cuda(cuda[i]);
  return release;
}

TorchTargets read_targets(const DataReader& row) {
  TorchTargets targets{.cuda = read_cuda(row.at("cuda")), .list = row.at("targets").text()};
  const Version from = row.at("from").parsed(&parse_version);
  if (from.release.size() == 2 && from.release[0] == 2)
    targets.from_minor = from.release[1];
  else
    row.at("from").refuse("a version of PyTorch as 2.8");
  constexpr std::size_t kLongest = 5;  // "12.0+"
  const auto words = split(targets.list, ' ');
  const bool sound = std::all_of(words.begin(), words.end(), [](std::string_view word) {
    return !word.empty() && word.size() <= kLongest && word.find_first_not_of("0123456789.+") == std::string_view::npos;
  });
  if (!sound) row.at("targets").refuse("compute capabilities as \"7.5 8.0 12.0+\"");
  return targets;
}

/// "==2.9.1" -> "==2.9.*": names of C++, and the classes behind them, are those of a minor version.
Specifier of_minor(Specifier clause) {
  constexpr std::size_t kMinor = 2;
  if (clause.op != Specifier::Operator::kEqual || clause.wildcard || clause.version.release.size() <= kMinor)
    return clause;
  clause.version.release.resize(kMinor);
  clause.wildcard = true;
  return clause;
}

CompanionRelease read_release(const DataReader& row, const std::string& other) {
  CompanionRelease release{.release = row.at("release").text(), .other_text = row.at(other.c_str()).text()};
  release.versions = row.at("versions").parsed(&parse_specifiers);
  release.other = row.at(other.c_str()).parsed(&parse_specifiers);
  for (const Specifier& clause : release.other) release.loads.push_back(of_minor(clause));
  return release;
}

Companion read_companion(const DataReader& row) {
  Companion companion{.package = row.at("package").text(), .source = row.at("source").text()};
  if (row.has("other")) companion.other = row.at("other").text();
  if (row.has("installed")) companion.installed = row.at("installed").text();
  if (row.has("on_linux_alone")) companion.on_linux_alone = row.at("on_linux_alone").flag();
  if (row.has("runs")) {
    companion.runs = row.at("runs").text();
    companion.code = row.at("code").text();
    if (companion.code != "FF406" && companion.code != "FF712") row.at("code").refuse("FF406, FF712");
  }
  constexpr std::uint64_t kMostMajor = 99;
  if (row.has("cuda"))
    for (const DataReader& one : row.at("cuda").items())
      companion.cuda.push_back({.versions = one.at("versions").parsed(&parse_specifiers),
                                .major = static_cast<int>(one.at("major").number(kMostMajor))});
  for (const DataReader& one : row.at("releases").items())
    companion.releases.push_back(read_release(one, companion.other));
  return companion;
}

std::vector<StableFunction> read_stable_functions(const DataReader& groups) {
  std::vector<StableFunction> functions;
  for (const std::string& since : groups.keys()) {
    const DataReader group = groups.at(since.c_str());
    auto version = parse_version(since);
    if (!version) group.refuse(version.error().message);
    for (const DataReader& name : group.items())
      if (version) functions.push_back({name.text(), *version});
  }
  std::sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return functions;
}

std::vector<CxxFunction> read_cxx_functions(const DataReader& groups) {
  std::vector<CxxFunction> functions;
  for (const DataReader& group : groups.items()) {
    CxxFunction one;
    if (group.has("since")) one.since = group.at("since").parsed(&parse_version);
    if (group.has("until")) one.until = group.at("until").parsed(&parse_version);
    for (const DataReader& name : group.at("names").items()) {
      one.name = name.text();
      functions.push_back(one);
    }
  }
  std::sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return functions;
}

PackageRow read_package(const DataReader& row) {
  constexpr std::size_t kLongest = 500;
  constexpr std::string_view kKeys[] = {"kind",  "package", "versions", "files", "gpus",    "other",
                                        "index", "cudas",   "says",     "fix",   "checked", "source"};
  PackageRow texts;
  for (const std::string& key : row.keys()) {
    const DataReader value = row.at(key.c_str());
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
      value.refuse(fmt::format("no such key; {}", fmt::join(kKeys, ", ")));
    std::string text = value.text();
    if (text.size() > kLongest) value.refuse(fmt::format("at most {} characters", kLongest));
    texts.emplace(key, std::move(text));
  }
  for (const char* const key : {"kind", "package", "source"})
    if (!row.has(key)) row.at(key).refuse("a text");
  if (std::find(kPackageKinds.begin(), kPackageKinds.end(), texts["kind"]) == kPackageKinds.end())
    row.at("kind").refuse(fmt::format("{}", fmt::join(kPackageKinds, ", ")));
  for (const char* const kind : {"renamed", "clashes", "only_beside", "refused_beside"})
    if (texts["kind"] == kind && !row.has("other")) row.at("other").refuse("the other package's name");
  if (texts["kind"] == "opens" && !row.has("other")) row.at("other").refuse("the library's name");
  if (!texts["versions"].empty()) row.at("versions").parsed(&parse_specifiers);
  return texts;
}

/// The first row for the package; null: none.
const ChoosesItself* chooser_of(const std::vector<ChoosesItself>& rows, std::string_view package) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const ChoosesItself& one) {
    const std::string_view name = one.package;
    return name.ends_with('*') ? package.starts_with(name.substr(0, name.size() - 1)) : package == name;
  });
  return found == rows.end() ? nullptr : &*found;
}

/// In a list by name; null: not in it.
template <class T>
const T* find_name(const std::vector<T>& list, std::string_view name) {
  const auto found =
      std::lower_bound(list.begin(), list.end(), name, [](const T& one, std::string_view n) { return one.name < n; });
  return found == list.end() || found->name != name ? nullptr : &*found;
}

void derive(KnowledgeData& data) {
  for (const TorchRelease& release : data.torch_releases)
    for (std::uint64_t patch = 0; patch <= std::min<std::uint64_t>(release.last_patch, 99); ++patch)
      if (auto version = parse_version(fmt::format("{}.{}.{}", release.major, release.minor, patch)))
        data.torch_versions.push_back(std::move(*version));
  sort_newest_first(data.torch_versions);
  for (const Companion& companion : data.companions) {
    data.related.insert(companion.package);
    data.related.insert(companion.other);
    for (const CompanionRelease& release : companion.releases) add_ends(release.other, data.ends[companion.other]);
  }
  for (auto& [package, ends] : data.ends) sort_newest_first(ends);
}

KnowledgeData& in_use() {
  // What is built in is sound: a test holds it.
  static KnowledgeData data = parse_knowledge(built_in_knowledge()).value_or(KnowledgeData{});
  return data;
}

}  // namespace

const Companion* KnowledgeData::companion(std::string_view package) const {
  const auto found = std::find_if(companions.begin(), companions.end(), [&](const Companion& one) {
    return one.package == package && one.other == "torch" && one.runs.empty();
  });
  return found == companions.end() ? nullptr : &*found;
}

bool KnowledgeData::chooses_itself(std::string_view package) const {
  const ChoosesItself* const row = chooser_of(choosers, package);
  return row != nullptr && !row->does_without;
}

bool KnowledgeData::does_without(std::string_view package) const {
  const ChoosesItself* const row = chooser_of(choosers, package);
  return row != nullptr && row->does_without;
}

bool KnowledgeData::lacks_sources(std::string_view package) const {
  return std::find(without_sources.begin(), without_sources.end(), package) != without_sources.end();
}

const Version* KnowledgeData::stable_function_since(std::string_view name) const {
  const StableFunction* const found = find_name(stable_functions, name);
  return found == nullptr ? nullptr : &found->since;
}

const CxxFunction* KnowledgeData::cxx_function(std::string_view name) const { return find_name(cxx_functions, name); }

Result<KnowledgeData> parse_knowledge(std::string_view text) {
  bool deep = false;
  const auto json = nlohmann::json::parse(
      text,
      [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        deep |= depth > kDeepest;
        return !deep;
      },
      false);
  if (json.is_discarded() || deep || !json.is_object())
    return fail(Code::kInvalidArgument, fmt::format("no JSON object{}", deep ? " of this kind: nested too deep" : ""));
  std::string wrong;
  const DataReader root(json, "", wrong);
  if (root.at("format").number(kFormat) != kFormat) root.at("format").refuse(std::to_string(kFormat));
  KnowledgeData data{.date = root.at("date").text()};
  if (!is_date(data.date)) root.at("date").refuse("a date as 2026-11-23");
  const DataReader torch = root.at("torch");
  for (const DataReader& row : torch.at("releases").items()) data.torch_releases.push_back(read_torch_release_row(row));
  for (const DataReader& row : torch.at("targets").items()) data.torch_targets.push_back(read_targets(row));
  if (data.torch_releases.empty()) torch.at("releases").refuse("at least one");
  for (const DataReader& row : root.at("companions").items()) data.companions.push_back(read_companion(row));
  for (const DataReader& name : root.at("without_sources").items()) data.without_sources.push_back(name.text());
  for (const DataReader& row : root.at("chooses_itself").items())
    data.choosers.push_back(
        {row.at("package").text(), row.has("does_without") && row.at("does_without").flag(), row.at("source").text()});
  for (const DataReader& row : root.at("packages").items()) data.packages.push_back(read_package(row));
  data.stable_functions = read_stable_functions(root.at("stable_functions"));
  // Files that people made before it was part of this one lack it.
  if (root.has("cxx_functions")) data.cxx_functions = read_cxx_functions(root.at("cxx_functions"));
  if (!wrong.empty()) return fail(Code::kInvalidArgument, std::move(wrong));
  derive(data);
  return data;
}

void sort_newest_first(std::vector<Version>& versions) {
  std::sort(versions.begin(), versions.end(), [](const Version& a, const Version& b) { return b < a; });
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
}

void add_ends(const Specifiers& clauses, std::vector<Version>& ends) {
  for (const Specifier& clause : clauses) {
    Version above = clause.version;
    above.release.insert(above.release.end(), {0, 0, 0, 1});
    above.pre.reset();
    above.post.reset();
    above.dev.reset();
    ends.push_back(clause.version);
    ends.push_back(std::move(above));
  }
}

std::string words_of_date(const KnowledgeData& data) {
  return fmt::format("known on {}{}", data.date, data.origin.empty() ? "" : " by " + printable(data.origin));
}

const KnowledgeData& knowledge_data() { return in_use(); }

Result<void> use_knowledge(const std::string& path) {
  const auto refused = [&](const Error& why) {
    return fail(Code::kInvalidArgument,
                fmt::format("knowledge {}: {}; accepted: a file as data/knowledge.json", printable(path), why.message));
  };
  const auto file = FileSource::open(path);
  if (!file) return refused(file.error());
  const auto bytes = read_part(*file, 0, file->size(), kLargestKnowledge, "knowledge");
  if (!bytes) return refused(bytes.error());
  auto data = parse_knowledge(as_text(*bytes));
  if (!data) return refused(data.error());
  data->origin = path;
  in_use() = std::move(*data);
  return {};
}

}  // namespace flashfit::doctor
