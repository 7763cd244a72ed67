// Texts that nest, made of what opens, closes and separates in TOML and JSON: each byte of the input is a token and how
// often it stands there. Read as a lock and as policies, in either language, and answered in printable lines.
#include <array>

#include "doctor/fuzz/answer.hpp"
#include "doctor/requests/lock_file.hpp"
#include "doctor/requests/policy.hpp"

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

namespace {

using namespace flashfit;
using namespace flashfit::doctor;

constexpr std::array<std::string_view, 32> kTokens = {"[",
                                                      "]",
                                                      "{",
                                                      "}",
                                                      "a.",
                                                      "a",
                                                      "=",
                                                      ",",
                                                      "\n",
                                                      "[[",
                                                      "]]",
                                                      "\"",
                                                      "'",
                                                      "\"\"\"",
                                                      "'''",
                                                      "\\",
                                                      ".",
                                                      "#",
                                                      " ",
                                                      "\"a\".",
                                                      "1",
                                                      "a={",
                                                      ":",
                                                      "\"a\":[",
                                                      "[[machine]]\n",
                                                      "{\"machine\":",
                                                      "[1,",
                                                      "a.a.a=",
                                                      "\"\"",
                                                      "0.0",
                                                      "\r\n",
                                                      "packages"};
constexpr std::array<std::size_t, 8> kTimes = {1, 1, 1, 2, 10, 70, 1000, 50'000};
constexpr std::size_t kLongest = 1U << 20;

std::string text_of(const std::uint8_t* data, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size && text.size() < kLongest; ++i)
    for (std::size_t n = kTimes[data[i] >> 5]; n > 0 && text.size() < kLongest; --n) text += kTokens[data[i] & 31];
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = text_of(data, size);
  for (const requests::Trouble& trouble : requests::read_lock(text).troubles) fuzz::require_line(trouble.message);
  for (const bool json : {false, true}) fuzz::require_answer(requests::parse_policy(text, json));
  return 0;
}
