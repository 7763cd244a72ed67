#include "doctor/requests/by_name.hpp"

#include "core/base/ascii.hpp"
#include "doctor/examine/examine.hpp"
#include "doctor/packaging/wheel_name.hpp"
#include "doctor/requests/link.hpp"

namespace flashfit::doctor::requests {
namespace {

/// A wheel of that name and version that fits everywhere, so that nothing but the labels can be wrong.
std::string name_that_fits(const std::string& name, const doctor::Version& version) {
  return doctor::underscored(name) + "-" + version.text + "-py3-none-any.whl";
}

bool is_build(std::string_view text) {
  const auto digits_behind = [&](std::string_view word) {
    return text.starts_with(word) && text.size() > word.size() && is_digit(text[word.size()]);
  };
  return text == "cpu" || text == "xpu" || digits_behind("cu") || digits_behind("rocm");
}

}  // namespace

std::optional<doctor::Version> pinned(const doctor::Requirement& package) {
  using Operator = doctor::Specifier::Operator;
  for (const doctor::Specifier& clause : package.versions) {
    if (clause.op == Operator::kEqual && !clause.wildcard) return clause.version;
    if (clause.op == Operator::kSame)
      if (auto version = doctor::parse_version(std::string_view(clause.text).substr(3))) return *version;
  }
  return std::nullopt;
}

std::string build_of(const Indexes& indexes) {
  if (is_build(indexes.torch_backend)) return indexes.torch_backend;
  for (const std::string& address : indexes.addresses) {
    std::string_view text = address;
    while (text.ends_with('/')) text.remove_suffix(1);
    text.remove_prefix(std::min(text.find_last_of('/') + 1, text.size()));
    if (is_build(text)) return std::string(text);
  }
  return "";
}

bool build_is_sole(const Indexes& indexes) {
  return is_build(indexes.torch_backend) || (indexes.replaced && indexes.addresses.size() == 1);
}

std::vector<Problem> wheel_problems(const std::string& file_name, const doctor::Question& question) {
  return std::move(doctor::examine_names({file_name}, question).front().problems);
}

bool installs(const std::string& file_name, const doctor::Question& question) {
  const auto problems = wheel_problems(file_name, question);
  return std::none_of(problems.begin(), problems.end(),
                      [](const Problem& p) { return p.code == "FF201" || p.code == "FF202" || p.code == "FF206"; });
}

std::vector<Problem> label_problems(const doctor::Requirement& package, const doctor::Question& question) {
  const auto version = pinned(package);
  if (!version) return {};
  return wheel_problems(name_that_fits(package.name, *version), question);
}

}  // namespace flashfit::doctor::requests
