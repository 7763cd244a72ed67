# FLASHFIT_UNWRITTEN_OPTION: makes the compiler fill variables that nothing initialises with a pattern that the emulator
# knows (proof/emu/mma.cpp), for translation units that hold kernels. Empty where the compiler has no such option (g++
# 11).
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-ftrivial-auto-var-init=pattern FLASHFIT_HAS_AUTO_VAR_INIT)
set(FLASHFIT_UNWRITTEN_OPTION "")
if(FLASHFIT_HAS_AUTO_VAR_INIT)
  set(FLASHFIT_UNWRITTEN_OPTION -ftrivial-auto-var-init=pattern)
endif()
