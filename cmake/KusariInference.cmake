# The target kusari_inference (kusari::inference): a library for deployment, which runs ONNX files by its C interface
# (framework/inference/c_api.h) or by open_session (framework/inference/loaders.h). It is what of libkusari and
# libkusari_onnx infers on the CPU: no training, no data sets, no CUDA, and no libraries but those of the compiler. Programs
# link it instead of libkusari.

if(NOT KUSARI_INFERENCE)
  return()
endif()
if(NOT KUSARI_WITH_ONNX OR NOT BUILD_SHARED_LIBS)
  message(STATUS "Kusari: no libkusari_inference: it needs protozero (KUSARI_ONNX) and BUILD_SHARED_LIBS")
  return()
endif()

# Settings of both parts below.
function(kusari_inference_settings target)
  kusari_compile_settings(${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${kusari_build_include}>)
  target_include_directories(${target} SYSTEM PRIVATE $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(${target} PRIVATE KUSARI_INFERENCE_LIBRARY
                                               $<FILTER:$<TARGET_PROPERTY:kusari,COMPILE_DEFINITIONS>,EXCLUDE,^KUSARI_WITH_>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:Eigen3::Eigen> $<BUILD_INTERFACE:Protozero::Protozero> Threads::Threads)
  # So that the linker leaves out what nothing calls.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition -ffunction-sections -fdata-sections)
  if(KUSARI_UNITY)
    # The groups are those of kusari and kusari_onnx: they belong to the sources.
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Kernels but for those that train, for which without_training.cc stands.
file(GLOB inference_kernels CONFIGURE_DEPENDS framework/cpu/*.cc)
set(training_kernels optimizer|decompositions|symmetric_eigen|hard_negatives|sigmoid_focal_loss|image_batch|value_statistics)
string(APPEND training_kernels "|connectionist_temporal_classification|normalized_fusion")
list(FILTER inference_kernels EXCLUDE REGEX "/framework/cpu/(${training_kernels})[.]cc$")
add_library(kusari_inference_kernels OBJECT ${inference_kernels})
kusari_inference_settings(kusari_inference_kernels)

set(inference_sources)
foreach(folder core kernels autograd links initializers static_graph inference onnx)
  file(GLOB found CONFIGURE_DEPENDS framework/${folder}/*.cc)
  list(APPEND inference_sources ${found})
endforeach()
foreach(folder functions static_graph/passes onnx/operators onnx/read)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS framework/${folder}/*.cc)
  list(APPEND inference_sources ${found})
endforeach()
add_library(kusari_inference SHARED ${inference_sources} $<TARGET_OBJECTS:kusari_inference_kernels>
                                    ${kusari_isa_objects})
add_library(kusari::inference ALIAS kusari_inference)
kusari_inference_settings(kusari_inference)
# What runs once for each call may be small.
target_compile_options(kusari_inference PRIVATE $<$<CONFIG:Release>:-Os>)
target_link_libraries(kusari_inference PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(kusari_inference PROPERTIES EXPORT_NAME inference VERSION ${PROJECT_VERSION}
                                                  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(kusari_inference_map "${CMAKE_CURRENT_SOURCE_DIR}/cmake/kusari_inference.map")
target_link_options(kusari_inference PRIVATE LINKER:-Bsymbolic-functions LINKER:--as-needed LINKER:-z,nodelete LINKER:--gc-sections
                                             LINKER:--version-script=${kusari_inference_map} $<$<CONFIG:Release>:LINKER:--strip-all>)
# A sanitizer's own functions are in the program.
if(NOT KUSARI_SANITIZE)
  target_link_options(kusari_inference PRIVATE LINKER:--no-undefined)
endif()
set_property(TARGET kusari_inference APPEND PROPERTY LINK_DEPENDS "${kusari_inference_map}")
