# The target kusari_cuda (kusari::cuda): the CUDA backend, a library that get_device("cuda:0") loads by name.
# kusari_cuda_sources, kusari_cuda_headers: what it is made of. The tests build the same sources once more for a device
# that the processor plays (tests/cuda_emulated).

file(GLOB_RECURSE kusari_cuda_sources CONFIGURE_DEPENDS cuda/*.cc cuda/*.cu)
# Of NCCL the header alone is needed: the library is loaded by name, when ranks with GPUs exchange arrays.
find_path(KUSARI_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(NOT KUSARI_NCCL_INCLUDE_DIR)
  list(FILTER kusari_cuda_sources EXCLUDE REGEX "/nccl\\.cc$")
endif()
# Formulas round each product and each sum, as on the CPU: they wait for memory anyway.
file(GLOB kusari_cuda_rounded CONFIGURE_DEPENDS cuda/kernels/rounded/*.cu)
set_source_files_properties(${kusari_cuda_rounded} PROPERTIES COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>")

# The headers that kernels compiled at run time include, as a source.
set(kusari_nvrtc_headers framework/core/host_device.h framework/core/philox.h framework/kernels/activation.h
                         framework/kernels/arithmetic.h framework/kernels/comparison.h framework/kernels/half.h
                         framework/kernels/macros.h framework/kernels/math.h framework/kernels/math_basic.h
                         framework/kernels/math_explog.h framework/kernels/math_functions.h
                         framework/kernels/scalar_functions.h framework/kernels/math_gamma.h
                         framework/kernels/math_incomplete_beta.h framework/kernels/math_incomplete_gamma.h
                         framework/kernels/math_incomplete_inverse.h framework/kernels/math_normal.h
                         framework/kernels/math_arc.h framework/kernels/math_erf.h framework/kernels/math_hyperbolic.h
                         framework/kernels/math_lgamma.h framework/kernels/math_pow.h framework/kernels/math_special.h framework/kernels/math_trig.h
                         framework/kernels/user/prelude.h)
set(kusari_nvrtc_source "${CMAKE_CURRENT_BINARY_DIR}/nvrtc_headers.cc")
list(JOIN kusari_nvrtc_headers "," joined)
add_custom_command(
  OUTPUT "${kusari_nvrtc_source}"
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_CURRENT_SOURCE_DIR} -DHEADERS=${joined} -DOUTPUT=${kusari_nvrtc_source}
          -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_headers.cmake"
  DEPENDS ${kusari_nvrtc_headers} cmake/embed_headers.cmake
  VERBATIM)
add_custom_target(kusari_nvrtc_headers DEPENDS "${kusari_nvrtc_source}")  # shared by targets of several folders
function(kusari_use_nvrtc_headers target)
  target_sources(${target} PRIVATE "${kusari_nvrtc_source}")
  set_source_files_properties("${kusari_nvrtc_source}" TARGET_DIRECTORY ${target} PROPERTIES GENERATED ON)
  add_dependencies(${target} kusari_nvrtc_headers)
endfunction()

# Properties of sources hold in the folder that calls this.
function(kusari_use_nccl)
  if(KUSARI_NCCL_INCLUDE_DIR)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_DEFINITIONS KUSARI_WITH_NCCL
                                                   INCLUDE_DIRECTORIES "${KUSARI_NCCL_INCLUDE_DIR}")
  endif()
endfunction()
set(kusari_nccl_sources ${kusari_cuda_sources})
list(FILTER kusari_nccl_sources INCLUDE REGEX "/(nccl|register)\\.cc$")
kusari_use_nccl(${kusari_nccl_sources})

function(kusari_cuda_settings target)
  target_include_directories(${target} PRIVATE ${kusari_build_include})
  target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${KUSARI_CUDNN_INCLUDE_DIR})
  target_compile_definitions(${target} PRIVATE KUSARI_CUDA_BUILD)
  target_link_libraries(${target} PRIVATE kusari::kusari Threads::Threads ${CMAKE_DL_LIBS})
  kusari_use_nvrtc_headers(${target})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME kusari_cuda CUDA_VISIBILITY_PRESET hidden
                                             CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

if(KUSARI_WITH_CUDA)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT "$ENV{CUDAARCHS}" STREQUAL "")
    set(CMAKE_CUDA_ARCHITECTURES "$ENV{CUDAARCHS}")
  elseif(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # The card of this machine; without one, all since Ampere. Later ones compile the text (PTX) of the newest.
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE capability RESULT_VARIABLE status ERROR_QUIET)
    if(status EQUAL 0 AND capability MATCHES "^([0-9]+)\\.([0-9]+)" AND NOT KUSARI_CUDA_EVERY_CARD)
      set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
    else()
      set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90-real 100-real 120)
      if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")  # Jetson Orin and Thor
        list(INSERT CMAKE_CUDA_ARCHITECTURES 2 87-real)
        if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13)
          list(INSERT CMAKE_CUDA_ARCHITECTURES 6 110-real)
        endif()
      endif()
    endif()
  endif()
  message(STATUS "Kusari: CUDA code for ${CMAKE_CUDA_ARCHITECTURES}")
  if(KUSARI_CCACHE_PROGRAM AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${KUSARI_CCACHE_PROGRAM}")
  endif()
  set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}" CACHE FILEPATH "The CUDA compiler")
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    # CMake before 3.26 does not know nvcc's C++20.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  # 1835: nvcc does not know the attribute tls_model.
  string(APPEND CMAKE_CUDA_FLAGS " --expt-relaxed-constexpr -diag-suppress 1835")
  list(LENGTH CMAKE_CUDA_ARCHITECTURES architectures)
  if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13 AND (architectures GREATER 1 OR CMAKE_CUDA_ARCHITECTURES MATCHES "^all"))
    # To be shipped: a quarter of the default's bytes, for a tenth of the compiler's time.
    string(APPEND CMAKE_CUDA_FLAGS " -compress-mode=size")
  endif()

  add_library(kusari_cuda SHARED ${kusari_cuda_sources})
  add_library(kusari::cuda ALIAS kusari_cuda)
  kusari_cuda_settings(kusari_cuda)
  target_compile_options(
    kusari_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow $<$<BOOL:${KUSARI_WERROR}>:-Werror>>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra $<$<BOOL:${KUSARI_WERROR}>:--Werror=all-warnings>>)
  # The runtime is a library of its own: inside of this one it would take 4 KiB of the block of variables of threads, for
  # which dlopen() has no room.
  target_link_libraries(kusari_cuda PRIVATE CUDA::cudart CUDA::cublasLt CUDA::nvrtc ${KUSARI_CUDNN_LIBRARY})
  target_link_options(kusari_cuda PRIVATE LINKER:--no-undefined LINKER:-z,nodelete)  # not at the first get_device("cuda:0")
  set_target_properties(kusari_cuda PROPERTIES VERSION ${PROJECT_VERSION}
                                               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()
