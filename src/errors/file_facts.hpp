#pragma once
// What the names of files tell of an error, where a package picks one of them.
#include <string>
#include <vector>

#include "errors/diagnosis.hpp"
#include "inspect/judge.hpp"

namespace flashfit::errors {

struct FileFacts {
  std::vector<std::string> lines;  ///< what was found
  bool proof = false;              ///< whether they prove the cause
  std::string mend;                ///< a command; "" if they give none
};

FileFacts file_facts(const Diagnosis& diagnosis, const std::vector<inspect::TargetReport>& reports);

}  // namespace flashfit::errors
