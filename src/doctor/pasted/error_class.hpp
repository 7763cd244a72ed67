#pragma once
// The kinds of error that the doctor knows: one row a kind, all of what it looks for and says. The tables are
// *_errors.cpp; what applies them knows no kind by name. docs/doctor/FF8xx.md are their pages: kinds that are one
// concept, in the words of several programs, share a page.
#include <initializer_list>
#include <span>
#include <string_view>

namespace flashfit::doctor::pasted {

/// What an error of the kind says of the files that were installed.
enum class Nature : unsigned char {
  kMisfit,      ///< a file does not fit the GPU, the driver, the system or another file
  kHost,        ///< the machine: nothing in any file helps
  kNoMisfit,    ///< files fit: the program, its data or its size
  kOutOfScope,  ///< the doctor does not judge such errors
};
/// "misfit", "host", "no misfit", "out of scope".
const char* name_of(Nature nature);

/// What it takes to know the cause.
enum class Proof : unsigned char {
  kText,   ///< the message names it
  kFiles,  ///< the files must be looked at: the message does not say which of them, or why
};

/// How lines of the kind are known.
struct Pattern {
  std::string_view literal;  ///< every line that matches has it: others are not tried
  const char* regex;         ///< RE2; named groups are the fields
  /// Only adds fields to the kind where another pattern found it: a further line of the same message.
  bool further = false;
};

struct ErrorClass {
  std::string_view name;  ///< "no-kernel-image"
  std::string_view code;  ///< "FF810": docs/doctor/FF810.md
  std::string_view title;
  Nature nature = Nature::kMisfit;
  Proof proof = Proof::kText;
  bool asynchronous = false;  ///< reported by whatever call came next: the line that raised it shows no culprit
  bool consequence = false;   ///< comes of another error, which goes before if the text has one
  bool warning = false;       ///< the program goes on after it: an error of the text goes before
  std::initializer_list<Pattern> patterns;
  // Texts below may hold {fields}; what stands in [brackets] is left out where a field in it is not known.
  std::string_view concluded;  ///< what is certain
  std::string_view unknown;    ///< what the text alone does not tell; ""
  std::string_view mend;       ///< a command or a change that mends it, whatever the files hold; "" if there is none
  std::string_view ask;        ///< what to run where files alone do not tell; "": the files are to be looked at
  std::initializer_list<std::string_view> explained_by;  ///< codes of problems in files that make this error
  /// What a problem that names things (codes FF330, FF6xx, FF7xx) must speak of to make this very error: "{library}".
  /// Any case; "" or a field that the text does not say: nothing.
  std::string_view subject;
  std::string_view source;  ///< threads, "owner/repository#number" of github.com's issues, or a document
};

/// All of them. Where two match a line, the earlier one is meant.
std::span<const ErrorClass* const> error_classes();
/// Null: no such name.
const ErrorClass* find_class(std::string_view name);

}  // namespace flashfit::doctor::pasted
