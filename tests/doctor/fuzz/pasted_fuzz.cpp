// Any bytes as a pasted error: what is said of them can be read, and is about lines that are there.
#include <algorithm>

#include "core/base/readable.hpp"
#include "doctor/fuzz/answer.hpp"
#include "doctor/pasted/answer.hpp"

using namespace flashfit::doctor::pasted;

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

namespace {

using flashfit::doctor::fuzz::require;

/// One line whose every character stands for itself, and no longer than a page, however long the input.
void require_line(std::string_view line) {
  require(!line.empty() && line.size() < 4000);
  require(flashfit::readable(line, line.size()) == line);
}

void require_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) require_line(line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  flashfit::doctor::Question question;
  if (auto gpu = flashfit::name_gpu("L40")) question.gpus.push_back({"L40", std::move(*gpu)});
  if (auto python = flashfit::doctor::parse_python("3.11")) question.python = std::move(*python);
  const Answer a = answer(diagnose(text), {}, question, "FILE");
  const Diagnosis& d = a.diagnosis;
  if (d.error.kind == nullptr) {
    require(d.concluded.empty());
  } else {
    require(d.error.line >= 1 && d.error.line <= lines);
    require_line(d.error.text);
  }
  require_lines(d.concluded);
  require_lines(d.unknown);
  require_lines(a.remarks.lines);
  for (const NamedFact& fact : a.named) require_line(fact.line);
  for (const RedHerring& herring : d.herrings) {
    require(herring.line >= 1 && herring.line <= lines);
    require_line(herring.text);
    require_line(herring.why);
  }
  // A cause is mended or explained, an unknown one asked for, unless what the text names is a misfit already.
  require(a.cause_found || !a.ask.empty() || !a.named.empty());
  for (const std::string& word : {a.mend, a.look_for, a.ask})
    if (!word.empty()) require_line(word);
  return 0;
}
