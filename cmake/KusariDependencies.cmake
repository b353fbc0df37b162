# Third-party libraries. Only the library's sources see them: no public header includes one.

find_package(ZLIB REQUIRED)
find_package(Eigen3 3.3 REQUIRED NO_MODULE)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# kusari_find(NAME CHOICE PACKAGE...): PACKAGE by a choice of AUTO, ON or OFF; sets KUSARI_WITH_<NAME>.
macro(kusari_find name choice)
  set(KUSARI_WITH_${name} OFF)
  if("${choice}" STREQUAL "AUTO")
    find_package(${ARGN} QUIET)
  elseif(${choice})
    find_package(${ARGN} REQUIRED)
  endif()
  if(NOT "${choice}" STREQUAL "OFF" AND ${ARGV2}_FOUND)
    set(KUSARI_WITH_${name} ON)
  endif()
endmacro()

kusari_find(ONEDNN "${KUSARI_ONEDNN}" Dnnl 2.6)
kusari_find(CURL "${KUSARI_CURL}" CURL)
kusari_find(JPEG "${KUSARI_JPEG}" JPEG)
kusari_find(PNG "${KUSARI_PNG}" PNG)

file(GLOB_RECURSE kusari_cuda_sources CONFIGURE_DEPENDS cuda/*.cc cuda/*.cu)
kusari_find(CUDA "${KUSARI_CUDA}" CUDAToolkit 12)
if(KUSARI_WITH_CUDA AND NOT kusari_cuda_sources)
  set(KUSARI_WITH_CUDA "OFF (CUDA ${CUDAToolkit_VERSION} is installed, but this version has no CUDA backend)")
  if(NOT "${KUSARI_CUDA}" STREQUAL "AUTO")
    message(FATAL_ERROR "KUSARI_CUDA=${KUSARI_CUDA}, but this version has no CUDA backend")
  endif()
endif()

message(STATUS "Kusari: oneDNN ${KUSARI_WITH_ONEDNN} ${Dnnl_VERSION}; libcurl ${KUSARI_WITH_CURL}; JPEG ${KUSARI_WITH_JPEG}; PNG ${KUSARI_WITH_PNG}; CUDA ${KUSARI_WITH_CUDA}")
