# find_package(flashfit 0.1 CONFIG REQUIRED) gives the target flashfit::flashfit.
include(${CMAKE_CURRENT_LIST_DIR}/flashfitTargets.cmake)
