# What `cmake --install` puts in place: a tree that may be moved, with all that C and C++ users need; and, as the
# component `python`, which the wheel alone asks for, the compiled files of the Python package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

find_path(DLPACK_INCLUDE_DIR dlpack/dlpack.h REQUIRED DOC "Folder that holds dlpack/dlpack.h (libdlpack-dev)")
mark_as_advanced(DLPACK_INCLUDE_DIR)
set(third_party ${CMAKE_INSTALL_INCLUDEDIR}/flashfit/third_party)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/flashfit)

install(TARGETS flashfit_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# dlpack.h comes along: users need not look for it. CMake takes folders of imported targets for those of system headers.
install(TARGETS flashfit EXPORT flashfitTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${third_party})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/flashfit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${DLPACK_INCLUDE_DIR}/dlpack/dlpack.h DESTINATION ${third_party}/dlpack)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT flashfitTargets NAMESPACE flashfit:: DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/flashfitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/flashfitConfig.cmake ${PROJECT_BINARY_DIR}/cmake/flashfitConfigVersion.cmake
  DESTINATION ${package})

# The wheel's, in the folders that scikit-build-core names. A wheel holds no links: the library goes by its bare name.
flashfit_for_wheel(wheel_library flashfit)
flashfit_for_wheel(wheel_command flashfit_cli)
set(compiled ${wheel_library} ${wheel_command})
if(TARGET flashfit_python)
  flashfit_for_wheel(wheel_module flashfit_python)
  flashfit_for_wheel(wheel_module_free_threaded flashfit_python_free_threaded)
  list(APPEND compiled ${wheel_module} ${wheel_module_free_threaded})
endif()
add_custom_target(flashfit_wheel DEPENDS ${compiled})
if(SKBUILD)
  install(PROGRAMS $<TARGET_FILE:${wheel_library}> DESTINATION flashfit RENAME libflashfit.so COMPONENT python
          EXCLUDE_FROM_ALL)
  install(PROGRAMS $<TARGET_FILE:${wheel_command}> DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python EXCLUDE_FROM_ALL)
  if(TARGET flashfit_python)
    install(TARGETS ${wheel_module} ${wheel_module_free_threaded} LIBRARY DESTINATION flashfit COMPONENT python
            EXCLUDE_FROM_ALL)
  endif()
endif()

# The way from the .pc file to the tree's root, so that the tree may be moved.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/flashfit.pc.in ${PROJECT_BINARY_DIR}/cmake/flashfit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/flashfit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
