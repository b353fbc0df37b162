#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shape.h"

namespace kusari {

namespace detail {
[[noreturn]] KUSARI_API void throw_no_host_vector(const Shape& sizes, size_t itemsize, const char* call);
[[noreturn]] KUSARI_API void throw_no_host_memory(const char* call);
}  // namespace detail

/// A vector of as many elements as the product of `sizes`, for what is computed on the host with lengths that users
/// choose. Throws OutOfMemoryError naming `call` when they do not fit into memory.
template <class T>
std::vector<T> host_vector(const Shape& sizes, const char* call, const T& value = {}) {
  int64_t n = 1;
  bool is_possible = true;
  for (const int64_t size : sizes) is_possible = is_possible && size >= 0 && !__builtin_mul_overflow(n, size, &n);
  if (is_possible) {
    try {
      return std::vector<T>(static_cast<size_t>(n), value);
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
  }
  detail::throw_no_host_vector(sizes, sizeof(T), call);
}

/// What `make` returns, for other memory of the host whose size users choose. Throws OutOfMemoryError naming `call`
/// when there is not as much.
template <class Make>
auto in_host_memory(const char* call, const Make& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  detail::throw_no_host_memory(call);
}

}  // namespace kusari
