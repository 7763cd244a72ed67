// "SPECIFIERS\nVERSION", and all of it as a marker: versions keep an order and specifiers contradict nothing that
// follows from it.
#include "doctor/fuzz/answer.hpp"
#include "doctor/packaging/marker.hpp"
#include "doctor/packaging/requirement.hpp"
#include "doctor/packaging/specifier.hpp"

using namespace flashfit::doctor;

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const auto clauses = parse_specifiers(text.substr(0, line));
  const auto version = parse_version(text.substr(std::min(line + 1, text.size())));
  fuzz::require_answer(clauses);
  fuzz::require_answer(version);
  fuzz::require_answer(parse_requirement(text));
  static const MarkerEnvironment kHere{parse_python("3.11.4").value(), parse_platform("linux_x86_64").value()};
  (void)marker_holds(text, kHere);
  if (!version) return 0;
  const Version& v = *version;
  const auto again = parse_version(v.text);
  fuzz::require(again && *again == v && !(*again < v) && v.public_part() <= v);
  if (!clauses) return 0;
  for (const Specifier& clause : *clauses) {
    using Operator = Specifier::Operator;
    const bool taken = accepts(clause, v);
    if (clause.op == Operator::kSame) continue;
    const Version& limit = clause.version;
    fuzz::require((v < limit) == (limit > v) && (v == limit) == (limit == v));
    if (clause.op == Operator::kLess && taken) fuzz::require(v < limit);
    if (clause.op == Operator::kGreater && taken) fuzz::require(v > limit);
    if (clause.op == Operator::kCompatible && taken) fuzz::require(v >= limit);
    if (clause.op == Operator::kEqual && !clause.wildcard && taken && v.local.empty()) fuzz::require(v == limit);
  }
  return 0;
}
