#include "kusari/framework/core/atomic_file.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

constexpr size_t kBufferSize = size_t{1} << 18;

[[noreturn]] void fail(const std::string& path, const char* step, int error) {
  throw IoError("AtomicFile: cannot " + std::string(step) + " " + path + ": " + std::strerror(error));
}

std::string follow_links(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path target = path;
  // 40 is the kernel's own limit (ELOOP).
  for (int i = 0; i < 40 && std::filesystem::is_symlink(target, ignored); ++i) {
    target = target.parent_path() / std::filesystem::read_symlink(target, ignored);
  }
  return target.string();
}

std::string directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

struct AtomicFile::State {
  std::string path;
  std::string temporary;
  int fd = -1;
  uint64_t flushed = 0;
  std::vector<char> buffer;

  void close() noexcept {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }

  void write_at(uint64_t offset, const char* data, size_t size) {
    while (size > 0) {
      const ssize_t n = ::pwrite(fd, data, size, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(temporary, "write", errno);
      data += n;
      size -= static_cast<size_t>(n);
      offset += static_cast<uint64_t>(n);
    }
  }

  void flush() {
    write_at(flushed, buffer.data(), buffer.size());
    flushed += buffer.size();
    buffer.clear();
  }
};

AtomicFile::AtomicFile(const std::string& path) : state_{std::make_unique<State>()} {
  static std::atomic<unsigned> serial{0};
  State& s = *state_;
  s.path = follow_links(path);
  const std::filesystem::path target = s.path;
  if (target.filename().empty()) throw IoError("AtomicFile: '" + path + "' names no file");
  do {
    const std::string name = "." + target.filename().string() + ".tmp-" + std::to_string(::getpid()) + "-" +
                             std::to_string(serial.fetch_add(1, std::memory_order_relaxed));
    s.temporary = (target.parent_path() / name).string();
    s.fd = ::open(s.temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (s.fd < 0 && errno == EEXIST);  // left behind by a killed process that had the same id
  if (s.fd < 0) fail(s.path, "create a temporary file beside", errno);
  s.buffer.reserve(kBufferSize);
}

AtomicFile::~AtomicFile() {
  if (state_->temporary.empty()) return;
  state_->close();
  ::unlink(state_->temporary.c_str());
}

void AtomicFile::write(const void* data, size_t size) {
  State& s = *state_;
  if (s.temporary.empty()) throw StateError("AtomicFile: " + s.path + " is written after commit()");
  const char* bytes = static_cast<const char*>(data);
  if (s.buffer.size() + size > kBufferSize) s.flush();
  if (size >= kBufferSize) {
    s.write_at(s.flushed, bytes, size);
    s.flushed += size;
  } else {
    s.buffer.insert(s.buffer.end(), bytes, bytes + size);
  }
}

void AtomicFile::overwrite(uint64_t offset, const void* data, size_t size) {
  State& s = *state_;
  if (s.temporary.empty()) throw StateError("AtomicFile: " + s.path + " is written after commit()");
  if (offset > this->size() || size > this->size() - offset) {
    throw ValueError("AtomicFile: " + s.path + " has " + std::to_string(this->size()) + " bytes, but " +
                     std::to_string(size) + " bytes at offset " + std::to_string(offset) + " are to be overwritten");
  }
  s.flush();
  s.write_at(offset, static_cast<const char*>(data), size);
}

uint64_t AtomicFile::size() const noexcept { return state_->flushed + state_->buffer.size(); }

void AtomicFile::commit(bool sync) {
  State& s = *state_;
  if (s.temporary.empty()) throw StateError("AtomicFile: commit() of " + s.path + " called twice");
  s.flush();
  if (sync && ::fsync(s.fd) != 0) fail(s.temporary, "sync", errno);
  const int fd = s.fd;
  s.fd = -1;
  if (::close(fd) != 0) fail(s.temporary, "close", errno);
  if (::rename(s.temporary.c_str(), s.path.c_str()) != 0) fail(s.path, "rename the temporary file to", errno);
  s.temporary.clear();
  if (!sync) return;
  const std::string directory = directory_of(s.path);
  const int dir = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) fail(directory, "open", errno);
  const int error = ::fsync(dir) == 0 ? 0 : errno;
  ::close(dir);
  // Some network file systems cannot sync a directory (EINVAL); the file itself is on the disk by then.
  if (error != 0 && error != EINVAL) fail(directory, "sync", error);
}

void write_file_atomically(const std::string& path, std::string_view content, bool sync) {
  AtomicFile file(path);
  file.write(content);
  file.commit(sync);
}

}  // namespace kusari
