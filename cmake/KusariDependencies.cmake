# Third-party libraries. Only the library's sources see them: no public header includes one.

find_package(ZLIB REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)  # 3.3 or later: a version here would refuse 5
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

kusari_find(ONEDNN "${KUSARI_ONEDNN}" Dnnl 2.6 MODULE)
kusari_find(CURL "${KUSARI_CURL}" CURL)
kusari_find(JPEG "${KUSARI_JPEG}" JPEG)
kusari_find(PNG "${KUSARI_PNG}" PNG)
kusari_find(PCRE2 "${KUSARI_PCRE2}" PCRE2)
kusari_find(PUGIXML "${KUSARI_PUGIXML}" pugixml)
kusari_find(HDF5 "${KUSARI_HDF5}" Hdf5)
kusari_find(ONNX "${KUSARI_ONNX}" Protozero)

# The C interface of MPI alone, as C++ programs include it.
set(MPI_CXX_SKIP_MPICXX ON)
kusari_find(MPI "${KUSARI_MPI}" MPI COMPONENTS CXX)
if(KUSARI_WITH_MPI AND NOT BUILD_SHARED_LIBS)
  message(STATUS "Kusari: no MPI: it needs BUILD_SHARED_LIBS")
  set(KUSARI_WITH_MPI OFF)
endif()

kusari_find(CUDA "${KUSARI_CUDA}" CUDAToolkit 12.8) # cudaLibraryLoadData
if(KUSARI_WITH_CUDA)
  find_path(KUSARI_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDNN_INCLUDE_DIR)
  find_library(KUSARI_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDAToolkit_LIBRARY_DIR} "${CUDAToolkit_LIBRARY_ROOT}/lib")
  foreach(missing IN ITEMS BUILD_SHARED_LIBS KUSARI_CUDNN_INCLUDE_DIR KUSARI_CUDNN_LIBRARY CUDAToolkit_NVCC_EXECUTABLE)
    if(NOT ${missing})
      if(NOT "${KUSARI_CUDA}" STREQUAL "AUTO")
        message(FATAL_ERROR "KUSARI_CUDA=${KUSARI_CUDA}, but the CUDA backend needs ${missing}")
      endif()
      message(STATUS "Kusari: no CUDA backend: it needs ${missing}")
      set(KUSARI_WITH_CUDA OFF)
    endif()
  endforeach()
endif()

if(KUSARI_WITH_CUDA AND KUSARI_SANITIZE)
  message(STATUS "Kusari: no CUDA backend: nvcc knows no sanitizers; the emulated device does")
  set(KUSARI_WITH_CUDA OFF)
endif()

# The emulated device takes the toolkit's headers and no more, so the search does not depend on KUSARI_CUDA.
set(KUSARI_WITH_CUDA_EMULATED OFF)
# ThreadSanitizer does not know its fibers.
if(KUSARI_BUILD_TESTS AND BUILD_SHARED_LIBS AND NOT "${KUSARI_CUDA_EMULATED}" STREQUAL "OFF" AND NOT KUSARI_SANITIZE MATCHES "thread")
  find_package(CUDAToolkit 12.8 QUIET)
  find_path(KUSARI_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDNN_INCLUDE_DIR)
  find_package(Boost COMPONENTS context QUIET)
  set(KUSARI_WITH_CUDA_EMULATED ON)
  foreach(needed IN ITEMS CUDAToolkit_FOUND KUSARI_CUDNN_INCLUDE_DIR Boost_CONTEXT_FOUND)
    if(NOT ${needed})
      set(KUSARI_WITH_CUDA_EMULATED OFF)
      if(NOT "${KUSARI_CUDA_EMULATED}" STREQUAL "AUTO")
        message(FATAL_ERROR "KUSARI_CUDA_EMULATED=${KUSARI_CUDA_EMULATED}, but the emulated device needs ${needed}")
      endif()
    endif()
  endforeach()
endif()

message(STATUS "Kusari: oneDNN ${KUSARI_WITH_ONEDNN} ${Dnnl_VERSION}; libcurl ${KUSARI_WITH_CURL}; JPEG ${KUSARI_WITH_JPEG}; PNG ${KUSARI_WITH_PNG}; PCRE2 ${KUSARI_WITH_PCRE2}; pugixml ${KUSARI_WITH_PUGIXML}; HDF5 ${KUSARI_WITH_HDF5}; ONNX ${KUSARI_WITH_ONNX}; MPI ${KUSARI_WITH_MPI} ${MPI_CXX_VERSION}; CUDA ${KUSARI_WITH_CUDA} ${CUDAToolkit_VERSION}; emulated CUDA ${KUSARI_WITH_CUDA_EMULATED}")
