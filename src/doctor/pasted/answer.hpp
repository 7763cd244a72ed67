#pragma once
// A pasted error and the files given beside it to an answer: what it is, what caused it, what mends it or what to run.
#include "doctor/pasted/evidence.hpp"
#include "doctor/pasted/file_facts.hpp"
#include "doctor/pasted/named_facts.hpp"

namespace flashfit::doctor::pasted {

/// What was looked at beside the text.
struct LookedAt {
  std::vector<doctor::TargetReport> reports;  ///< as examine() gives them, or an environment's, its packages first
  std::size_t packages = 0;                   ///< how many of them are packages of the environment
  std::string environment;                    ///< in words: "/opt/venv (venv)"; "": none was looked at
  std::string option;                         ///< that looks there again: " --env /opt/venv"; "" for the active one
  std::vector<std::string> folders;           ///< its folders of packages
};

struct Answer {
  Diagnosis diagnosis;
  Remarks remarks;
  Evidence evidence;
  FileFacts files;
  std::vector<NamedFact> named;               ///< what the versions and GPUs of the text mean for one another
  std::vector<doctor::TargetReport> reports;  ///< that the evidence counts
  std::size_t packages = 0;                   ///< LookedAt, as the next
  std::string environment;
  bool by_name = false;      ///< the reports are of a name in the text, no file was given
  bool cause_found = false;  ///< by the text itself, or by files
  std::string mend;          ///< a command or a change, from what was found; "" if none is known
  std::string mend_why;      ///< what it changes, in words
  std::string look_for;      ///< where no command mends it
  std::string ask;           ///< what to run to get to know the cause; "" if it is known
};

/// The reports are for `question`; `word` is how the error was given, for the command that asks again.
Answer answer(Diagnosis diagnosis, LookedAt looked, const doctor::Question& question, const std::string& word);

}  // namespace flashfit::doctor::pasted
