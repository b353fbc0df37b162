#pragma once

// The first of the public headers' headers: what the others would give in a hundred messages under an older standard
// is one here.
#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "Kusari needs C++20: compile with -std=c++20 (in CMake: target_compile_features(my_program PRIVATE cxx_std_20))"
#define KUSARI_NO_HEADER "the compilation ends here"
#include KUSARI_NO_HEADER
#endif

// KUSARI_API marks what the shared library exports; everything else is hidden.
#if defined(KUSARI_STATIC)
#define KUSARI_API
#else
#define KUSARI_API __attribute__((visibility("default")))
#endif
