#pragma once
// Whether a wheel's tags let it install: the tags that pip asks for (packaging.tags), decided by rule instead of by a
// list, so that a refusal can say why.
#include <span>
#include <string>

#include "doctor/packaging/platform.hpp"
#include "doctor/packaging/python.hpp"
#include "doctor/packaging/wheel_tag.hpp"

namespace flashfit::doctor {

struct Environment {
  Python python;
  Platform platform;
};

/// "" if this Python takes the tag's Python and ABI, else one line: "cp310 is not your cp311".
std::string python_misfit(const WheelTag& tag, const Python& python);

/// Whether a wheel with this tag installs in that environment.
bool takes(const Environment& here, const WheelTag& tag);

struct TagVerdict {
  bool fits = false;
  std::string reason;  ///< one line, "" if it fits: "cp310 is not your cp311; the platform fits"
  /// What would fit, "" if it fits: "cp311-cp311, abi3 of cp311 or older, or py3-none, for Linux x86_64".
  std::string wanted;
};

/// The verdict on a whole wheel: one of its tags is enough. `tags` may not be empty.
TagVerdict judge(std::span<const WheelTag> tags, const Environment& here);

}  // namespace flashfit::doctor
