# The target kusari (kusari::kusari).

# Includes are spelled "kusari/framework/...": in the build tree that name leads to the source root.
file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/include")
file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}/include/kusari" SYMBOLIC)
set(kusari_build_include "${CMAKE_CURRENT_BINARY_DIR}/include")

set(kusari_sources)
foreach(folder framework/core framework/kernels framework/cpu framework/autograd framework/functions framework/xp
        framework/initializers framework/distributions framework/links framework/static_graph framework/inference framework/quantization framework/serializers framework/tokenizers framework/models framework/datasets
        framework/amp framework/training framework/testing framework/distributed iterators optimizers updaters)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${folder}/*.cc)
  list(APPEND kusari_sources ${found})
endforeach()
list(FILTER kusari_sources EXCLUDE REGEX "/framework/cpu/(isa/|without_)")
if(NOT KUSARI_DECOMPOSITIONS)
  if(KUSARI_BUILD_TESTS)
    message(FATAL_ERROR "The tests call what KUSARI_DECOMPOSITIONS leaves out: turn KUSARI_BUILD_TESTS off")
  endif()
  list(FILTER kusari_sources EXCLUDE REGEX "/framework/cpu/(decompositions|linear_algebra|symmetric_eigen)[.]cc$")
  list(APPEND kusari_sources "${CMAKE_CURRENT_SOURCE_DIR}/framework/cpu/without_decompositions.cc")
endif()
file(GLOB kusari_isa_sources CONFIGURE_DEPENDS framework/cpu/isa/*.cc)

# Sources whose time is spent elsewhere (files, kernels, what they call) are compiled for size (KUSARI_COLD_OPTIMIZATION).
set(kusari_small_sources)
foreach(folder framework/amp framework/autograd/function_hooks framework/datasets/detection framework/datasets/tabular framework/datasets/text
        framework/distributed framework/distributions framework/functions/detection framework/initializers framework/kernels/user
        framework/links/activation framework/links/attention framework/links/connection framework/links/detection framework/links/link_hooks
        framework/links/loss framework/links/model framework/links/normalization framework/links/rnn framework/models framework/quantization
        framework/serializers framework/static_graph/passes framework/testing framework/training framework/xp optimizers/hooks updaters)
  set(found ${kusari_sources})
  list(FILTER found INCLUDE REGEX "/${folder}/")
  list(APPEND kusari_small_sources ${found})
endforeach()
# But for loops over pixels, boxes, numbers, bins or words, and what small models call in each step.
set(fast drawn_shapes_dataset orthogonal sampling bbox_iou box non_maximum_suppression soft_nms anchor_[a-z]+ detector region_proposals
         image_preparation rgb_bytes eval_[a-z_]+ check_lists histogram vocabulary autocast linear embed_id convolution_nd standard_updater
         batch_feed static_step step_timer updater)
list(JOIN fast "|" fast)
list(FILTER kusari_small_sources EXCLUDE REGEX "/(${fast})[.]cc$")
# And what is called once, beside what each step calls.
set(slow core/array_print core/atomic_file core/environment core/runtime_info core/summary inference/c_api inference/constant_[a-z]+ inference/frozen_plan
         inference/loaders static_graph/dot static_graph/memory_planner static_graph/passes static_graph/plan
         static_graph/recorder static_graph/summary tokenizers/tokenizer_json optimizers/composed_optimizer optimizers/exchange_ways optimizers/optimizer_messages
         optimizers/recorded_exchange optimizers/state_shards)
list(JOIN slow "|" slow)
set(found ${kusari_sources})
list(FILTER found INCLUDE REGEX "/(${slow})[.]cc$")
list(APPEND kusari_small_sources ${found})
list(REMOVE_ITEM kusari_sources ${kusari_small_sources})
# What draws a data set when it is first asked for takes no longer where the rest is not optimized (tools/quickstart).
set_source_files_properties(framework/datasets/stroke_digits.cc PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>
                            SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
# Sources that use a library which may lack, so that its definition makes another object of them.
set(kusari_optional_sources)
foreach(source ${kusari_sources} ${kusari_small_sources})
  file(STRINGS "${source}" uses REGEX "^#.*(KUSARI_WITH_(ONEDNN|CURL|JPEG|PNG|PCRE2|PUGIXML|HDF5)|/cpu/onednn[.]h)" LIMIT_COUNT 1)
  if(uses)
    list(APPEND kusari_optional_sources "${source}")
  endif()
endforeach()
list(REMOVE_ITEM kusari_sources ${kusari_optional_sources})
list(REMOVE_ITEM kusari_small_sources ${kusari_optional_sources})
# What libkusari_inference has as well (KusariInference.cmake): what infers on the CPU, and of the kernels all but those
# that train. Most are compiled once for both libraries.
set(inference_pattern "/framework/((core|kernels|cpu|autograd|links|initializers|static_graph|inference)/[^/]+|functions/.+|static_graph/passes/.+)[.]cc$")
set(training_kernels optimizer|decompositions|symmetric_eigen|hard_negatives|sigmoid_focal_loss|image_batch|value_statistics)
string(APPEND training_kernels "|connectionist_temporal_classification|normalized_fusion")
set(kusari_inference_sources ${kusari_optional_sources})
list(FILTER kusari_inference_sources INCLUDE REGEX "${inference_pattern}")
foreach(size IN ITEMS "" _small)
  set(kusari_common${size}_sources)
  foreach(source ${kusari${size}_sources})
    if(source MATCHES "${inference_pattern}" AND NOT source MATCHES "/framework/cpu/(${training_kernels})[.]cc$")
      file(STRINGS "${source}" differs REGEX "KUSARI_INFERENCE_LIBRARY" LIMIT_COUNT 1)
      if(differs)
        list(APPEND kusari_inference_sources "${source}")
      else()
        list(APPEND kusari_common${size}_sources "${source}")
      endif()
    endif()
  endforeach()
  list(REMOVE_ITEM kusari${size}_sources ${kusari_common${size}_sources})
endforeach()
set(kusari_fast_sources ${kusari_sources})

add_library(kusari ${kusari_optional_sources})
add_library(kusari::kusari ALIAS kusari)
# In this order: of an inline function that several have the linker keeps the first copy, a fast one.
set(kusari_parts kusari_fast kusari_common kusari_small kusari_common_small)
foreach(part ${kusari_parts})
  add_library(${part} OBJECT ${${part}_sources})
  target_include_directories(${part} PRIVATE ${kusari_build_include})
  target_compile_definitions(${part} PRIVATE $<FILTER:$<TARGET_PROPERTY:kusari,COMPILE_DEFINITIONS>,EXCLUDE,^KUSARI_WITH_>)
  # Kernels' sources are long by themselves.
  set(long_sources ${${part}_sources})
  list(FILTER long_sources INCLUDE REGEX "/framework/cpu/")
  kusari_compile_together(${part} 10 ${long_sources} ${CMAKE_CURRENT_SOURCE_DIR}/framework/core/thread_owned.cc)
  if(KUSARI_PCH)
    # One serves all parts with the same flags.
    set(carrier kusari_fast)
    if(part MATCHES "small" AND KUSARI_COLD_OPTIMIZATION)
      set(carrier kusari_small)
    endif()
    if(part STREQUAL carrier)
      target_precompile_headers(${part} PRIVATE cmake/precompiled.h)
    else()
      target_precompile_headers(${part} REUSE_FROM ${carrier})
    endif()
    target_compile_options(${part} PRIVATE ${kusari_precompiled_options})
  endif()
endforeach()
foreach(part IN ITEMS kusari_small kusari_common_small)
  target_compile_options(${part} PRIVATE $<$<CONFIG:Release>:${KUSARI_COLD_OPTIMIZATION}>)
endforeach()
# How sources of libkusari and libkusari_inference are compiled.
function(kusari_part_settings target)
  kusari_compile_settings(${target})
  # So that the linker leaves out what nothing calls. Calls between the library's own functions are direct: no program
  # replaces them.
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections $<$<BOOL:${BUILD_SHARED_LIBS}>:-fno-semantic-interposition>)
  # spdlog and fmt header-only and hidden: a program may have its own version of either.
  target_include_directories(${target} SYSTEM PRIVATE $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:Eigen3::Eigen> Threads::Threads ${CMAKE_DL_LIBS})
endfunction()
# Relative relocations take a tenth of their room where the C library that loads them reads them packed.
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#include <features.h>
  #if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 36)
  #error
  #endif
  int main() {}" KUSARI_PACKED_RELOCATIONS)
set(kusari_pack_relocations $<$<BOOL:${KUSARI_PACKED_RELOCATIONS}>:LINKER:-z,pack-relative-relocs>)
# How libkusari is linked from its parts.
function(kusari_link_parts target)
  kusari_part_settings(${target})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> ZLIB::ZLIB OpenMP::OpenMP_CXX)
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                             BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")  # backends lie beside it
  foreach(part ${kusari_parts})
    set(objects $<FILTER:$<TARGET_OBJECTS:${part}>,EXCLUDE,[.]gch>)
    if(BUILD_SHARED_LIBS)
      target_link_libraries(${target} PRIVATE ${objects})
    else()
      target_sources(${target} PRIVATE ${objects})
    endif()
  endforeach()
  if(BUILD_SHARED_LIBS)
    # nodelete: its threads wait for work until the process ends, so that dlclose() must not take the code away.
    target_link_options(${target} PRIVATE LINKER:-O1 LINKER:-Bsymbolic-functions LINKER:--as-needed LINKER:-z,nodelete LINKER:--gc-sections
                                          ${kusari_pack_relocations} LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cmake/kusari.map)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cmake/kusari.map")
  endif()
endfunction()
foreach(part ${kusari_parts})
  kusari_part_settings(${part})
  target_compile_options(${part} PRIVATE -fopenmp-simd)
  target_link_libraries(${part} PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> ZLIB::ZLIB)
endforeach()
# <omp.h>, of whose threads a worker process wants one. The flag of OpenMP itself would part the precompiled headers.
target_include_directories(kusari_fast PRIVATE ${OpenMP_CXX_INCLUDE_DIRS})
kusari_link_parts(kusari)
target_compile_features(kusari PUBLIC cxx_std_20)
target_include_directories(kusari PUBLIC $<BUILD_INTERFACE:${kusari_build_include}>)
# The threads of a kernel are the backend's own.
target_compile_definitions(kusari PRIVATE KUSARI_BUILD EIGEN_DONT_PARALLELIZE)
set(definitions $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_COMPILE_DEFINITIONS>)
# No variables of threads from it: what a library that is loaded by dlopen() may have of them is little.
target_compile_definitions(kusari PRIVATE $<FILTER:${definitions},EXCLUDE,FMT_SHARED> FMT_HEADER_ONLY SPDLOG_NO_TLS)
if(NOT BUILD_SHARED_LIBS)
  target_compile_definitions(kusari PUBLIC KUSARI_STATIC)
endif()
set(kusari_libraries_ONEDNN Dnnl::dnnl)
set(kusari_libraries_CURL CURL::libcurl)
set(kusari_libraries_JPEG JPEG::JPEG)
set(kusari_libraries_PNG PNG::PNG)
set(kusari_libraries_PCRE2 PCRE2::PCRE2)
set(kusari_libraries_PUGIXML pugixml::pugixml)
set(kusari_libraries_HDF5 $<LINK_ONLY:Hdf5::hdf5>)
function(kusari_use_libraries target)
  foreach(library ${ARGN})
    if(KUSARI_WITH_${library})
      target_compile_definitions(${target} PRIVATE KUSARI_WITH_${library})
      target_link_libraries(${target} PRIVATE ${kusari_libraries_${library}})
    endif()
  endforeach()
endfunction()
kusari_use_libraries(kusari ONEDNN CURL JPEG PNG PCRE2 PUGIXML HDF5)
if(KUSARI_WITH_HDF5)
  # Its headers lie with others' (MPI's) that no other source is to see.
  set_source_files_properties(framework/serializers/hdf5.cc PROPERTIES INCLUDE_DIRECTORIES "${Hdf5_INCLUDE_DIR}")
endif()
# Tests: the library without oneDNN and libcurl, under the name of the whole one.
if(KUSARI_BUILD_TESTS AND BUILD_SHARED_LIBS)
  add_library(kusari_plain SHARED ${kusari_optional_sources})
  kusari_link_parts(kusari_plain)
  set_target_properties(kusari_plain PROPERTIES OUTPUT_NAME kusari LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/plain")
  target_include_directories(kusari_plain PRIVATE ${kusari_build_include})
  target_compile_definitions(kusari_plain PRIVATE $<FILTER:$<TARGET_PROPERTY:kusari,COMPILE_DEFINITIONS>,EXCLUDE,^KUSARI_WITH_>)
  kusari_use_libraries(kusari_plain JPEG PNG PCRE2 PUGIXML HDF5)
endif()

# framework/cpu/isa/*.cc: pointwise, reduction and optimizer loops, compiled once per instruction set and chosen at
# run time. No contraction to fused multiply-adds, so that results are the same bits in every instruction set and do not
# depend on the compiler. Integers wrap. Nothing in them may be
# a weak symbol: the linker would keep one instruction set's copy for all (test isa_objects_have_no_weak_symbols).
# vnni_*.cc and bfloat16_*.cc are for one instruction set each alone; scalar_*.cc, which vectors do not help, for v1 and v3.
set(kusari_isa_objects)
set(kusari_bfloat16_sources ${kusari_isa_sources})
list(FILTER kusari_bfloat16_sources INCLUDE REGEX "/isa/bfloat16_")
set(kusari_vnni_sources ${kusari_isa_sources})
list(FILTER kusari_vnni_sources INCLUDE REGEX "/isa/vnni_")
set(kusari_isa_and_scalar_sources ${kusari_isa_sources})
list(FILTER kusari_isa_and_scalar_sources EXCLUDE REGEX "/isa/(bfloat16|vnni)_")
list(FILTER kusari_isa_sources EXCLUDE REGEX "/isa/(bfloat16|scalar|vnni)_")
function(kusari_isa_objects target isa sources)
  add_library(${target} OBJECT ${${sources}})
  kusari_compile_settings(${target})
  target_include_directories(${target} PRIVATE ${kusari_build_include})
  target_compile_definitions(${target} PRIVATE KUSARI_BUILD KUSARI_ISA=${isa} $<$<NOT:$<BOOL:${BUILD_SHARED_LIBS}>>:KUSARI_STATIC>)
  target_compile_options(${target} PRIVATE -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -fwrapv -fopenmp-simd
                                           -fno-exceptions -fno-rtti ${ARGN} $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
endfunction()
function(kusari_add_isa name sources)
  kusari_isa_objects(kusari_isa_${name} ${name} ${sources} ${ARGN})
  target_sources(kusari PRIVATE $<TARGET_OBJECTS:kusari_isa_${name}>)
  if(TARGET kusari_plain)
    target_sources(kusari_plain PRIVATE $<TARGET_OBJECTS:kusari_isa_${name}>)
  endif()
  set(kusari_isa_objects ${kusari_isa_objects} $<TARGET_OBJECTS:kusari_isa_${name}> PARENT_SCOPE)
endfunction()
if(KUSARI_NATIVE AND KUSARI_BUILD_TESTS)
  message(FATAL_ERROR "KUSARI_NATIVE compiles one instruction set alone, and the tests call all of them: turn KUSARI_BUILD_TESTS off")
endif()
if(kusari_isa_sources)
  if(KUSARI_NATIVE AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
    set(only v1)
    if(flags MATCHES " avx2 " AND flags MATCHES " fma " AND flags MATCHES " bmi2 " AND flags MATCHES " movbe " AND flags MATCHES " abm "
       AND flags MATCHES " f16c ")
      set(only v3)
      if(flags MATCHES " avx512bw " AND flags MATCHES " avx512dq " AND flags MATCHES " avx512vl " AND flags MATCHES " avx512cd ")
        set(only v4)
      endif()
    endif()
    set(option_v1 -march=x86-64)
    set(option_v3 -march=x86-64-v3)
    set(option_v4 -march=x86-64-v4 -mprefer-vector-width=512)
    target_compile_definitions(kusari PRIVATE KUSARI_ONLY_ISA=${only})
    kusari_add_isa(${only} kusari_isa_and_scalar_sources ${option_${only}})
    if(only STREQUAL v4 AND NOT KUSARI_NATIVE STREQUAL "FLOAT32")
      target_compile_definitions(kusari PRIVATE KUSARI_ISA_X86)
      kusari_add_isa(v4_vnni kusari_vnni_sources -march=x86-64-v4 -mavx512vnni -mprefer-vector-width=512)
      kusari_add_isa(v4_bf16 kusari_bfloat16_sources -march=x86-64-v4 -mavx512bf16 -mprefer-vector-width=512)
    endif()
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_definitions(kusari PRIVATE KUSARI_ISA_X86)
    kusari_add_isa(v1 kusari_isa_and_scalar_sources -march=x86-64 $<$<CONFIG:Release>:-Os>)  # for processors without AVX2: small
    kusari_add_isa(v3 kusari_isa_and_scalar_sources -march=x86-64-v3)
    kusari_add_isa(v4 kusari_isa_sources -march=x86-64-v4 -mprefer-vector-width=512)
    kusari_add_isa(v4_vnni kusari_vnni_sources -march=x86-64-v4 -mavx512vnni -mprefer-vector-width=512)
    kusari_add_isa(v4_bf16 kusari_bfloat16_sources -march=x86-64-v4 -mavx512bf16 -mprefer-vector-width=512)
  else()
    kusari_add_isa(v1 kusari_isa_and_scalar_sources)
  endif()
endif()
