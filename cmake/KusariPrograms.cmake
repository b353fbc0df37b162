# Programs: every examples/<folder>/<name>.cc, tools/kusari-bench and tests/golden_runner.

find_package(CLI11 REQUIRED)

function(kusari_add_program name folder)
  add_executable(${name} ${ARGN})
  kusari_compile_settings(${name})
  target_link_libraries(${name} PRIVATE kusari::kusari CLI11::CLI11 nlohmann_json::nlohmann_json Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${folder}")
endfunction()

if(KUSARI_BUILD_EXAMPLES)
  file(GLOB example_sources CONFIGURE_DEPENDS examples/*/*.cc)
  foreach(source ${example_sources})
    cmake_path(GET source STEM name)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    # One folder's program may bear the name of another's: the target carries the folder, the file does not.
    kusari_add_program(example_${folder}_${name} examples/${folder} ${source})
    kusari_compile_quickly(example_${folder}_${name})
    set_target_properties(example_${folder}_${name} PROPERTIES OUTPUT_NAME ${name})
  endforeach()
endif()

if(KUSARI_BUILD_TOOLS)
  file(GLOB bench_sources CONFIGURE_DEPENDS tools/kusari-bench/*.cc)
  if(bench_sources)
    kusari_add_program(kusari-bench tools ${bench_sources})
    target_compile_definitions(kusari-bench PRIVATE KUSARI_VERSION="${PROJECT_VERSION}")
    if(KUSARI_WITH_JPEG)
      # Its own loop is what decoding is measured against.
      target_compile_definitions(kusari-bench PRIVATE KUSARI_WITH_JPEG)
      target_link_libraries(kusari-bench PRIVATE JPEG::JPEG)
    endif()
  endif()
endif()

if(KUSARI_BUILD_TESTS)
  file(GLOB golden_sources CONFIGURE_DEPENDS tests/golden_runner/*.cc)
  if(golden_sources)
    kusari_add_program(golden_runner tests ${golden_sources})
    kusari_compile_quickly(golden_runner)
  endif()
endif()
