# The target docs: the API reference, docs/html/index.html of the build folder, by Doxygen (tools/make_reference).

find_program(KUSARI_DOXYGEN doxygen)
find_package(Python3 COMPONENTS Interpreter QUIET)
if(KUSARI_DOXYGEN AND Python3_FOUND)
  add_custom_target(docs
    COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/tools/make_reference" --doxygen "${KUSARI_DOXYGEN}"
            "${CMAKE_CURRENT_BINARY_DIR}/docs"
    USES_TERMINAL VERBATIM)
endif()
