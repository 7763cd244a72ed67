#pragma once
// Lists of folders as DT_RPATH, DT_RUNPATH and LD_LIBRARY_PATH write them, with $ORIGIN, $LIB and $PLATFORM.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flashfit::doctor::dynamic_loader {

/// What the tokens stand for; "" of a token: unknown, and what has it is left out.
struct PathTokens {
  std::string origin;    ///< the folder of the object that says it, as the loader found that, links not followed
  std::string lib;       ///< "lib64", "lib/x86_64-linux-gnu": the C library's choice (c_library.hpp)
  std::string platform;  ///< AT_PLATFORM: "x86_64"; glibc on x86-64 makes it "haswell" where AVX2 is there
};

/// "$ORIGIN/../lib" or "${ORIGIN}/../lib" -> "/opt/app/bin/../lib". Nothing where a token is not known. A '$' that
/// begins no token stands for itself.
std::optional<std::string> expand_tokens(std::string_view text, const PathTokens& tokens);

/// The folders of a list, in order and each once, without '/' at their ends. `separators`: ":" of DT_RPATH and
/// DT_RUNPATH, ":;" of LD_LIBRARY_PATH. An empty part is the current folder and a relative one lies in it: both are
/// left out where `current` is "".
std::vector<std::string> split_search_path(std::string_view list, std::string_view separators, const PathTokens& tokens,
                                           const std::string& current);

}  // namespace flashfit::doctor::dynamic_loader
