// FF603: a symbol version that the library loaded does not have. FF604: a symbol of a version that it has.
#include <algorithm>
#include <map>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/bytes/listing.hpp"
#include "doctor/dynamic_loader/all_problems.hpp"
#include "doctor/dynamic_loader/load_faults.hpp"
#include "doctor/dynamic_loader/other_copies.hpp"
#include "doctor/knowledge/cuda_libraries.hpp"
#include "doctor/rules/system_libraries.hpp"

namespace flashfit::doctor::dynamic_loader {
namespace {

/// Objects and the library that they want something of: one problem each.
using Pairs = std::map<std::pair<int, int>, std::vector<std::string>>;

std::string prefix_of(const std::string& version) { return version.substr(0, version.rfind('_') + 1); }

/// The newest of one family: "GLIBCXX_3.4.30" of "GLIBCXX_"; "" if none is a number.
std::string newest(const std::vector<std::string>& versions, const std::string& prefix) {
  RuntimeVersion best;
  std::string text;
  for (const std::string& version : versions) {
    const auto number = parse_runtime_version(version, prefix);
    // GLIBC_ABI_DT_RELR and its like speak of more than a number.
    if (!number || (!text.empty() && *number <= best) || !is_digit(version.back())) continue;
    best = *number;
    text = version;
  }
  return text;
}

/// "(GCC 12)" behind a version of libstdc++.
std::string compiler_of(const std::string& version) {
  const auto number = parse_runtime_version(version, "GLIBCXX_");
  if (!number || number->major != 3 || number->minor != 4) return "";
  return fmt::format(", of GCC {}", doctor::gcc_of_glibcxx(number->patch));
}

std::string fix_of(const LoadPlan& plan, int provider, const std::string& version) {
  const auto has = [&](const Object& object) {
    return std::find(object.versions.begin(), object.versions.end(), version) != object.versions.end();
  };
  if (const Candidate* const copy = find_other_copy(plan, provider, has))
    return fmt::format("{} has it: {}", printable_path(copy->path), prefer(plan, *copy, provider));
  if (const auto number = parse_runtime_version(version, "GLIBCXX_"))
    return fmt::format("libstdc++ of GCC {} or later (conda's libstdcxx-ng, or a newer system)",
                       doctor::gcc_of_glibcxx(number->patch));
  if (version.starts_with("CXXABI_")) return "a newer libstdc++ (conda's libstdcxx-ng, or a newer system)";
  if (const auto number = parse_runtime_version(version, "GLIBC_"))
    return fmt::format("a system with glibc {} or later", number->str());
  return "";
}

}  // namespace

void check_versions(const LoadPlan& plan, PlanMark since, std::vector<Problem>& problems) {
  Pairs pairs;
  for (const MissingVersion& missing : missing_versions(plan, since.objects))
    pairs[{missing.object, missing.provider}].push_back(missing.version);
  for (const auto& [pair, versions] : pairs) {
    const auto& [object, provider] = pair;
    const auto& has = plan.objects[static_cast<std::size_t>(provider)].found.object->versions;
    const std::string prefix = prefix_of(versions.front());
    const std::string most = newest(versions, prefix), last = newest(has, prefix);
    const std::string& named = most.empty() ? versions.front() : most;
    std::string message = fmt::format("needs {}{}, which {} lacks", printable(named), compiler_of(named),
                                      describe_loaded(plan, provider));
    if (!last.empty()) message += fmt::format(": it ends at {}", printable(last));
    problems.push_back({"FF603", Severity::kMisfit, message, plan.objects[static_cast<std::size_t>(object)].found.path,
                        fix_of(plan, provider, named)});
  }
}

void check_symbols(const LoadPlan& plan, PlanMark since, std::vector<Problem>& problems) {
  Pairs pairs;
  for (const MissingSymbol& missing : missing_symbols(plan, since.objects))
    pairs[{missing.object, missing.provider}].push_back(missing.symbol);
  for (const auto& [pair, symbols] : pairs) {
    const auto& [object, provider] = pair;
    const LoadedObject& library = plan.objects[static_cast<std::size_t>(provider)];
    const std::string& symbol = symbols.front();
    const auto has = [&](const Object& other) {
      return std::binary_search(other.symbols.begin(), other.symbols.end(), symbol);
    };
    std::vector<std::string> names;
    for (const std::string& name : symbols) names.push_back(printable(name));
    std::string fix;
    if (const Candidate* const copy = find_other_copy(plan, provider, has)) {
      fix = fmt::format("{} has {}: {}", printable_path(copy->path), names.size() == 1 ? "it" : "them",
                        prefer(plan, *copy, provider));
    } else if (const auto* const known = doctor::find_cuda_library(library.found.object->dynamic.soname, 0)) {
      fix = fmt::format("pip install --upgrade {}", known->package);
    }
    problems.push_back({"FF604", Severity::kMisfit,
                        fmt::format("needs {} of {}, which {} lacks: another release of the library than it was "
                                    "linked with",
                                    doctor::listed(names), printable(library.found.object->dynamic.soname),
                                    describe_loaded(plan, provider)),
                        plan.objects[static_cast<std::size_t>(object)].found.path, fix});
  }
}

}  // namespace flashfit::doctor::dynamic_loader
