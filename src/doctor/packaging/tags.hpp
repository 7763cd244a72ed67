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

/// Whether the tag installs there.
bool takes(const Environment& here, const WheelTag& tag);

struct TagVerdict {
  bool fits = false;
  std::string reason;  ///< one line, "" if it fits: "cp310 is not your cp311; the platform fits"
  std::string wanted;  ///< what would fit, "" if it fits: "cp311-cp311, cp311-abi3 or older abi3, py3-none; on ..."
};

/// The verdict on a whole wheel: one of its tags is enough. `tags` may not be empty.
TagVerdict judge(std::span<const WheelTag> tags, const Environment& here);

}  // namespace flashfit::doctor
