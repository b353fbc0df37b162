#include "kusari/iterators/shared_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"

namespace kusari::iterators {
namespace {

// A signal makes the system start again from the beginning of a piece, so that one must be over before the next timer
// of a profiler fires.
constexpr int64_t kReservedAtOnce = int64_t{4} << 20;  // bytes

void* map(int64_t bytes, int flags, int file, int64_t offset) {
  void* const data =
      mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, flags, file, static_cast<off_t>(offset));
  if (data == MAP_FAILED) {
    throw OutOfMemoryError("MultiprocessIterator: cannot map " + std::to_string(bytes) +
                           " bytes of shared memory: " + std::strerror(errno));
  }
  return data;
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (raw_ >= 0) close(raw_);
}

Mapping::Mapping(int64_t bytes) : data_{map(bytes, MAP_SHARED | MAP_ANONYMOUS, -1, 0)}, bytes_{bytes} {}

Mapping::Mapping(const FileDescriptor& file, int64_t offset, int64_t bytes)
    : data_{map(bytes, MAP_SHARED, file.get(), offset)}, bytes_{bytes} {}

Mapping& Mapping::operator=(Mapping other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
}

void Mapping::discard() noexcept {
  if (data_ != nullptr) madvise(data_, static_cast<size_t>(bytes_), MADV_REMOVE);
}

FileDescriptor create_memory_file() {
  FileDescriptor file(memfd_create("kusari", MFD_CLOEXEC));
  if (!file)
    throw IoError(std::string("MultiprocessIterator: cannot create shared memory (memfd_create): ") +
                  std::strerror(errno));
  return file;
}

void reserve(const FileDescriptor& file, int64_t offset, int64_t bytes) {
  int error = 0;
  int64_t done = 0;
  while (error == 0 && done < bytes) {
    const int64_t piece = std::min(bytes - done, kReservedAtOnce);
    do {
      error = posix_fallocate(file.get(), static_cast<off_t>(offset + done), static_cast<off_t>(piece));
    } while (error == EINTR);
    done += piece;
  }
  if (error != 0) {
    fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
    throw OutOfMemoryError("MultiprocessIterator: cannot reserve " + std::to_string(bytes) +
                           " bytes of shared memory: " + std::strerror(error));
  }
}

int64_t whole_pages(int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  return (std::max<int64_t>(bytes, 1) + page - 1) / page * page;
}

}  // namespace kusari::iterators
