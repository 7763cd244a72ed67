#pragma once
// How every layer reports failure: a code that callers branch on and one line that people read.
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace flashfit {

enum class Code {
  kInvalidArgument,  ///< an argument is wrong; the message names it, its value and what is accepted
  kMisfit,           ///< the problem is sound, but nothing carried fits this GPU or driver; the message says what binds
  kNoGpu,            ///< no driver, or a driver without a usable GPU
  kCuda,             ///< the driver refused a call; the message names the call and the driver's own words
  kOutOfMemory,      ///< host memory
  kInternal,         ///< a defect of flashfit
  kDisabled,         ///< the environment refuses the call
};

struct Error {
  Code code;
  std::string message;  ///< one line, without a newline
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Code code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace flashfit
