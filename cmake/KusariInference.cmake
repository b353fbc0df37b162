# The target kusari_inference (kusari::inference): a library for deployment, which runs ONNX files by its C interface
# (framework/inference/c_api.h) or by open_session (framework/inference/loaders.h). It is what of libkusari and
# libkusari_onnx infers on the CPU: no training, no data sets, no CUDA, and no libraries but those of the compiler. Programs
# link it instead of libkusari.

if(NOT KUSARI_INFERENCE)
  return()
endif()
if(NOT KUSARI_WITH_ONNX OR NOT BUILD_SHARED_LIBS OR NOT KUSARI_DECOMPOSITIONS)
  message(STATUS "Kusari: no libkusari_inference: it needs protozero (KUSARI_ONNX), BUILD_SHARED_LIBS and KUSARI_DECOMPOSITIONS")
  return()
endif()

# Compiled again are sources that are not the same here; without_training.cc stands for the kernels that train.
add_library(kusari_inference SHARED ${kusari_inference_sources} framework/cpu/without_training.cc ${kusari_isa_objects})
add_library(kusari::inference ALIAS kusari_inference)
foreach(part IN ITEMS kusari_common kusari_common_small kusari_onnx_read)
  target_link_libraries(kusari_inference PRIVATE $<FILTER:$<TARGET_OBJECTS:${part}>,EXCLUDE,[.]gch>)
endforeach()
kusari_part_settings(kusari_inference)
target_compile_features(kusari_inference PUBLIC cxx_std_20)
target_include_directories(kusari_inference PUBLIC $<BUILD_INTERFACE:${kusari_build_include}>)
target_compile_definitions(kusari_inference PRIVATE KUSARI_INFERENCE_LIBRARY
                                                    $<FILTER:$<TARGET_PROPERTY:kusari,COMPILE_DEFINITIONS>,EXCLUDE,^KUSARI_WITH_>)
set_target_properties(kusari_inference PROPERTIES EXPORT_NAME inference VERSION ${PROJECT_VERSION}
                                                  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(kusari_inference_map "${CMAKE_CURRENT_SOURCE_DIR}/cmake/kusari_inference.map")
target_link_options(kusari_inference PRIVATE LINKER:-Bsymbolic-functions LINKER:--as-needed LINKER:-z,nodelete LINKER:--gc-sections
                                             ${kusari_pack_relocations} LINKER:--version-script=${kusari_inference_map} $<$<CONFIG:Release>:LINKER:--strip-all>)
# A sanitizer's own functions are in the program.
if(NOT KUSARI_SANITIZE)
  target_link_options(kusari_inference PRIVATE LINKER:--no-undefined)
endif()
set_property(TARGET kusari_inference APPEND PROPERTY LINK_DEPENDS "${kusari_inference_map}")
