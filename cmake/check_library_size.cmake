# Test: FILE, a library, has at most MOST_BYTES bytes once it is stripped. STRIP: the program of that name. FOLDER: for the
# stripped copy.

cmake_path(GET FILE FILENAME name)
set(stripped "${FOLDER}/${name}")
execute_process(COMMAND "${STRIP}" -o "${stripped}" "${FILE}" COMMAND_ERROR_IS_FATAL ANY)
file(SIZE "${stripped}" bytes)
file(REMOVE "${stripped}")
if(bytes GREATER MOST_BYTES)
  message(FATAL_ERROR "${FILE} has ${bytes} bytes without symbols, ${MOST_BYTES} are allowed")
endif()
message(STATUS "${bytes} bytes")
