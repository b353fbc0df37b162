# cmake --install, find_package(kusari) and pkg-config kusari.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

target_include_directories(kusari PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set(kusari_places RUNTIME COMPONENT library LIBRARY COMPONENT library NAMELINK_COMPONENT dev ARCHIVE COMPONENT dev)
install(TARGETS kusari EXPORT kusari-targets ${kusari_places})
foreach(library IN ITEMS kusari_onnx kusari_inference)
  if(TARGET ${library})
    target_include_directories(${library} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    install(TARGETS ${library} EXPORT kusari-targets ${kusari_places})
  endif()
endforeach()
install(EXPORT kusari-targets NAMESPACE kusari:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari COMPONENT dev)

# The CUDA backend can be packed by itself (cmake --install --component cuda): programs find it beside libkusari when
# they ask for a CUDA device, and find_package(kusari) does without.
if(TARGET kusari_cuda)
  set_target_properties(kusari_cuda PROPERTIES EXPORT_NAME cuda INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS kusari_cuda EXPORT kusari-cuda-targets COMPONENT cuda)
  install(EXPORT kusari-cuda-targets NAMESPACE kusari:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari COMPONENT cuda)
endif()

# So can MPI's part (--component mpi), which programs find in the same way when a launcher starts several of them.
if(TARGET kusari_mpi)
  set_target_properties(kusari_mpi PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS kusari_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mpi)
endif()

# The public headers: what a backend keeps to itself stays here.
install(DIRECTORY framework DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kusari COMPONENT dev
        FILES_MATCHING PATTERN "*.h" PATTERN framework/cpu EXCLUDE PATTERN framework/onnx/read EXCLUDE
        PATTERN framework/onnx/operators EXCLUDE PATTERN framework/onnx/export EXCLUDE)
foreach(folder iterators optimizers updaters)
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kusari COMPONENT dev FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()
install(FILES kusari.h onnx.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kusari COMPONENT dev OPTIONAL)

configure_package_config_file(cmake/kusari-config.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/kusari-config.cmake"
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/kusari-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kusari-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/kusari-config-version.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari COMPONENT dev)
if(NOT BUILD_SHARED_LIBS AND KUSARI_WITH_ONEDNN)
  install(FILES cmake/FindDnnl.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari COMPONENT dev)
endif()
if(NOT BUILD_SHARED_LIBS AND KUSARI_WITH_HDF5)
  install(FILES cmake/FindHdf5.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari COMPONENT dev)
endif()
if(NOT BUILD_SHARED_LIBS AND KUSARI_WITH_PCRE2)
  install(FILES cmake/FindPCRE2.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/kusari COMPONENT dev)
endif()

# For other build systems. A program that links the static library names what that was built with.
set(kusari_pc_cflags)
set(kusari_pc_libs)
if(NOT BUILD_SHARED_LIBS)
  set(kusari_pc_cflags "-DKUSARI_STATIC")
  set(hdf5 hdf5)
  if(Hdf5_LIBRARY MATCHES "hdf5_serial")
    set(hdf5 hdf5_serial)  # Debian's
  endif()
  foreach(library IN ITEMS ONEDNN:dnnl CURL:curl JPEG:jpeg PNG:png PCRE2:pcre2-8 PUGIXML:pugixml HDF5:${hdf5})
    string(REPLACE ":" ";" library ${library})
    list(GET library 0 name)
    list(GET library 1 file)
    if(KUSARI_WITH_${name})
      string(APPEND kusari_pc_libs " -l${file}")
    endif()
  endforeach()
  string(APPEND kusari_pc_libs " -lz ${OpenMP_CXX_FLAGS} -pthread")
  foreach(library ${CMAKE_DL_LIBS})
    string(APPEND kusari_pc_libs " -l${library}")
  endforeach()
endif()
set(kusari_pkgconfig_folder "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH kusari_pc_prefix "/${kusari_pkgconfig_folder}" "/")
string(REGEX REPLACE "/$" "" kusari_pc_prefix "${kusari_pc_prefix}")
configure_file(cmake/kusari.pc.in "${CMAKE_CURRENT_BINARY_DIR}/kusari.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kusari.pc" DESTINATION "${kusari_pkgconfig_folder}" COMPONENT dev)

foreach(tool IN ITEMS kusari-inspect kusari-run)
  if(TARGET ${tool})
    file(RELATIVE_PATH kusari_from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(${tool} PROPERTIES INSTALL_RPATH "$ORIGIN/${kusari_from_bin}")
    # Where it was not built, because only some targets were, the rest is installed without it.
    install(TARGETS ${tool} RUNTIME COMPONENT tools OPTIONAL)
  endif()
endforeach()
install(PROGRAMS tools/new_project DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools RENAME kusari-new-project)
