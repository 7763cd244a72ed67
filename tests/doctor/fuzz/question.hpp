#pragma once
// A question that makes every check speak, and what it must say.
#include "doctor/facts/torch_facts.hpp"
#include "doctor/fuzz/answer.hpp"
#include "doctor/rules/judge.hpp"

namespace flashfit::doctor::fuzz {

inline const Question& full_question() {
  static const Question question = [] {
    Question q;
    for (const char* gpu : {"L4", "RTX 5090", "7.0"}) q.gpus.push_back({gpu, name_gpu(gpu).value()});
    q.driver = 12040;
    q.driver_text = "550";
    q.python = parse_python("3.10").value();
    q.platform = parse_platform("manylinux_2_28_x86_64").value();
    TorchFacts torch = *read_torch("2.7.0+cu126").value();
    torch.exports = {"_ZN3c104cuda20getCurrentCUDAStreamEa"};
    q.torch = std::make_shared<const TorchFacts>(std::move(torch));
    return q;
  }();
  return question;
}

/// Each problem has a code and one printable line, whatever the target holds.
inline void require_problems(const Target& target) {
  for (const Question& question : {Question{}, full_question()})
    for (const Problem& problem : problems_of(target, question)) {
      require(problem.code.size() == 5 && problem.code.starts_with("FF"));
      require_line(problem.message);
      if (!problem.fix.empty()) require_line(problem.fix);
    }
}

}  // namespace flashfit::doctor::fuzz
