#include "kusari/iterators/on_failure.h"

#include <new>

#include "kusari/framework/core/error.h"

namespace kusari::iterators {
namespace {

Failure described(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const TypeError& error) {
    return {FailureKind::type_error, error.what()};
  } catch (const ValueError& error) {
    return {FailureKind::value_error, error.what()};
  } catch (const IndexError& error) {
    return {FailureKind::index_error, error.what()};
  } catch (const KeyError& error) {
    return {FailureKind::key_error, error.what()};
  } catch (const IoError& error) {
    return {FailureKind::io_error, error.what()};
  } catch (const OutOfMemoryError& error) {
    return {FailureKind::out_of_memory_error, error.what()};
  } catch (const DeviceError& error) {
    return {FailureKind::device_error, error.what()};
  } catch (const WorkerError& error) {
    return {FailureKind::worker_error, error.what()};
  } catch (const StateError& error) {
    return {FailureKind::state_error, error.what()};
  } catch (const std::bad_alloc&) {
    return {FailureKind::out_of_memory_error, "memory is exhausted"};
  } catch (const std::exception& error) {
    return {FailureKind::error, error.what()};
  } catch (...) {
    return {FailureKind::error, "something that is no std::exception was thrown"};
  }
}

}  // namespace

Failure failure_of(const std::exception_ptr& thrown) noexcept {
  try {
    return described(thrown);
  } catch (const std::bad_alloc&) {
    return {FailureKind::out_of_memory_error, "out of memory"};  // short: it takes none
  }
}

std::string failure_text(const char* iterator, int64_t example, const Failure& failure) {
  return std::string(iterator) + ": example " + std::to_string(example) + ": " + failure.text;
}

void throw_failure(const char* iterator, int64_t example, const Failure& failure) {
  const std::string text = failure_text(iterator, example, failure);
  switch (failure.kind) {
    case FailureKind::error:
      throw Error(text);
    case FailureKind::type_error:
      throw TypeError(text);
    case FailureKind::value_error:
      throw ValueError(text);
    case FailureKind::index_error:
      throw IndexError(text);
    case FailureKind::key_error:
      throw KeyError(text);
    case FailureKind::io_error:
      throw IoError(text);
    case FailureKind::out_of_memory_error:
      throw OutOfMemoryError(text);
    case FailureKind::device_error:
      throw DeviceError(text);
    case FailureKind::worker_error:
      throw WorkerError(text);
    case FailureKind::state_error:
      throw StateError(text);
  }
  throw Error(text);
}

}  // namespace kusari::iterators
