# Sets nvrtc: libnvrtc.so.12 of the package that the Python in use has, which is where a build by pip finds it.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(
  COMMAND ${Python3_EXECUTABLE} -c "import nvidia.cuda_nvrtc as n; print(n.__path__[0] + '/lib/libnvrtc.so.12', end='')"
  OUTPUT_VARIABLE nvrtc ERROR_QUIET)
if(NOT EXISTS "${nvrtc}")
  message(FATAL_ERROR "libnvrtc.so.12, which compiles the kernels, is not found: give its path as FLASHFIT_NVRTC, or install nvidia-cuda-nvrtc-cu12==12.9.86 "
                      "for ${Python3_EXECUTABLE}, or take FLASHFIT_TARGETS=none for a library without kernels for GPUs")
endif()
