# flashfit_compile_in_batches(TARGET...): the sources of each target, as it is so far, are compiled several at once
# (tools/dev/batches.py). That takes half to two thirds of the time where all is to be compiled, and more where one
# source was changed: it is for the build under sanitizers, where nobody waits for one source.
function(flashfit_compile_in_batches)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(lines "")
  foreach(target ${ARGN})
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    set(plain "")
    foreach(source ${sources})
      get_filename_component(place ${source} ABSOLUTE BASE_DIR ${folder})
      get_source_file_property(options ${place} TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
      if(options)
        set(source "$<1:${source}>") # one that is compiled in a way of its own stays alone
      endif()
      list(APPEND plain ${source})
    endforeach()
    list(JOIN plain "," plain)
    string(APPEND lines "${target}|${folder}|${plain}\n")
  endforeach()
  set(made ${PROJECT_BINARY_DIR}/batches)
  file(WRITE ${made}/targets "${lines}")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/dev/batches.py ${PROJECT_SOURCE_DIR} ${made}
                  INPUT_FILE ${made}/targets OUTPUT_FILE ${made}/all.cmake COMMAND_ERROR_IS_FATAL ANY)
  include(${made}/all.cmake)
endfunction()
