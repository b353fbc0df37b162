# Test: FILE, libkusari_inference, has at most MOST_BYTES bytes and needs at most MOST_LIBRARIES libraries to start, as ldd
# counts them; it has nothing of training. NM: the program of that name.

execute_process(COMMAND ldd "${FILE}" OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${libraries}")
list(LENGTH lines count)
if(count GREATER MOST_LIBRARIES OR libraries MATCHES "libkusari[.]|cuda|libdnnl|libz[.]")
  message(FATAL_ERROR "${FILE} needs ${count} libraries, of which ${MOST_LIBRARIES} are allowed:\n${libraries}")
endif()
file(SIZE "${FILE}" bytes)
if(bytes GREATER MOST_BYTES)
  message(FATAL_ERROR "${FILE} has ${bytes} bytes, ${MOST_BYTES} are allowed")
endif()
execute_process(COMMAND ${NM} -DC --defined-only "${FILE}" OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
if(NOT names MATCHES "kusari_session_run" OR names MATCHES "[^\n]*kusari::(optimizers|iterators|datasets|training|updaters)::[^\n]*")
  message(FATAL_ERROR "${FILE} exports ${CMAKE_MATCH_0}")
endif()
message(STATUS "${bytes} bytes, ${count} libraries")
