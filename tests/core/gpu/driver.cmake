if(NOT TARGET fake_cuda_whole)
  add_subdirectory(${PROJECT_SOURCE_DIR}/tests/fake_cuda ${PROJECT_BINARY_DIR}/tests/fake_cuda)
endif()
flashfit_fake_cuda_test(gpu_driver_test LIBS flashfit_gpu SOURCES ${CMAKE_CURRENT_LIST_DIR}/driver_test.cpp)
