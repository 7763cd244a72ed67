# flashfit_kernels(LIBRARY LIST file... INCLUDE folder...): the kernels of lists (lines NAME | HEADER | KERNEL | TARGET,
# TARGET ...) as images, embedded in the static library LIBRARY, which gives them by
# `std::span<const std::byte> flashfit::lab::LIBRARY()`; the user declares that function. A build without NVRTC
# (FLASHFIT_TARGETS=none) embeds none.
function(flashfit_kernels library)
  cmake_parse_arguments(ARG "" "" "LIST;INCLUDE" ${ARGN})
  set(lists "")
  foreach(list ${ARG_LIST})
    get_filename_component(list ${list} ABSOLUTE)
    list(APPEND lists ${list})
  endforeach()
  set(folders "")
  set(headers "")
  foreach(folder ${ARG_INCLUDE})
    get_filename_component(folder ${folder} ABSOLUTE)
    list(APPEND folders --include ${folder})
    file(GLOB found CONFIGURE_DEPENDS ${folder}/*.cuh ${folder}/*.hpp)
    list(APPEND headers ${found})
  endforeach()
  set(nvrtc "")
  if(FLASHFIT_NVRTC_FOUND)
    set(nvrtc --nvrtc ${FLASHFIT_NVRTC_FOUND})
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${FLASHFIT_SOURCE}/*.hpp ${FLASHFIT_SOURCE}/*.cuh)
  add_custom_command(
    OUTPUT ${library}_blob
    COMMAND flashfit_kernel_images ${nvrtc} --list ${lists} --cache ${FLASHFIT_CACHE} --source ${FLASHFIT_SOURCE}
            ${folders} --output ${CMAKE_CURRENT_BINARY_DIR}/${library}_blob
    DEPENDS flashfit_kernel_images ${lists} ${headers} ${sources}
    VERBATIM COMMENT "Images of ${library}")
  add_custom_command(
    OUTPUT ${library}_blob.o
    COMMAND ${CMAKE_LINKER} -r -b binary -z noexecstack -o ${library}_blob.o ${library}_blob
    COMMAND ${CMAKE_OBJCOPY} --rename-section .data=.rodata,alloc,load,readonly,data,contents ${library}_blob.o
    DEPENDS ${library}_blob
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} VERBATIM)
  configure_file(${FLASHFIT_SOURCE}/proof/lab/embedded.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/${library}.cpp @ONLY)
  add_library(${library} STATIC ${CMAKE_CURRENT_BINARY_DIR}/${library}.cpp
    ${CMAKE_CURRENT_BINARY_DIR}/${library}_blob.o)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/${library}_blob.o PROPERTIES EXTERNAL_OBJECT TRUE
    GENERATED TRUE)
  target_include_directories(${library} PUBLIC ${ARG_INCLUDE})
  target_link_libraries(${library} PUBLIC flashfit_lab)
endfunction()
