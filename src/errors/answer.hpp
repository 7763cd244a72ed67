#pragma once
// A pasted error and the files given beside it to an answer: what it is, what caused it, what mends it or what to run.
#include "errors/evidence.hpp"
#include "errors/file_facts.hpp"

namespace flashfit::errors {

struct Answer {
  Diagnosis diagnosis;
  Remarks remarks;
  Evidence evidence;
  FileFacts files;
  std::vector<inspect::TargetReport> reports;  ///< that the evidence counts
  bool by_name = false;                        ///< the reports are of a name in the text, no file was given
  bool cause_found = false;                    ///< by the text itself, or by files
  std::string mend;                            ///< a command or a change, from what was found; "" if none is known
  std::string mend_why;                        ///< what it changes, in words
  std::string look_for;                        ///< where no command mends it
  std::string ask;                             ///< what to run to get to know the cause; "" if it is known
};

/// `reports` are of the files given, as examine() gives them for `question`; `word` is how the error was given, for
/// the command that asks again.
Answer answer(Diagnosis diagnosis, std::vector<inspect::TargetReport> reports, const inspect::Question& question,
              const std::string& word);

}  // namespace flashfit::errors
