#pragma once

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>

#include "kusari/framework/core/export.h"

namespace kusari::datasets {

/// Throws what is being handled, as an IoError "call: path ..." if it came from the standard library: memory for a
/// content is exhausted, or a folder cannot be searched.
[[noreturn]] KUSARI_API void rethrow_as_io_error(const std::string& call, const std::string& path);

/// What `read()` gives, which reads the file or folder `path`, with rethrow_as_io_error for what it throws.
template <class Read>
decltype(auto) reading(const std::string& call, const std::string& path, const Read& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    rethrow_as_io_error(call, path);
  } catch (const std::length_error&) {
    rethrow_as_io_error(call, path);
  } catch (const std::filesystem::filesystem_error&) {
    rethrow_as_io_error(call, path);
  }
}

}  // namespace kusari::datasets
