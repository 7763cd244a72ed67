#pragma once
// Python's tracebacks in a text, whole or in part: as Python, IPython and rich print them.
#include <cstddef>
#include <string>
#include <vector>

#include "doctor/pasted/pasted_text.hpp"

namespace flashfit::doctor::pasted {

struct Frame {
  std::size_t line = 0;  ///< of the text as pasted
  std::string file;
  int number = 0;             ///< of the line in `file`
  std::string function;       ///< "" if it is not said
  std::string code;           ///< the statement; "" if it is not there
  std::size_t code_line = 0;  ///< of the text as pasted
};

/// One exception with its frames.
struct Traceback {
  /// How it follows the one before it in the text.
  enum class Link : unsigned char {
    kNone,      ///< it does not
    kHandling,  ///< raised while the one before was handled: that one was caught
    kCause,     ///< raised from the one before
  };
  Link link = Link::kNone;
  std::vector<Frame> frames;  ///< outermost first
  std::size_t line = 0;       ///< of the exception, in the text as pasted; 0: the text ends before it
  std::string type;           ///< "RuntimeError"; "" if the text ends before it
  std::string message;        ///< its first line
};

std::vector<Traceback> read_tracebacks(const PastedText& text);

/// The folder of packages that a path lies in, "/opt/venv/lib/python3.11/site-packages"; "" if it lies in none.
std::string site_packages_of(std::string_view path);
/// The package that a path lies in, "torch" of "/x/site-packages/torch/_ops.py"; "" if it lies in none.
std::string package_of(std::string_view path);

}  // namespace flashfit::doctor::pasted
