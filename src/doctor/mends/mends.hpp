#pragma once
// The ways to mend a misfit, for the list of mend.cpp. Each asks the same rules about what it would change, and says
// nothing unless they answer Verdict::kFits.
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/rules/judge.hpp"

namespace flashfit::doctor {

struct Mend {
  std::string command, why;
};

/// The file under the name that its METADATA and WHEEL give.
std::optional<Mend> mend_by_name(const TargetReport& report, const Question& question);
/// The release of the same package that is built for the question's PyTorch.
std::optional<Mend> mend_by_release(const TargetReport& report, const Question& question);
/// The PyTorch that its name or its requirements speak of.
std::optional<Mend> mend_by_torch(const TargetReport& report, const Question& question);
/// An environment of another Python, the nearest that it fits.
std::optional<Mend> mend_by_python(const TargetReport& report, const Question& question);
/// An environment of both.
std::optional<Mend> mend_by_python_and_torch(const TargetReport& report, const Question& question);
/// Packages with the libraries of CUDA that a folder lacks.
std::optional<Mend> mend_by_packages(const TargetReport& report, const Question& question);
/// The same source compiled here.
std::optional<Mend> mend_by_compiling(const TargetReport& report, const Question& question);

/// What no command changes, a driver or a system: one line with what to look for, "" if that would not do either.
std::string worth_looking_for(const TargetReport& report, const Question& question);

/// Whether the report has a problem of one of these codes.
bool has_problem(const TargetReport& report, std::initializer_list<std::string_view> codes);
/// Whether the rules answer Verdict::kFits, as far as was asked: without a GPU no GPU code is judged.
bool fits(const Target& target, const Question& question);
/// For a shell: in single quotes unless it is plain.
std::string shell_word(std::string_view word);
/// No control characters: in a name they would be more than a name to a terminal.
bool is_plain_path(std::string_view path);

}  // namespace flashfit::doctor
