# Finds oneDNN by its header and library. Debian 12's own dnnl-config.cmake asks for OpenCL headers that the
# library does not need.
#
# Defines Dnnl_FOUND, Dnnl_VERSION and the target Dnnl::dnnl.

find_path(Dnnl_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(Dnnl_LIBRARY dnnl)

if(Dnnl_INCLUDE_DIR)
  file(STRINGS "${Dnnl_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" _dnnl_lines REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH)")
  string(REGEX REPLACE ".*_MAJOR +([0-9]+).*_MINOR +([0-9]+).*_PATCH +([0-9]+).*" "\\1.\\2.\\3" Dnnl_VERSION "${_dnnl_lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Dnnl REQUIRED_VARS Dnnl_LIBRARY Dnnl_INCLUDE_DIR VERSION_VAR Dnnl_VERSION)
mark_as_advanced(Dnnl_INCLUDE_DIR Dnnl_LIBRARY)

if(Dnnl_FOUND AND NOT TARGET Dnnl::dnnl)
  add_library(Dnnl::dnnl UNKNOWN IMPORTED)
  set_target_properties(Dnnl::dnnl PROPERTIES IMPORTED_LOCATION "${Dnnl_LIBRARY}"
                                              INTERFACE_INCLUDE_DIRECTORIES "${Dnnl_INCLUDE_DIR}")
endif()
