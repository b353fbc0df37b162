# cmake -DSOURCE=FOLDER -DBINARY=FOLDER -P: configures a build with KUSARI_PCH, as tools/quickstart does, in BINARY, and fails
# where a precompiled header is among what a program or library is linked from.
execute_process(COMMAND ${CMAKE_COMMAND} -S "${SOURCE}" -B "${BINARY}" -G Ninja -DCMAKE_BUILD_TYPE=Release -DKUSARI_UNITY=ON -DKUSARI_PCH=ON
                        -DKUSARI_CUDA=OFF -DKUSARI_BUILD_TESTS=OFF -DKUSARI_BUILD_EXAMPLES=OFF -DKUSARI_BUILD_TOOLS=OFF
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status)
  message(FATAL_ERROR "${output}")
endif()
file(STRINGS "${BINARY}/build.ninja" lines REGEX "(LINK_LIBRARIES = |^build [^:]*libkusari[^:]*: CXX_).*[.]gch")
foreach(line IN LISTS lines)
  message(SEND_ERROR "a precompiled header is linked: ${line}")
endforeach()
