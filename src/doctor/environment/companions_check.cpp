// FF406: a package that another one asks for in another release, where it is known what comes of that. Installers say
// so once, in a warning, and install it all the same.
#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "doctor/environment/site.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/packaging/marker.hpp"
#include "doctor/packaging/metadata.hpp"

namespace flashfit::doctor::environment {
namespace {

/// What METADATA of the package asks of `other`, without extras.
doctor::Specifiers asked_of(const Package& package, const std::string& other, const doctor::Question& question) {
  doctor::Specifiers clauses;
  const auto metadata = doctor::parse_metadata(package.distribution.metadata);
  if (!metadata) return clauses;
  for (const doctor::Requirement& one : metadata->requirements) {
    if (one.name != other || one.optional()) continue;
    if (doctor::marker_holds(one.marker, {question.python, question.platform}) == false) continue;
    clauses.insert(clauses.end(), one.versions.begin(), one.versions.end());
  }
  return clauses;
}

/// The one release that the clauses name; nothing if they take several, or none.
std::optional<std::string> one_release(const doctor::Specifiers& clauses) {
  for (const doctor::Specifier& clause : clauses)
    if (clause.op == doctor::Specifier::Operator::kEqual && !clause.wildcard &&
        refusing(clauses, clause.version) == nullptr)
      return clause.version.text;
  return std::nullopt;
}

}  // namespace

void check_companions(const Site& site, const Package& package, doctor::TargetReport& report) {
  const Distribution& d = package.distribution;
  const auto version = doctor::parse_version(d.version);
  if (!version) return;
  for (const doctor::Companion& companion : doctor::knowledge_data().companions) {
    if (companion.other != d.name || companion.installed.empty()) continue;
    const Package* const asker = site.find(companion.package);
    if (asker == nullptr) continue;
    const doctor::Specifiers asked = asked_of(*asker, d.name, site.question);
    const doctor::Specifier* const clause = refusing(asked, *version);
    if (clause == nullptr) continue;
    const auto release = one_release(asked);
    report.problems.push_back(
        {"FF406", doctor::Severity::kDegrades,
         fmt::format("{} {} asks for {} {}, and {} is installed: {}", asker->distribution.name,
                     asker->distribution.version, d.name, printable(clause->text, 40), d.version, companion.installed),
         "", release ? fmt::format("{} {}", d.name, printable(*release)) : ""});
    if (release && report.mend.empty()) {
      report.mend = fmt::format("pip install {}=={}", d.name, printable(*release));
      report.mend_why = fmt::format("the release that {} asks for", asker->distribution.name);
    }
  }
}

}  // namespace flashfit::doctor::environment
