// FF601: compiled modules that RECORD lists and that are not there. Links into an installer's cache that was emptied
// since leave such, and clean-ups that went too far.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"
#include "doctor/environment/site.hpp"
#include "doctor/packaging/python_module.hpp"

namespace flashfit::doctor::environment {
namespace {

/// Whether this Python would import it, and the package may want it: modules for tests are often taken away.
bool is_wanted(const std::string& path, const doctor::Question& question) {
  if (!question.platform || !question.python || question.platform->system != doctor::Platform::System::kGlibc)
    return false;
  const auto module = doctor::parse_python_module(path);
  const bool ours = module && (module->stable || (module->minor == question.python->minor &&
                                                  doctor::is_named_for_linux_on(path, question.platform->arch)));
  return ours && lower(path).find("test") == std::string::npos;
}

bool has_modules(const doctor::Target& target, const doctor::Question& question) {
  return std::any_of(target.binaries.begin(), target.binaries.end(),
                     [&](const Binary& binary) { return is_module(binary) && is_of_this_python(binary, question); });
}

}  // namespace

void check_gone_modules(const Site& site, const Package& package, doctor::TargetReport& report) {
  std::vector<std::string> gone;
  for (const std::string& path : package.gone_modules)
    if (std::string relative = package.relative(path); is_wanted(relative, site.question))
      gone.push_back(std::move(relative));
  if (gone.empty()) return;
  report.problems.push_back(
      {"FF601", has_modules(report.target, site.question) ? Severity::kDegrades : Severity::kMisfit,
       fmt::format("is not there, though its package installed it{}",
                   gone.size() == 1 ? "" : fmt::format("; nor are {} more of its modules", gone.size() - 1)),
       gone.front(), "install the package again"});
  mend_by_reinstalling(package.distribution, "brings back what is gone", report);
}

}  // namespace flashfit::doctor::environment
