#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

// Some tests ask for more memory than there is; AddressSanitizer's allocator shall refuse like any other.
extern "C" __attribute__((visibility("default"), used)) const char* __asan_default_options();
const char* __asan_default_options() { return "allocator_may_return_null=1"; }
