# The target kusari (kusari::kusari).

# Includes are spelled "kusari/framework/...": in the build tree that name leads to the source root.
file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/include")
file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}/include/kusari" SYMBOLIC)
set(kusari_build_include "${CMAKE_CURRENT_BINARY_DIR}/include")

set(kusari_sources)
foreach(folder framework/core framework/kernels framework/cpu framework/autograd framework/functions framework/xp
        framework/initializers framework/distributions framework/links framework/static_graph framework/inference framework/quantization framework/serializers framework/tokenizers framework/models framework/datasets
        framework/amp framework/training framework/distributed iterators optimizers updaters)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${folder}/*.cc)
  list(APPEND kusari_sources ${found})
endforeach()
list(FILTER kusari_sources EXCLUDE REGEX "/framework/cpu/isa/")
file(GLOB kusari_isa_sources CONFIGURE_DEPENDS framework/cpu/isa/*.cc)

if(NOT kusari_sources)
  # Lets a tree without sources configure.
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/empty.cc" "")
  set(kusari_sources "${CMAKE_CURRENT_BINARY_DIR}/empty.cc")
endif()

add_library(kusari ${kusari_sources})
add_library(kusari::kusari ALIAS kusari)
kusari_compile_settings(kusari)
# Kernels' sources are long by themselves.
set(kusari_kernel_sources ${kusari_sources})
list(FILTER kusari_kernel_sources INCLUDE REGEX "/framework/cpu/")
kusari_compile_together(kusari 10 ${kusari_kernel_sources})
if(KUSARI_PCH)
  target_precompile_headers(kusari PRIVATE cmake/precompiled.h)
endif()
set_target_properties(kusari PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                        BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")  # backends lie beside it
target_compile_features(kusari PUBLIC cxx_std_20)
target_include_directories(kusari PUBLIC $<BUILD_INTERFACE:${kusari_build_include}>)
target_compile_definitions(kusari PRIVATE KUSARI_BUILD)
target_link_libraries(kusari PRIVATE $<BUILD_INTERFACE:Eigen3::Eigen> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>
                                     ZLIB::ZLIB OpenMP::OpenMP_CXX Threads::Threads ${CMAKE_DL_LIBS})
# spdlog and fmt header-only and hidden: a program may have its own version of either.
target_include_directories(kusari SYSTEM PRIVATE $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
set(definitions $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_COMPILE_DEFINITIONS>)
# No variables of threads from it: what a library that is loaded by dlopen() may have of them is little.
target_compile_definitions(kusari PRIVATE $<FILTER:${definitions},EXCLUDE,FMT_SHARED> FMT_HEADER_ONLY SPDLOG_NO_TLS)
if(BUILD_SHARED_LIBS)
  # Calls between the library's own functions are direct: no program replaces them.
  target_compile_options(kusari PRIVATE -fno-semantic-interposition)
  # nodelete: its threads wait for work until the process ends, so that dlclose() must not take the code away.
  target_link_options(kusari PRIVATE LINKER:-Bsymbolic-functions LINKER:--as-needed LINKER:-z,nodelete
                                     LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cmake/kusari.map)
  set_property(TARGET kusari APPEND PROPERTY LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cmake/kusari.map")
else()
  target_compile_definitions(kusari PUBLIC KUSARI_STATIC)
endif()
if(KUSARI_WITH_ONEDNN)
  target_compile_definitions(kusari PRIVATE KUSARI_WITH_ONEDNN)
  target_link_libraries(kusari PRIVATE Dnnl::dnnl)
endif()
if(KUSARI_WITH_CURL)
  target_compile_definitions(kusari PRIVATE KUSARI_WITH_CURL)
  target_link_libraries(kusari PRIVATE CURL::libcurl)
endif()
if(KUSARI_WITH_JPEG)
  target_compile_definitions(kusari PRIVATE KUSARI_WITH_JPEG)
  target_link_libraries(kusari PRIVATE JPEG::JPEG)
endif()
if(KUSARI_WITH_PNG)
  target_compile_definitions(kusari PRIVATE KUSARI_WITH_PNG)
  target_link_libraries(kusari PRIVATE PNG::PNG)
endif()
if(KUSARI_WITH_PCRE2)
  target_compile_definitions(kusari PRIVATE KUSARI_WITH_PCRE2)
  target_link_libraries(kusari PRIVATE PCRE2::PCRE2)
endif()
if(KUSARI_WITH_PUGIXML)
  target_compile_definitions(kusari PRIVATE KUSARI_WITH_PUGIXML)
  target_link_libraries(kusari PRIVATE pugixml::pugixml)
endif()

# framework/cpu/isa/*.cc: pointwise, reduction and optimizer loops, compiled once per instruction set and chosen at
# run time. No contraction to fused multiply-adds, so that results are the same bits in every instruction set and do not
# depend on the compiler. Integers wrap. Nothing in them may be
# a weak symbol: the linker would keep one instruction set's copy for all (test isa_objects_have_no_weak_symbols).
# bfloat16_*.cc are for one instruction set alone.
set(kusari_isa_objects)
set(kusari_bfloat16_sources ${kusari_isa_sources})
list(FILTER kusari_bfloat16_sources INCLUDE REGEX "/isa/bfloat16_")
list(FILTER kusari_isa_sources EXCLUDE REGEX "/isa/bfloat16_")
function(kusari_add_isa name sources)
  add_library(kusari_isa_${name} OBJECT ${${sources}})
  kusari_compile_settings(kusari_isa_${name})
  target_include_directories(kusari_isa_${name} PRIVATE ${kusari_build_include})
  target_compile_definitions(kusari_isa_${name} PRIVATE KUSARI_BUILD KUSARI_ISA=${name} $<$<NOT:$<BOOL:${BUILD_SHARED_LIBS}>>:KUSARI_STATIC>)
  target_compile_options(kusari_isa_${name} PRIVATE -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -fwrapv -fopenmp-simd
                                                    -fno-exceptions -fno-rtti ${ARGN} $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
  target_sources(kusari PRIVATE $<TARGET_OBJECTS:kusari_isa_${name}>)
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
    kusari_add_isa(${only} kusari_isa_sources ${option_${only}})
    if(only STREQUAL v4)
      target_compile_definitions(kusari PRIVATE KUSARI_ISA_X86)
      kusari_add_isa(v4_bf16 kusari_bfloat16_sources -march=x86-64-v4 -mavx512bf16 -mprefer-vector-width=512)
    endif()
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_definitions(kusari PRIVATE KUSARI_ISA_X86)
    kusari_add_isa(v1 kusari_isa_sources -march=x86-64)
    kusari_add_isa(v3 kusari_isa_sources -march=x86-64-v3)
    kusari_add_isa(v4 kusari_isa_sources -march=x86-64-v4 -mprefer-vector-width=512)
    kusari_add_isa(v4_bf16 kusari_bfloat16_sources -march=x86-64-v4 -mavx512bf16 -mprefer-vector-width=512)
  else()
    kusari_add_isa(v1 kusari_isa_sources)
  endif()
endif()
