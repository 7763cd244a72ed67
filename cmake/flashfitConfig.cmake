# find_package(flashfit CONFIG REQUIRED) gives the target flashfit::flashfit.
include(${CMAKE_CURRENT_LIST_DIR}/flashfitTargets.cmake)
