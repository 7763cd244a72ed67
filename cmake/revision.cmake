# The revision of the tree that a build is made from: git's, with "-dirty" where tracked files were changed; "" outside
# a checkout. flashfit_revision(TEMPLATE OUTPUT) makes a target of that name; whatever carries a revision depends on it.
# Each time that ninja builds one of those, this file runs as a script and gives the same answer to all: OUTPUT is the
# TEMPLATE with FLASHFIT_REVISION in it, lib/revision goes along where the library is carried to. Both change only where
# the revision does.
function(flashfit_revision template output)
  add_custom_target(flashfit_revision ALL
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DTEMPLATE=${template} -DOUTPUT=${output}
            -DFILE=${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/revision -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    BYPRODUCTS ${output} ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/revision VERBATIM COMMENT "")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  cmake_minimum_required(VERSION 3.22) # as CMakeLists.txt: a script has no policies of its own, and CMake warns of that
  set(FLASHFIT_REVISION "")
  if(EXISTS ${SOURCE}/.git)
    execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=40 --exclude * --dirty
                    OUTPUT_VARIABLE FLASHFIT_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
  file(CONFIGURE OUTPUT ${FILE} CONTENT "@FLASHFIT_REVISION@\n" @ONLY)
endif()
