#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "kusari/framework/core/export.h"

namespace kusari::iterators {

/// What an iterator with workers does when an example throws, or its worker dies or is stuck.
enum class OnFailure : uint8_t {
  raise,  ///< next() throws; called again, it tries the missing examples again
  retry,  ///< the example is tried max_retries more times, then next() throws
  skip,   ///< a warning is logged and the example is left out: its batch is shorter
};

/// The classes of error.h, as a worker names them to another process.
enum class FailureKind : uint8_t {
  error,
  type_error,
  value_error,
  index_error,
  key_error,
  io_error,
  out_of_memory_error,
  device_error,
  worker_error,
  state_error,
};

/// An exception in a form that crosses the borders of threads and processes.
struct Failure {
  FailureKind kind = FailureKind::error;
  std::string text;
};

/// What `thrown` holds: std::bad_alloc becomes an out_of_memory_error, what is no Error of Kusari's an error. Where
/// memory is too short for its text, an out_of_memory_error in its place.
KUSARI_API Failure failure_of(const std::exception_ptr& thrown) noexcept;
/// Throws the class that `failure` names, its text after "iterator: example 17: ".
[[noreturn]] KUSARI_API void throw_failure(const char* iterator, int64_t example, const Failure& failure);
/// "iterator: example 17: text".
KUSARI_API std::string failure_text(const char* iterator, int64_t example, const Failure& failure);

}  // namespace kusari::iterators
