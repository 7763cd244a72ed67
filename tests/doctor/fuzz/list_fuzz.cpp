// Any text as a requirements file, a lock, a Dockerfile and a policy: read, judged, and answered in printable lines.
#include <algorithm>

#include "doctor/fuzz/answer.hpp"
#include "doctor/fuzz/question.hpp"
#include "doctor/requests/dockerfile.hpp"
#include "doctor/requests/judge_list.hpp"
#include "doctor/requests/lock_file.hpp"
#include "doctor/requests/policy.hpp"
#include "doctor/requests/requirements_file.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

namespace {

using namespace flashfit;
using namespace flashfit::doctor;

void require_sound(const requests::RequestList& list, std::string_view text) {
  const auto lines = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n') + 1);
  for (const requests::Trouble& trouble : list.troubles) {
    fuzz::require_line(trouble.message);
    fuzz::require(trouble.line <= lines);
  }
  for (const requests::Request& request : list.requests) {
    fuzz::require(request.line >= 1 && request.line <= lines);
    fuzz::require(request.indexes < list.indexes.size() && request.base < list.bases.size());
  }
  for (const Question& question : {Question{}, fuzz::full_question()}) {
    const auto report = judge_list(list, {.target = "none/list.txt"}, question, {});
    fuzz::require(report.lines.size() == report.report.problems.size());
    for (const Problem& problem : report.report.problems) {
      fuzz::require(problem.code.size() == 5 && problem.code.starts_with("FF"));
      fuzz::require_line(problem.message);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  require_sound(requests::read_requirements(text), text);
  require_sound(requests::read_dockerfile(text), text);
  require_sound(requests::read_lock(text), text);
  for (const bool json : {false, true}) fuzz::require_answer(requests::parse_policy(text, json));
  return 0;
}
