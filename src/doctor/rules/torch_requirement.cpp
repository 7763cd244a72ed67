#include "doctor/rules/torch_requirement.hpp"

#include <algorithm>

#include "doctor/facts/torch_facts.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/packaging/marker.hpp"
#include "doctor/packaging/metadata.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {
namespace {

std::uint64_t part(const Version& version, std::size_t i) {
  return version.release.size() > i ? version.release[i] : 0;
}

/// "==2.8.0", "==2.8.*", "~=2.8.0" of another minor version than yours.
bool names_another_build(const Specifier& clause, const Version& yours) {
  using Operator = Specifier::Operator;
  const bool exact = clause.op == Operator::kEqual || clause.op == Operator::kCompatible;
  return exact && clause.version.release.size() > 1 &&
         (part(clause.version, 0) != part(yours, 0) || part(clause.version, 1) != part(yours, 1));
}

/// "==2.8.0" of "https://x/torch-2.8.0%2Bcu128-cp312-cp312-linux_x86_64.whl#sha256=0"; none where it names no wheel.
Specifiers version_of_address(std::string_view address) {
  address = address.substr(0, address.find_first_of("#?"));
  std::string file(address.substr(address.rfind('/') + 1));
  constexpr std::string_view kPlus = "%2B";
  for (const std::string_view spelled : {kPlus, std::string_view("%2b")})
    if (const std::size_t at = file.find(spelled); at != std::string::npos) file.replace(at, spelled.size(), "+");
  const auto name = parse_wheel_name(file);
  // Which build of that version it is, nobody asks where one is installed.
  return name ? parse_specifiers("==" + name->version.text.substr(0, name->version.text.find('+')))
                    .value_or(Specifiers{})
              : Specifiers{};
}

/// What METADATA says of it; nothing if it does not speak of torch.
std::optional<Specifiers> required(const Target& target, const Question& question) {
  const auto metadata = parse_metadata(target.metadata);
  if (!metadata) return std::nullopt;
  std::optional<Specifiers> clauses;
  for (const Requirement& requirement : metadata->requirements) {
    if (requirement.name != "torch" || requirement.optional()) continue;
    if (marker_holds(requirement.marker, {question.python, question.platform}) == false) continue;
    if (!clauses) clauses.emplace();
    const Specifiers versions = requirement.url.empty() ? requirement.versions : version_of_address(requirement.url);
    clauses->insert(clauses->end(), versions.begin(), versions.end());
  }
  return clauses;
}

const CompanionRelease* known_release(const Target& target) {
  const auto name = parse_wheel_name(target.file_name);
  const Companion* const companion = name ? knowledge_data().companion(name->name) : nullptr;
  if (companion == nullptr) return nullptr;
  const Version version = name->version.public_part();
  for (const CompanionRelease& release : companion->releases)
    if (refusing(release.versions, version) == nullptr) return &release;
  return nullptr;
}

}  // namespace

std::optional<RefusedTorch> refused_torch(const Target& target, const Question& question) {
  if (!question.torch || !question.torch->version) return std::nullopt;
  const Version& yours = *question.torch->version;
  if (const auto clauses = required(target, question); clauses && !clauses->empty()) {
    const Specifier* const clause = refusing(*clauses, yours);
    if (clause == nullptr) return std::nullopt;
    return RefusedTorch{.text = clause->text, .other_build = names_another_build(*clause, yours)};
  }
  // Of libraries on the stable interface alone the functions decide.
  if (!target.binaries.empty() && !uses_cxx_of_torch(target)) return std::nullopt;
  const CompanionRelease* const release = known_release(target);
  if (release == nullptr || release->loads_under(yours.public_part())) return std::nullopt;
  return RefusedTorch{
      .text = refusing(release->other, yours.public_part())->text, .known_alone = true, .other_build = true};
}

std::string release_for(std::string_view package, const TorchFacts& torch) {
  // Of packages that do without their compiled part under another PyTorch, too.
  const auto& all = knowledge_data().companions;
  const auto companion = std::find_if(
      all.begin(), all.end(), [&](const Companion& one) { return one.package == package && one.other == "torch"; });
  if (companion == all.end() || !torch.version) return "";
  const Version yours = torch.version->public_part();
  for (const CompanionRelease& release : companion->releases)
    if (release.asks_for(yours)) return release.release;
  for (const CompanionRelease& release : companion->releases)
    if (release.loads_under(yours)) return release.release;
  return "";
}

bool uses_cxx_of_torch(const Target& target) {
  return std::any_of(target.binaries.begin(), target.binaries.end(), [](const Binary& binary) {
    const TorchAbi abi = binary.extension.torch_abi;
    return abi != TorchAbi::kNone && abi != TorchAbi::kStable;
  });
}

}  // namespace flashfit::doctor
