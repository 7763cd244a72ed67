#pragma once
// A file of cases/: lines of what must be said, "---", then what was pasted.
//   class: NAME          the kind of its first error; "none"
//   field NAME: VALUE    exactly
//   herring N: PART      a line that leads astray, by its number in what was pasted; all of them, in order
//   named WHAT: VALUE    gpu, python, driver, torch or packages (any of them)
//   concluded: PART, unknown: PART, mend: PART, also: NAME of another kind ("none": there is no other)
//   remark: PART         on the GPU of "gpu: NAME", or on the one that the text names
//   fact: PART           on what the text names (named_facts), for the same GPU
//   from: THREAD         where such a text was seen: "owner/repository#number" of github.com's issues, or a document
//   refuted:             by the doctor's rules the message is mistaken
//   exception N: TEXT, raised: PART   of a text without a known kind
#include <string>
#include <utility>
#include <vector>

#include "doctor/pasted/evidence.hpp"
#include "doctor/pasted/named_facts.hpp"

namespace flashfit::doctor::pasted::test {

struct Case {
  std::string name;                                           ///< of the file
  std::vector<std::pair<std::string, std::string>> expected;  ///< "field file" -> "libx.so"
  std::vector<std::string> lines;                             ///< what was pasted

  std::string text() const;
  /// The first value of a key; "" if there is none.
  std::string value(const std::string& key) const;
};

std::vector<Case> all_cases();

/// What is expected and not so, a line each.
std::vector<std::string> disappointments(const Case& one, const Diagnosis& diagnosis);

}  // namespace flashfit::doctor::pasted::test
