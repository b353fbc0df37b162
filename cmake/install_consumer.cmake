# Test: installs the build tree BUILD_DIR to a fresh prefix, then configures, builds and runs the program of
# SOURCE_DIR against that prefix alone; with WITH_CUDA once more after the CUDA backend has been taken away.

set(work "${BUILD_DIR}/install_consumer")
file(REMOVE_RECURSE "${work}")
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${work}/prefix")
function(build_and_run)
  file(REMOVE_RECURSE "${work}/build")
  run(${CMAKE_COMMAND} -S "${SOURCE_DIR}" -B "${work}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
      "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DWITH_CUDA=${WITH_CUDA}")
  run(${CMAKE_COMMAND} --build "${work}/build")
  run("${work}/build/consumer" ${ARGV})
endfunction()

if(WITH_CUDA)
  build_and_run(cuda)
  file(GLOB_RECURSE backend "${work}/prefix/*kusari_cuda*" "${work}/prefix/*kusari-cuda*")
  file(REMOVE ${backend})
endif()
set(WITH_CUDA OFF)
build_and_run()
