#pragma once
// What a pasted text says by itself: the kind of its first error, what can be concluded from it and what cannot, and
// which of its lines lead astray.
#include <string>
#include <vector>

#include "doctor/pasted/find_errors.hpp"
#include "doctor/pasted/named_in_text.hpp"
#include "doctor/pasted/traceback.hpp"

namespace flashfit::doctor::pasted {

struct RedHerring {
  std::size_t line = 0;  ///< of the text as pasted
  std::string text;      ///< "x = torch.cat([q, k])" or "KeyError: 'scale'"
  std::string why;
};

struct Diagnosis {
  Finding error;                       ///< its kind is null where no kind is known
  std::vector<std::size_t> also_on;    ///< further lines of the same kind
  std::vector<Finding> others;         ///< the first of each other kind in the text
  std::vector<RedHerring> herrings;    ///< in the order of the text
  std::vector<std::string> concluded;  ///< what is certain by the text alone
  std::vector<std::string> unknown;    ///< what the text does not tell
  std::string mend;                    ///< what mends an error of the kind, whatever the files hold; "" if nothing does
  NamedInText named;
  // Of a text in which nothing is known: its last exception, if it has one.
  std::string exception;  ///< "KeyError: 'scale'"
  std::size_t exception_line = 0;
  std::string raised_in;    ///< "cache.py:88, in get"
  bool ends_early = false;  ///< the last traceback ends before its exception
  bool whole = true;        ///< false: Findings::whole
  std::size_t left_out = 0, cut_lines = 0;
};

/// Any text. Never fails.
Diagnosis diagnose(std::string_view text);

}  // namespace flashfit::doctor::pasted
