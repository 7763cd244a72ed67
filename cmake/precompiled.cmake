# flashfit_precompiled(TARGET [HEADER...]): the headers that nearly every file of the target includes, and HEADERs, are
# read once: a third less to compile. Each file includes what it needs all the same; clang-tidy reads it without these.
function(flashfit_precompiled target)
  target_precompile_headers(${target} PRIVATE <algorithm> <filesystem> <map> <optional> <set> <string> <vector>
                            <tl/expected.hpp> <fmt/format.h> <fmt/ranges.h> ${ARGN})
endfunction()

# A library for its headers alone, which others read too.
file(WRITE ${PROJECT_BINARY_DIR}/headers.cpp "")
add_library(flashfit_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/headers.cpp)
flashfit_precompiled(flashfit_headers)

# flashfit_common_headers(LIBRARY...): the same, read once for all these libraries, which are compiled with the same
# options.
function(flashfit_common_headers)
  foreach(library ${ARGN})
    target_precompile_headers(${library} REUSE_FROM flashfit_headers)
  endforeach()
endfunction()
