#pragma once
// The Python that wheels are judged for.
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace flashfit::doctor {

struct Python {
  enum class Implementation : unsigned char { kCPython, kPyPy };
  Implementation implementation = Implementation::kCPython;
  int major = 3, minor = 0;
  std::string version;         ///< as Requires-Python compares it: "3.11.4", or "3.11" if no more was given
  bool free_threaded = false;  ///< CPython 3.13 and later without the GIL
  std::string abi;             ///< PyPy's own ABI tag, "pypy310_pp73"; "" if unknown or CPython

  /// "cp311", "cp37", "pp310": the Python tag.
  std::string tag() const;
  /// "cp311", "cp313t", "cp37m", PyPy's own: the ABI tag; "" if unknown.
  std::string abi_tag() const;
  /// "CPython 3.11", "free-threaded CPython 3.13", "PyPy 3.10".
  std::string str() const;
};

/// "3.11", "3.11.4", "cp311", "3.13t", "cp313t", "pp310" and "pypy310_pp73"; CPython unless it says PyPy.
/// Error: the value and what is accepted.
Result<Python> parse_python(std::string_view text);

}  // namespace flashfit::doctor
