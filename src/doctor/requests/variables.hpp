#pragma once
// ARG and ENV of a Dockerfile, put in for $NAME, ${NAME}, ${NAME:-default} and ${NAME:+other} as Docker does.
#include <map>
#include <string>
#include <string_view>

namespace flashfit::doctor::requests {

using Variables = std::map<std::string, std::string, std::less<>>;

inline constexpr std::size_t kLongestExpansion = std::size_t{4} << 10;  ///< characters; what is longer is cut
inline constexpr std::size_t kMostVariables = 256;                      ///< of a stage

/// What was put in is not looked at again. A name that no variable has stays as it is written, and is added to
/// `unknown`, if that is given, where the text has no default for it.
std::string expanded(std::string_view text, const Variables& variables, std::string* unknown = nullptr);

}  // namespace flashfit::doctor::requests
