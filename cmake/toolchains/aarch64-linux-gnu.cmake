# Cross-compiles for 64-bit ARM Linux (Jetson) with Debian's g++-aarch64-linux-gnu. Libraries come from
# KUSARI_AARCH64_SYSROOT, which tools/check_aarch64 fills.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(KUSARI_AARCH64_SYSROOT "" CACHE PATH "Where libraries for aarch64 were unpacked")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KUSARI_AARCH64_SYSROOT)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
if(KUSARI_AARCH64_SYSROOT)
  list(PREPEND CMAKE_FIND_ROOT_PATH "${KUSARI_AARCH64_SYSROOT}")
  foreach(kind SHARED EXE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT "-Wl,-rpath-link,${KUSARI_AARCH64_SYSROOT}/lib/aarch64-linux-gnu")
  endforeach()
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(KUSARI_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
if(KUSARI_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${KUSARI_QEMU_AARCH64};-L;/usr/aarch64-linux-gnu")
endif()
