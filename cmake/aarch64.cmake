# The toolchain of ./dev wheel --aarch64: Debian's cross compiler, and the libraries of FLASHFIT_SYSROOT, which
# tools/dev/sysroot.sh makes of Debian's packages for arm64. What runs while building is of FLASHFIT_NATIVE, a build for
# this machine, so that the images for GPUs are the same bytes.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FLASHFIT_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${FLASHFIT_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Python's headers include others by their way from there.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${FLASHFIT_SYSROOT}/usr/include)
