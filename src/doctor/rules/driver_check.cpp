// FF105: what a library needs of the driver by the CUDA runtime that it asks for or has within.
#include <algorithm>
#include <set>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/gpu_code/toolkit_versions.hpp"
#include "doctor/rules/all_checks.hpp"
#include "doctor/rules/cudart.hpp"

namespace flashfit::doctor {
namespace {

int leading_number(std::string_view text) {
  int value = 0;
  for (const char c : text.substr(0, 4)) {
    if (!is_digit(c)) break;
    value = value * 10 + (c - '0');
  }
  return value;
}

}  // namespace

int cudart_major(std::string_view library) {
  if (library.starts_with("cudart64_")) {  // cudart64_12.dll, cudart64_110.dll
    const int number = leading_number(library.substr(9));
    return number >= 80 ? number / 10 : number;
  }
  // libcudart.so.12, libcudart.so.11.0; libcudart-9c9b0b1d.so.12 where a wheel brings its own copy
  if (!library.starts_with("libcudart.so.") && !library.starts_with("libcudart-")) return 0;
  const std::size_t so = library.find(".so.");
  return so == std::string_view::npos ? 0 : leading_number(library.substr(so + 4));
}

void check_driver(const Target& target, const Question& question, std::vector<Problem>& problems) {
  if (question.driver == 0) return;
  std::set<std::string> known;  // members that were refused for the toolkit of their machine code
  for (const Problem& p : problems)
    if (p.code == "FF105") known.insert(p.member);
  std::set<int> said;  // one line for each runtime, not for each library
  const auto judge = [&](const Binary& binary, int major, const std::string& how) {
    std::string why = toolkit_misfit(major * 1000, question.driver, binary.windows);
    if (why.empty() || known.contains(binary.path) || !said.insert(major).second) return;
    const std::string first = first_driver_for_toolkit(major, binary.windows);
    problems.push_back({"FF105", Severity::kMisfit, std::move(why) + " (" + how + ")", binary.path,
                        first.empty() ? "a newer driver" : "driver " + first + " or later"});
  };
  for (const Binary& binary : target.binaries) {
    for (const std::string& library : binary.needed)
      judge(binary, cudart_major(library), "needs " + printable(library));
    judge(binary, binary.cudart, "it is linked in");
  }
}

}  // namespace flashfit::doctor
