# Test: none of FILES, programs and libraries, needs a library of CUDA or MPI to start.

foreach(file IN LISTS FILES)
  execute_process(COMMAND ldd "${file}" OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
  if(libraries MATCHES "[^\n]*(libcuda|libcudart|libcublas|libcudnn|libnvrtc|libnvidia|libkusari_cuda|libmpi|libkusari_mpi)[^\n]*")
    message(FATAL_ERROR "${file} needs ${CMAKE_MATCH_0}")
  endif()
endforeach()
