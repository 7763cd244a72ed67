#include "doctor/requests/torch_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/printable.hpp"
#include "doctor/knowledge/data.hpp"
#include "doctor/requests/by_name.hpp"
#include "doctor/requests/known_versions.hpp"

namespace flashfit::doctor::requests {
namespace {

using doctor::Problem;
using doctor::Requirement;
using doctor::Severity;
using doctor::Version;

/// Versions of PyTorch, narrowed by one request after the other.
class Versions {
 public:
  /// Those that requests with these clauses may leave: what is known, what they pin, and what may come later.
  explicit Versions(const std::vector<const Requirement*>& all) {
    const std::vector<Version>& known = doctor::knowledge_data().torch_versions;
    real_ = known;
    std::vector<doctor::Specifiers> wishes;
    for (const Requirement* const one : all) {
      if (auto version = pinned(*one)) real_.push_back(std::move(*version));
      // `===` compares texts and has no version.
      doctor::Specifiers clauses = one->versions;
      std::erase_if(clauses, [](const auto& clause) { return clause.op == doctor::Specifier::Operator::kSame; });
      wishes.push_back(std::move(clauses));
    }
    later_ = possible_versions("torch", wishes);
    std::erase_if(later_, [&](const Version& version) { return version <= known.front(); });
  }

  void narrow(const Requirement& request) {
    const auto refuses = [&](const Version& version) { return refusing(request.versions, version) != nullptr; };
    std::erase_if(real_, refuses);
    std::erase_if(later_, refuses);
  }

  bool none_known() const { return real_.empty(); }
  bool none() const { return real_.empty() && later_.empty(); }

 private:
  std::vector<Version> real_, later_;
};

Problem problem_of(const Versions& left, const std::string& asked) {
  if (left.none())
    return {"FF755", Severity::kMisfit, fmt::format("PyTorch has no release that is {}", asked), "",
            "versions that a release has"};
  const auto& data = doctor::knowledge_data();
  return {"FF755", Severity::kUnknown,
          fmt::format("no known release of PyTorch is {}: the newest is {} ({})", asked,
                      data.torch_versions.front().text, doctor::words_of_date(data)),
          "", "a release that is known, or newer knowledge"};
}

bool serve_both(const Requirement& one, const Requirement& other) {
  Versions both({&one, &other});
  both.narrow(one);
  both.narrow(other);
  return !both.none_known();
}

}  // namespace

std::optional<Problem> bounds_problem(const Requirement& package) {
  // Nearly every request ends here, and a list may have very many.
  const auto takes = [&](const Version& version) { return refusing(package.versions, version) == nullptr; };
  const std::vector<Version>& known = doctor::knowledge_data().torch_versions;
  if (std::any_of(known.begin(), known.end(), takes)) return std::nullopt;
  Versions left({&package});
  left.narrow(package);
  if (!left.none_known()) return std::nullopt;
  return problem_of(left, "among these versions");
}

std::optional<OutOfBounds> out_of_bounds(const RequestList& list, const Places& places) {
  std::vector<const Requirement*> all;
  for (const std::size_t place : places) all.push_back(&list.requests[place].package);
  Versions left(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    left.narrow(*all[i]);
    if (!left.none_known()) continue;
    const auto other = std::find_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const Requirement* earlier) { return !serve_both(*earlier, *all[i]); }) -
                       all.begin();
    if (static_cast<std::size_t>(other) == i)
      return OutOfBounds{places[i], problem_of(left, "among these versions and those of the lines before it")};
    const Request& earlier = list.requests[places[static_cast<std::size_t>(other)]];
    return OutOfBounds{places[i], problem_of(left, fmt::format("among these versions and those of line {}, {}",
                                                               earlier.line, printable(earlier.text, 100)))};
  }
  return std::nullopt;
}

}  // namespace flashfit::doctor::requests
