# cpack makes Debian packages: libkusari (what programs need that run), libkusari-dev (what others are built with) and
# kusari-tools. `cmake --build --preset release --target kusari kusari_onnx kusari_inference kusari-inspect kusari-run` builds
# all that they hold.

# They hold neither examples nor tests, so that these need not be built before an installation where there are any.
if(KUSARI_BUILD_TESTS OR KUSARI_BUILD_EXAMPLES)
  set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL library dev tools)
set(CPACK_PACKAGE_VENDOR "The Kusari authors")
set(CPACK_PACKAGE_CONTACT "The Kusari authors <kusari@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_CURRENT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_CURRENT_BINARY_DIR}")  # of our own libraries nobody asks

set(version "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME "libkusari${version}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_SOURCE_DIR}/cmake/debian/triggers")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Define-by-run deep learning in C++20: the library")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libkusari-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libkusari${version} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_DEV_DESCRIPTION "Define-by-run deep learning in C++20: headers, and files for CMake and pkg-config")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME kusari-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libkusari${version} (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "Define-by-run deep learning in C++20: kusari-inspect, kusari-run, kusari-new-project")
include(CPack)
