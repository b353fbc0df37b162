# Finds libhdf5 by its header and library, those of Debian's serial package too.
#
# Defines Hdf5_FOUND and the target Hdf5::hdf5.

find_path(Hdf5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(Hdf5_LIBRARY NAMES hdf5_serial hdf5)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hdf5 REQUIRED_VARS Hdf5_LIBRARY Hdf5_INCLUDE_DIR)
mark_as_advanced(Hdf5_INCLUDE_DIR Hdf5_LIBRARY)

if(Hdf5_FOUND AND NOT TARGET Hdf5::hdf5)
  add_library(Hdf5::hdf5 UNKNOWN IMPORTED)
  set_target_properties(Hdf5::hdf5 PROPERTIES IMPORTED_LOCATION "${Hdf5_LIBRARY}"
                                              INTERFACE_INCLUDE_DIRECTORIES "${Hdf5_INCLUDE_DIR}")
endif()
