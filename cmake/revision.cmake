# cmake -DSOURCE= -DTEMPLATE= -DOUTPUT= -P revision.cmake: git's revision of the tree, at every build; the output changes only where that does.
set(FLASHFIT_REVISION "")
if(EXISTS ${SOURCE}/.git)
  execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=40 --exclude * --dirty OUTPUT_VARIABLE FLASHFIT_REVISION
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
