# Test: none of FILES, programs and libraries, needs a library of CUDA to start.

foreach(file IN LISTS FILES)
  execute_process(COMMAND ldd "${file}" OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
  if(libraries MATCHES "[^\n]*(libcuda|libcudart|libcublas|libcudnn|libnvrtc|libnvidia|libkusari_cuda)[^\n]*")
    message(FATAL_ERROR "${file} needs ${CMAKE_MATCH_0}")
  endif()
endforeach()
