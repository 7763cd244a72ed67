if(NOT TARGET fake_cuda_whole)
  add_subdirectory(${PROJECT_SOURCE_DIR}/tests/fake_cuda ${PROJECT_BINARY_DIR}/tests/fake_cuda)
endif()
# The loader alone, over images of the test's own: carried_images() and image_bytes() are defined by loader_test.cpp.
flashfit_fake_cuda_test(images_loader_test LIBS flashfit_catalogue flashfit_tensor_map
                        SOURCES ${CMAKE_CURRENT_LIST_DIR}/loader_test.cpp
                                ${PROJECT_SOURCE_DIR}/src/runtime/images/loader.cpp)
