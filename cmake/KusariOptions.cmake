# What a user may choose, and the compiler settings that hold for every target of this project. A project that includes
# this one by add_subdirectory is left alone: its cache gets no entries of ours but KUSARI_*, its targets no flags.

if(PROJECT_IS_TOP_LEVEL)
  option(BUILD_SHARED_LIBS "Build libkusari as a shared library" ON)
elseif(DEFINED KUSARI_SHARED)
  set(BUILD_SHARED_LIBS ${KUSARI_SHARED})
elseif(NOT DEFINED BUILD_SHARED_LIBS)
  set(BUILD_SHARED_LIBS ON)
endif()
option(KUSARI_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(KUSARI_BUILD_EXAMPLES "Build examples/" ${PROJECT_IS_TOP_LEVEL})
option(KUSARI_BUILD_TOOLS "Build the programs of tools/" ${PROJECT_IS_TOP_LEVEL})
option(KUSARI_INSTALL "Make rules for cmake --install" ${PROJECT_IS_TOP_LEVEL})
option(KUSARI_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
set(KUSARI_UNITY OFF CACHE STRING "Compile a few sources of one folder at a time, so that headers are read once: OFF, ON, or how many")
set(KUSARI_NATIVE OFF CACHE STRING "Compile loops for this machine's instruction set alone: OFF, ON, or FLOAT32, without those for bfloat16 and int8")
option(KUSARI_DECOMPOSITIONS "Build what decomposes and inverts matrices, by Eigen" ON)
option(KUSARI_PCH "Compile the library with precompiled headers" OFF)
option(KUSARI_PCH_PROGRAMS "Compile examples and tests with precompiled headers" OFF)
option(KUSARI_CCACHE "Compile through ccache when it is installed" ON)
set(KUSARI_COLD_OPTIMIZATION -Os CACHE STRING "How the library's sources whose time is spent elsewhere are optimized")
set(KUSARI_ONEDNN AUTO CACHE STRING "Use oneDNN: AUTO (when found), ON (required) or OFF (own loops only)")
set(KUSARI_CURL AUTO CACHE STRING "Download data sets with libcurl: AUTO, ON or OFF")
set(KUSARI_JPEG AUTO CACHE STRING "Read JPEG images with libjpeg-turbo: AUTO, ON or OFF")
set(KUSARI_PNG AUTO CACHE STRING "Read PNG images with libpng: AUTO, ON or OFF")
set(KUSARI_PCRE2 AUTO CACHE STRING "Tokenizers with patterns, by PCRE2: AUTO, ON or OFF")
set(KUSARI_PUGIXML AUTO CACHE STRING "Pascal VOC annotations, by pugixml: AUTO, ON or OFF")
set(KUSARI_HDF5 AUTO CACHE STRING "Read and write HDF5 files with libhdf5: AUTO, ON or OFF")
set(KUSARI_ONNX AUTO CACHE STRING "Read and write ONNX files (libkusari_onnx), with protozero: AUTO, ON or OFF")
option(KUSARI_INFERENCE "Build libkusari_inference, for deployment" ${PROJECT_IS_TOP_LEVEL})
set(KUSARI_MPI AUTO CACHE STRING "Train in several processes through MPI (libkusari_mpi): AUTO, ON or OFF")
set(kusari_cuda_default OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(kusari_cuda_default AUTO)
endif()
set(KUSARI_CUDA ${kusari_cuda_default} CACHE STRING "Build the CUDA backend: AUTO, ON or OFF")
option(KUSARI_CUDA_EVERY_CARD "Make CUDA code for all cards since Ampere, also where this machine has one" OFF)
set(KUSARI_CUDA_EMULATED AUTO CACHE STRING "Test the CUDA backend on a device that the processor plays: AUTO, ON or OFF")
set(KUSARI_SANITIZE "" CACHE STRING "Sanitizers to build with, such as address,undefined")
set(KUSARI_SHARED_DIR "${CMAKE_CURRENT_SOURCE_DIR}/../shared" CACHE PATH
    "Where real data that is not part of the repository lies (data/), for tests; it may be absent")
foreach(option KUSARI_ONEDNN KUSARI_CURL KUSARI_JPEG KUSARI_PNG KUSARI_PCRE2 KUSARI_PUGIXML KUSARI_HDF5 KUSARI_ONNX KUSARI_MPI KUSARI_CUDA KUSARI_CUDA_EMULATED)
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
endforeach()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  if(PROJECT_IS_TOP_LEVEL)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  else()
    set(CMAKE_BUILD_TYPE Release)  # of these folders alone
  endif()
endif()
if(PROJECT_IS_TOP_LEVEL)
  # Hot loops are in the instruction-set objects, which are built with -O3 whatever this says.
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()

# A program that links the shared library need not be linked again when that one changes inside.
set(CMAKE_LINK_DEPENDS_NO_SHARED ON)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(KUSARI_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(KUSARI_CCACHE_PROGRAM ccache)
  if(KUSARI_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${KUSARI_CCACHE_PROGRAM}")
  endif()
endif()

if(KUSARI_SANITIZE)
  add_compile_options(-fsanitize=${KUSARI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${KUSARI_SANITIZE})
  # In sanitized code GCC 12 gives false alarms, about std::regex among others.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
endif()

# Settings of one target that must not reach the programs that link it.
function(kusari_compile_settings target)
  # clang reports libstdc++'s own use of deprecated names in std::stable_sort, and from 22 on doctest's __COUNTER__.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow $<$<BOOL:${KUSARI_WERROR}>:-Werror>
                                           $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
    $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,22>>:-Wno-c2y-extensions>)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# For programs whose own code is not what takes time: -O1 compiles a third faster than the library's -O2, -O0 twice as
# fast, also than the -O1 of the sanitizers.
function(kusari_compile_quickly target level)
  set(is_quick $<CONFIG:Release>)
  if(KUSARI_SANITIZE)
    set(is_quick 1)
  endif()
  target_compile_options(${target} PRIVATE $<${is_quick}:${level}>)
endfunction()

# For targets with a precompiled header, of which GCC 12 forgets that std::string is a system's: it warns of overlaps that
# cannot be.
set(kusari_precompiled_options $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)

# KUSARI_PCH_PROGRAMS: has the program compiled with a precompiled header, which programs of one kind share: their settings
# are the same.
function(kusari_precompile_program target kind header)
  if(NOT KUSARI_PCH_PROGRAMS)
    return()
  endif()
  target_compile_options(${target} PRIVATE ${kusari_precompiled_options})
  get_property(carrier GLOBAL PROPERTY kusari_precompiled_${kind})
  if(carrier)
    target_precompile_headers(${target} REUSE_FROM ${carrier})
  else()
    target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/${header}")
    set_property(GLOBAL PROPERTY kusari_precompiled_${kind} ${target})
  endif()
endfunction()

# Has the target's sources compiled a few at a time, always of one folder, so that their headers are read once. Names in
# the unnamed namespaces of a folder's sources must therefore differ, and no source may end with a macro or a
# using-directive of its own in force. Further arguments: sources that are compiled alone.
function(kusari_compile_together target size)
  if(NOT KUSARI_UNITY)
    return()
  endif()
  if(KUSARI_UNITY MATCHES "^[0-9]+$")
    set(size ${KUSARI_UNITY})
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    if(source IN_LIST ARGN OR NOT source MATCHES "\\.cc$" OR source MATCHES "[$]<")
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    string(REPLACE "/" "_" folder "${folder}")
    # What takes longest in these is the templates of nlohmann's library: once for all of them.
    file(STRINGS "${source}" uses REGEX "^#include <nlohmann/" LIMIT_COUNT 1)
    if(uses AND target MATCHES "^kusari_")
      set(folder json)
    endif()
    # Sources of one folder need not follow each other: image/decode_test.cc is listed before image_converter_test.cc.
    if(NOT DEFINED count_${folder})
      set(count_${folder} 0)
    endif()
    math(EXPR number "${count_${folder}} / ${size} + 1")
    math(EXPR count_${folder} "${count_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${number})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes a source that another includes for a header, and its classes for ones that others see.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()
