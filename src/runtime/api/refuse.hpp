#pragma once
#include <fmt/format.h>

#include <utility>

#include "core/base/error.hpp"

namespace flashfit::api {

/// A wrong argument: "name: value; accepted: what".
template <class... Args>
tl::unexpected<Error> refuse(fmt::format_string<Args...> words, Args&&... args) {
  return fail(Code::kInvalidArgument, fmt::format(words, std::forward<Args>(args)...));
}

}  // namespace flashfit::api
