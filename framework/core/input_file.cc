#include "kusari/framework/core/input_file.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"

namespace kusari {

InputFile::InputFile(const char* call, const std::string& path)
    : call_{call}, path_{path}, fd_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {
  if (fd_ < 0) fail(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat info;
  if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd_);
    fail("is not a regular file");
  }
  size_ = static_cast<uint64_t>(info.st_size);
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::read(uint64_t offset, std::span<uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t n = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(std::string("cannot be read: ") + std::strerror(errno));
    if (n == 0) fail("became shorter while it was read");
    out = out.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
}

void InputFile::fail(const std::string& what) const { throw IoError(std::string(call_) + ": " + path_ + " " + what); }

std::span<const uint8_t> read_whole(const char* call, const std::string& path, std::vector<uint8_t>& buffer) {
  const InputFile file(call, path);
  const auto fail = [&] {
    throw IoError(std::string(call) + ": " + path + " has " + std::to_string(file.size()) +
                  " bytes, more than there is memory for");
  };
  try {
    buffer.resize(static_cast<size_t>(file.size()));
  } catch (const std::bad_alloc&) {
    fail();
  } catch (const std::length_error&) {
    fail();
  }
  file.read(0, buffer);
  return buffer;
}

}  // namespace kusari
