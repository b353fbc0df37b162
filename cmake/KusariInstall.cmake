# cmake --install and find_package(kusari).

include(CMakePackageConfigHelpers)

install(TARGETS kusari EXPORT kusari-targets)
install(EXPORT kusari-targets NAMESPACE kusari:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari)

# The CUDA backend can be packed by itself (cmake --install --component cuda): programs find it beside libkusari when
# they ask for a CUDA device, and find_package(kusari) does without.
if(TARGET kusari_cuda)
  set_target_properties(kusari_cuda PROPERTIES EXPORT_NAME cuda INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS kusari_cuda EXPORT kusari-cuda-targets COMPONENT cuda)
  install(EXPORT kusari-cuda-targets NAMESPACE kusari:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari COMPONENT cuda)
endif()

# The public headers: what a backend keeps to itself stays here.
install(DIRECTORY framework DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kusari
        FILES_MATCHING PATTERN "*.h" PATTERN framework/cpu EXCLUDE)
foreach(folder iterators optimizers updaters)
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kusari FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()
install(FILES kusari.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kusari OPTIONAL)

configure_package_config_file(cmake/kusari-config.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/kusari-config.cmake"
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/kusari-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kusari-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/kusari-config-version.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari)
if(NOT BUILD_SHARED_LIBS AND KUSARI_WITH_ONEDNN)
  install(FILES cmake/FindDnnl.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari)
endif()
