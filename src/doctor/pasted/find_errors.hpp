#pragma once
// The lines of a text that are of a known kind of error.
#include "doctor/pasted/error_class.hpp"
#include "doctor/pasted/pasted_text.hpp"
#include "doctor/pasted/regex.hpp"

namespace flashfit::doctor::pasted {

struct Finding {
  const ErrorClass* kind = nullptr;
  std::size_t line = 0;  ///< of the text as pasted
  std::string text;      ///< that line, without prefixes
  Fields fields;         ///< as caught, and what follows from them (derive_fields)
};

struct Findings {
  std::vector<Finding> list;  ///< in the order of the text
  bool whole = true;          ///< false: the text held more likely lines than are looked at
};

/// A line is of one kind at most. Work is bounded whatever the text: most lines are passed by one automaton, and the
/// bytes that patterns are tried on are limited.
Findings find_errors(const PastedText& text);

/// Adds what follows: "found" 12020 -> "found_cuda" 12.2, "symbol" -> "name" demangled, hexadecimal "bytes" and "limit"
/// as decimal numbers, "kilobytes" -> "bytes", "version" GLIBCXX_3.4.30 -> "family" GLIBCXX_, a compute capability
/// "wants" or "capability" 75 -> 7.5.
void derive_fields(Fields& fields);

}  // namespace flashfit::doctor::pasted
