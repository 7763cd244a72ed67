# flashfit_precompiled(TARGET [HEADER...]): the headers that nearly every file of the target includes, and HEADERs, are
# read once: a third less to compile. Each file includes what it needs all the same; clang-tidy reads it without these.
function(flashfit_precompiled target)
  target_precompile_headers(${target} PRIVATE <algorithm> <filesystem> <map> <optional> <set> <string> <vector>
                            <tl/expected.hpp> <fmt/format.h> <fmt/ranges.h> ${ARGN})
endfunction()
