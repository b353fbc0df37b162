#include "kusari/framework/core/atomic_file.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

constexpr size_t kBufferSize = size_t{1} << 18;
constexpr std::string_view kMark = ".tmp-";  // between the target's name and numbers

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

/// The outermost folder on the way to a file that there is not; empty when there are all.
std::string missing_folder(const std::filesystem::path& target) {
  std::error_code ignored;
  std::string missing;
  for (std::filesystem::path folder = target.parent_path();
       !folder.empty() && !std::filesystem::exists(folder, ignored); folder = folder.parent_path())
    missing = folder.string();
  return missing;
}

/// ".NAME.tmp-123-4"
bool is_temporary_name(std::string_view name) {
  const size_t mark = name.rfind(kMark);
  if (mark == name.npos || mark < 2 || name[0] != '.') return false;
  const std::string_view numbers = name.substr(mark + kMark.size());
  const size_t middle = numbers.find('-');
  return middle != numbers.npos && middle > 0 && middle + 1 < numbers.size() &&
         numbers.find_first_not_of("0123456789-") == numbers.npos && numbers.find('-', middle + 1) == numbers.npos;
}

bool lock(int fd, int mode) {
  int result = 0;
  do {
    result = ::flock(fd, mode);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

/// The temporary file at `path`, which tells remove_stale_temporary_files by its lock that it is in use; -1 and errno
/// when it cannot be made. Not every file system has locks.
int create_locked(const std::string& path) {
  for (;;) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return fd;
    struct stat info {};
    if (!lock(fd, LOCK_EX) || ::fstat(fd, &info) != 0 || info.st_nlink > 0) return fd;
    ::close(fd);  // it was removed before it was locked
  }
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
  if (std::error_code ignored; std::filesystem::is_directory(target, ignored))
    fail(s.path, "replace the folder", EISDIR);
  do {
    const std::string name = "." + target.filename().string() + std::string(kMark) + std::to_string(::getpid()) + "-" +
                             std::to_string(serial.fetch_add(1, std::memory_order_relaxed));
    s.temporary = (target.parent_path() / name).string();
    s.fd = create_locked(s.temporary);
  } while (s.fd < 0 && errno == EEXIST);  // left behind by a killed process that had the same id
  if (s.fd < 0) {
    const int error = errno;
    if (const std::string missing = missing_folder(target); error == ENOENT && !missing.empty()) {
      throw IoError("AtomicFile: cannot write " + s.path + ": there is no folder " + missing +
                    ": create it first (std::filesystem::create_directories)");
    }
    fail(s.path, "create a temporary file beside", error);
  }
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

void AtomicFile::flush() {
  State& s = *state_;
  if (s.temporary.empty()) throw StateError("AtomicFile: flush() of " + s.path + " after commit()");
  s.flush();
  if (::fsync(s.fd) != 0) fail(s.temporary, "sync", errno);
}

void AtomicFile::commit(bool sync) {
  State& s = *state_;
  if (s.temporary.empty()) throw StateError("AtomicFile: commit() of " + s.path + " called twice");
  s.flush();
  if (sync && ::fsync(s.fd) != 0) fail(s.temporary, "sync", errno);
  const int fd = s.fd;
  s.fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);  // keeps the lock until the file has its name
  if (::close(fd) != 0) fail(s.temporary, "close", errno);
  if (::rename(s.temporary.c_str(), s.path.c_str()) != 0) fail(s.path, "rename the temporary file to", errno);
  s.close();
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

size_t remove_stale_temporary_files(const std::string& directory) {
  size_t removed = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string path = entry.path().string();
    if (!is_temporary_name(entry.path().filename().string())) continue;
    const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (lock(fd, LOCK_EX | LOCK_NB) && ::unlink(path.c_str()) == 0) ++removed;
    ::close(fd);
  }
  return removed;
}

void write_file_atomically(const std::string& path, std::string_view content, bool sync) {
  AtomicFile file(path);
  file.write(content);
  file.commit(sync);
}

}  // namespace kusari
