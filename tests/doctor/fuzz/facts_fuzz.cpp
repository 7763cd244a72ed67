// Any bytes as an entry of the cache: refused, or facts that can be judged.
#include "doctor/facts/facts.hpp"
#include "doctor/facts/facts_codec.hpp"
#include "doctor/fuzz/answer.hpp"
#include "doctor/fuzz/question.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flashfit::doctor;
  Target target;
  FactsReader reader(std::string_view(reinterpret_cast<const char*>(data), size));
  visit(reader, target);
  if (!reader.ok() || !reader.ended()) return 0;
  // What it says may be odd, as the user's own cache may be: it must be said.
  for (const Question& question : {Question{}, fuzz::full_question()}) (void)problems_of(target, question);
  return 0;
}
