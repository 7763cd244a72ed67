#include "doctor/mends/mend.hpp"

#include <algorithm>

#include "core/base/ascii.hpp"
#include "doctor/mends/mends.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {
namespace {

std::optional<Mend> mend_by_other(const TargetReport& report, const std::vector<TargetReport>& all) {
  const auto name = parse_wheel_name(report.target.file_name);
  if (!name) return std::nullopt;
  for (const TargetReport& other : all) {
    const auto its = parse_wheel_name(other.target.file_name);
    if (&other == &report || other.verdict != Verdict::kFits || !its || its->name != name->name) continue;
    if (is_plain_path(other.target.target))
      return Mend{"pip install " + shell_word(other.target.target), "another of the files given fits"};
  }
  return std::nullopt;
}

/// What changes least comes first. PyTorch is what everything else was built against: another one goes into a new
/// environment, where nothing else helps.
constexpr std::optional<Mend> (*kMends[])(const TargetReport&, const Question&) = {
    mend_by_name,      mend_by_packages, mend_by_release,         mend_by_python,
    mend_by_compiling, mend_by_torch,    mend_by_python_and_torch};

std::optional<Mend> mend_of(const TargetReport& report, const std::vector<TargetReport>& all,
                            const Question& question) {
  if (!is_plain_path(report.target.target)) return std::nullopt;
  if (auto mend = mend_by_other(report, all)) return mend;
  for (const auto& by : kMends)
    if (auto mend = by(report, question)) return mend;
  return std::nullopt;
}

}  // namespace

bool has_problem(const TargetReport& report, std::initializer_list<std::string_view> codes) {
  return std::any_of(report.problems.begin(), report.problems.end(),
                     [&](const Problem& p) { return std::find(codes.begin(), codes.end(), p.code) != codes.end(); });
}

bool fits(const Target& target, const Question& question) {
  auto problems = problems_of(target, question);
  // That no GPU was named is a fact of the question, which no change of the target mends.
  std::erase_if(problems, [](const Problem& p) { return p.code == "FF904"; });
  return verdict_of(problems) == Verdict::kFits;
}

std::string shell_word(std::string_view word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](char c) {
    return is_alnum(c) || std::string_view("-_./+=:,%@").find(c) != std::string_view::npos;
  });
  if (plain && !word.empty() && word.front() != '-') return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool is_plain_path(std::string_view path) {
  return std::all_of(path.begin(), path.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

void add_mends(std::vector<TargetReport>& reports, const Question& question) {
  for (TargetReport& report : reports) {
    if (report.verdict == Verdict::kFits || question.survey) continue;
    if (auto mend = mend_of(report, reports, question)) {
      report.mend = std::move(mend->command);
      report.mend_why = std::move(mend->why);
    } else {
      report.look_for = worth_looking_for(report, question);
    }
  }
}

}  // namespace flashfit::doctor
