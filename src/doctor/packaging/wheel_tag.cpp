#include "doctor/packaging/wheel_tag.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"

namespace flashfit::doctor {

Result<std::vector<WheelTag>> parse_tags(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, fmt::format("tag '{}': {}", printable(text), why));
  };
  const auto components = split(text, '-');
  if (components.size() != 3) return refuse("needs three parts, such as cp311-cp311-manylinux_2_28_x86_64");
  std::vector<std::string_view> parts[3];
  std::size_t count = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    parts[i] = split(components[i], '.');
    for (const std::string_view part : parts[i])
      if (!is_word(part)) return refuse(fmt::format("'{}' is not a tag: letters, digits and '_'", printable(part, 40)));
    count *= std::min(parts[i].size(), kMostTags + 1);
  }
  if (is_digit(components[0][0])) return refuse("a Python tag starts with a letter");
  if (count > kMostTags) return refuse(fmt::format("stands for more than {} tags", kMostTags));
  std::vector<WheelTag> tags;
  for (const std::string_view python : parts[0])
    for (const std::string_view abi : parts[1])
      for (const std::string_view platform : parts[2]) tags.push_back({lower(python), lower(abi), lower(platform)});
  return tags;
}

}  // namespace flashfit::doctor
