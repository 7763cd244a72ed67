# flashfit_portable(TARGET): the library or program runs wherever the C library is the one that it was linked with or
# newer, whatever its C++ runtime. Linked-in code that nobody calls is left out, as some of it asks for a newer glibc
# (libstdc++'s random_device for arc4random of 2.36).
function(flashfit_portable target)
  if(FLASHFIT_SANITIZE)  # sanitizers need the shared runtime
    return()
  endif()
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/runtime/api/find_object.cpp
                                   ${PROJECT_SOURCE_DIR}/src/runtime/api/older_glibc.cpp)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc LINKER:--as-needed LINKER:--gc-sections)
endfunction()

# flashfit_places_from_root(TARGET...): where code names places of the source (__FILE__), they are paths from the
# repository's root, so that the same sources give the same bytes in every folder. ccache makes some paths relative to
# the build's folder.
function(flashfit_places_from_root)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=../=)
  endforeach()
endfunction()

set(FLASHFIT_GLIBC "" CACHE PATH "Folder that tools/dev/glibc.sh made: the wheel's files are linked with that glibc")

# flashfit_for_wheel(VARIABLE TARGET): sets VARIABLE to what the wheel holds of TARGET, which is portable: TARGET
# itself, or where FLASHFIT_GLIBC is set the same objects linked once more, with that older glibc. It takes seconds,
# and what is in bin/ and lib/ stays as the tests know it.
function(flashfit_for_wheel variable target)
  set(${variable} ${target} PARENT_SCOPE)
  if(NOT FLASHFIT_GLIBC)
    return()
  endif()
  set(again ${target}_for_wheel)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    add_executable(${again} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${target}>)
  else()
    string(REPLACE _LIBRARY "" type ${type}) # SHARED or MODULE
    add_library(${again} ${type} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${target}>)
  endif()
  set_target_properties(${again} PROPERTIES OUTPUT_NAME ${target})
  foreach(property LINK_LIBRARIES LINK_OPTIONS LINK_DEPENDS OUTPUT_NAME PREFIX SUFFIX SOVERSION)
    get_target_property(value ${target} ${property})
    if(NOT value STREQUAL "value-NOTFOUND")
      set_property(TARGET ${again} PROPERTY ${property} "${value}")
    endif()
  endforeach()
  set(folder ${PROJECT_BINARY_DIR}/wheel)
  set_target_properties(${again} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${folder} LIBRARY_OUTPUT_DIRECTORY ${folder})
  # The map says of what the result is made, for the wheel's list of that (tools/dev/sbom.py).
  target_link_options(${again} PRIVATE -B${FLASHFIT_GLIBC} -L${FLASHFIT_GLIBC} LINKER:-Map=${folder}/${again}.map
    LINKER:--strip-debug)
  set(${variable} ${again} PARENT_SCOPE)
endfunction()
