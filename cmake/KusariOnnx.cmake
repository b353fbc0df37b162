# The target kusari_onnx (kusari::onnx): ONNX files. A library of its own, which programs link beside kusari.

if(KUSARI_WITH_ONNX)
  file(GLOB_RECURSE onnx_sources CONFIGURE_DEPENDS framework/onnx/*.cc)
  add_library(kusari_onnx ${onnx_sources})
  add_library(kusari::onnx ALIAS kusari_onnx)
  kusari_compile_settings(kusari_onnx)
  kusari_compile_together(kusari_onnx 8)
  set_target_properties(kusari_onnx PROPERTIES EXPORT_NAME onnx VERSION ${PROJECT_VERSION}
                                               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                               BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  target_compile_definitions(kusari_onnx PRIVATE KUSARI_BUILD)
  target_link_libraries(kusari_onnx PUBLIC kusari PRIVATE $<BUILD_INTERFACE:Protozero::Protozero>)
  if(BUILD_SHARED_LIBS)
    target_compile_options(kusari_onnx PRIVATE -fno-semantic-interposition)
    target_link_options(kusari_onnx PRIVATE LINKER:-Bsymbolic-functions LINKER:--as-needed)
  endif()
endif()
