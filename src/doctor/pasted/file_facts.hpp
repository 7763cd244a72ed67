#pragma once
// What the names of files tell of an error, where a package picks one of them.
#include <string>
#include <vector>

#include "doctor/pasted/diagnosis.hpp"
#include "doctor/rules/judge.hpp"

namespace flashfit::doctor::pasted {

struct FileFacts {
  std::vector<std::string> lines;  ///< what was found
  bool proof = false;              ///< whether they prove the cause
  std::string mend;                ///< a command; "" if they give none
};

FileFacts file_facts(const Diagnosis& diagnosis, const std::vector<doctor::TargetReport>& reports);

}  // namespace flashfit::doctor::pasted
