# Finds protozero, which reads and writes protocol buffers' wire format, by its headers.
#
# Defines Protozero_FOUND and the target Protozero::Protozero.

find_path(Protozero_INCLUDE_DIR protozero/pbf_reader.hpp)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Protozero REQUIRED_VARS Protozero_INCLUDE_DIR)
mark_as_advanced(Protozero_INCLUDE_DIR)

if(Protozero_FOUND AND NOT TARGET Protozero::Protozero)
  add_library(Protozero::Protozero INTERFACE IMPORTED)
  set_target_properties(Protozero::Protozero PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Protozero_INCLUDE_DIR}")
endif()
