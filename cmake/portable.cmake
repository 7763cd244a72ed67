# flashfit_portable(TARGET): the library or program runs wherever glibc is 2.34 or newer, whatever its C++ runtime.
# Linked-in code that nobody calls is left out, as some of it asks for a newer glibc (libstdc++'s random_device for
# arc4random of 2.36).
function(flashfit_portable target)
  if(FLASHFIT_SANITIZE)  # sanitizers need the shared runtime
    return()
  endif()
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/runtime/api/find_object.cpp)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc LINKER:--as-needed LINKER:--gc-sections)
endfunction()
