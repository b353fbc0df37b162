# The target kusari_onnx (kusari::onnx): ONNX files. A library of its own, which programs link beside kusari. What reads
# and runs them is compiled once for it and for libkusari_inference.

if(NOT KUSARI_WITH_ONNX)
  return()
endif()
file(GLOB onnx_read_sources CONFIGURE_DEPENDS framework/onnx/*.cc framework/onnx/operators/*.cc framework/onnx/read/*.cc)
file(GLOB onnx_export_sources CONFIGURE_DEPENDS framework/onnx/export/*.cc)
add_library(kusari_onnx_read OBJECT ${onnx_read_sources})
target_include_directories(kusari_onnx_read PRIVATE ${kusari_build_include})
target_compile_features(kusari_onnx_read PRIVATE cxx_std_20)
add_library(kusari_onnx ${onnx_export_sources})
add_library(kusari::onnx ALIAS kusari_onnx)
set_target_properties(kusari_onnx PROPERTIES EXPORT_NAME onnx VERSION ${PROJECT_VERSION}
                                             SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                             BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
foreach(part IN ITEMS kusari_onnx kusari_onnx_read)
  kusari_compile_settings(${part})
  kusari_compile_together(${part} 8)
  target_compile_definitions(${part} PRIVATE KUSARI_BUILD $<$<NOT:$<BOOL:${BUILD_SHARED_LIBS}>>:KUSARI_STATIC>)
  target_link_libraries(${part} PRIVATE $<BUILD_INTERFACE:Protozero::Protozero>)
  # What runs once for each file may be small, and the linker leaves out what nothing calls.
  target_compile_options(${part} PRIVATE $<$<CONFIG:Release>:${KUSARI_COLD_OPTIMIZATION}> -ffunction-sections -fdata-sections
                                         $<$<BOOL:${BUILD_SHARED_LIBS}>:-fno-semantic-interposition>)
endforeach()
target_link_libraries(kusari_onnx PUBLIC kusari)
if(BUILD_SHARED_LIBS)
  target_link_libraries(kusari_onnx PRIVATE $<TARGET_OBJECTS:kusari_onnx_read>)
  target_link_options(kusari_onnx PRIVATE LINKER:-Bsymbolic-functions LINKER:--as-needed)
else()
  target_sources(kusari_onnx PRIVATE $<TARGET_OBJECTS:kusari_onnx_read>)
endif()
