# The target kusari_mpi: messages between processes through MPI, a library that the first communicator of a program that
# a launcher started loads by name. No program links it.

if(KUSARI_WITH_MPI)
  file(GLOB kusari_mpi_sources CONFIGURE_DEPENDS mpi/*.cc)
  add_library(kusari_mpi SHARED ${kusari_mpi_sources})
  kusari_compile_settings(kusari_mpi)
  target_include_directories(kusari_mpi PRIVATE ${kusari_build_include})
  target_link_libraries(kusari_mpi PRIVATE kusari::kusari MPI::MPI_CXX Threads::Threads)
  target_link_options(kusari_mpi PRIVATE LINKER:--as-needed LINKER:--no-undefined LINKER:-z,nodelete)
  set_target_properties(kusari_mpi PROPERTIES VERSION ${PROJECT_VERSION}
                                              SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()
