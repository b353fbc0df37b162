#pragma once

#include <cstdint>
#include <utility>

namespace kusari::iterators {

/// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  explicit FileDescriptor(int raw) noexcept : raw_{raw} {}
  FileDescriptor(FileDescriptor&& other) noexcept : raw_{std::exchange(other.raw_, -1)} {}
  FileDescriptor& operator=(FileDescriptor other) noexcept { return std::swap(raw_, other.raw_), *this; }
  ~FileDescriptor();

  int get() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return raw_ >= 0; }

 private:
  int raw_ = -1;
};

/// Memory that processes share, mapped into this one.
class Mapping {
 public:
  Mapping() noexcept = default;
  /// New memory, all zeros, which processes that are forked later share.
  explicit Mapping(int64_t bytes);
  /// Part of a file.
  Mapping(const FileDescriptor& file, int64_t offset, int64_t bytes);
  Mapping(Mapping&& other) noexcept
      : data_{std::exchange(other.data_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  Mapping& operator=(Mapping other) noexcept;
  ~Mapping();

  char* data() const noexcept { return static_cast<char*>(data_); }
  int64_t bytes() const noexcept { return bytes_; }
  explicit operator bool() const noexcept { return data_ != nullptr; }
  /// Gives the memory back to the system although other processes may have it mapped: it reads as zeros from now on.
  void discard() noexcept;

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

/// A file in memory that has no name: it is gone with its last descriptor and mapping, however processes end.
FileDescriptor create_memory_file();
/// Gives [offset, offset + bytes) of such a file memory. Throws OutOfMemoryError when there is none, instead of leaving
/// it to a signal at the first access.
void reserve(const FileDescriptor& file, int64_t offset, int64_t bytes);
/// Rounded up to whole pages, at least one.
int64_t whole_pages(int64_t bytes);

}  // namespace kusari::iterators
