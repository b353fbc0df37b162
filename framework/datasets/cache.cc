#include "kusari/framework/datasets/cache.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/core/error.h"

namespace kusari::datasets {
namespace {

namespace fs = std::filesystem;

/// Waits until a file or folder is on the disk; false with errno when it cannot be.
bool sync(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  errno = error;
  return done;
}

constexpr std::string_view kLockEnd = ".lock", kPartEnd = ".part";

bool try_lock(int fd) {
  int result = 0;
  do {
    result = ::flock(fd, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

void remove_file(const std::string& path) noexcept {
  std::error_code ignored;
  fs::remove(path, ignored);
}

/// "17-4" of "NAME.17-4.part" and whatever follows, or of "NAME.17-4.lock"; "" of other names.
std::string token_of(std::string_view entry, std::string_view name) {
  if (!entry.starts_with(name) || entry.size() <= name.size() || entry[name.size()] != '.') return "";
  const std::string_view rest = entry.substr(name.size() + 1);
  const size_t dot = rest.find('.');
  if (dot == rest.npos || (rest.substr(dot) != kLockEnd && !rest.substr(dot).starts_with(kPartEnd))) return "";
  const std::string_view token = rest.substr(0, dot);
  const size_t middle = token.find('-');
  const bool is_token = middle != token.npos && middle > 0 && middle + 1 < token.size() &&
                        token.find('-', middle + 1) == token.npos &&
                        token.find_first_not_of("0123456789-") == token.npos;
  return is_token ? std::string(token) : "";
}

/// Removes what processes have left that were killed while they wrote a file for `path`: the locks of the living are
/// held.
void remove_abandoned(const fs::path& folder, const std::string& name) noexcept {
  try {
    std::map<std::string, std::vector<std::string>> files;  // by token
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string token = token_of(entry.path().filename().string(), name);
      if (!token.empty()) files[token].push_back(entry.path().string());
    }
    for (const auto& [token, paths] : files) {
      const std::string lock = (folder / (name + "." + token)).string().append(kLockEnd);
      const int fd = ::open(lock.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
      if (fd < 0) continue;  // it is not known whose they are
      if (try_lock(fd)) {
        for (const std::string& path : paths) {
          if (path != lock) remove_file(path);
        }
        remove_file(lock);  // last, for the next one to find what is left if this process is killed too
      }
      ::close(fd);
    }
    remove_stale_temporary_files(folder.string());  // those of writers that write atomically themselves
  } catch (const std::exception&) {                 // the folder cannot be read
  }
}

/// A free name beside `path`, and a locked file that tells others that it is in use. Random, because processes of
/// several machines or containers, whose ids may be the same, can share the folder.
class TemporaryName {
 public:
  explicit TemporaryName(const std::string& path) {
    std::random_device random;
    do {
      const std::string name = path + "." + std::to_string(random()) + "-" + std::to_string(random());
      part_ = name + std::string(kPartEnd);
      lock_ = name + std::string(kLockEnd);
      fd_ = ::open(lock_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd_ < 0 && errno != EEXIST) {
        throw IoError("cache_or_load_file: cannot write beside " + path + ": " + std::strerror(errno));
      }
    } while (fd_ < 0 || !is_mine());
  }
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName() {
    remove_file(part_);
    remove_file(lock_);
    ::close(fd_);
  }

  const std::string& path() const noexcept { return part_; }

 private:
  /// Not every file system has locks. Somebody may have taken the file for an abandoned one before it was locked.
  bool is_mine() {
    struct stat info {};
    if (try_lock(fd_)) {
      if (::fstat(fd_, &info) == 0 && info.st_nlink > 0) return true;
    } else if (errno != EWOULDBLOCK) {
      return true;
    }
    ::close(fd_);
    return false;
  }

  std::string part_, lock_;
  int fd_ = -1;
};

}  // namespace

bool create_cached_file(const std::string& path, const Callable<void(const std::string&)>& create) {
  std::error_code error;
  if (fs::exists(path, error)) return false;
  const fs::path folder = fs::absolute(path, error).parent_path();
  if (error) throw IoError("cache_or_load_file: " + path + " has no folder: " + error.message());
  fs::create_directories(folder, error);
  if (error) throw IoError("cache_or_load_file: cannot create " + folder.string() + ": " + error.message());
  remove_abandoned(folder, fs::path(path).filename().string());
  const TemporaryName temporary(path);
  create(temporary.path());
  if (!sync(temporary.path())) {
    throw IoError("cache_or_load_file: " + path + " was not written under the temporary name " + temporary.path() +
                  ": " + std::strerror(errno));
  }
  fs::rename(temporary.path(), path, error);
  if (error) throw IoError("cache_or_load_file: cannot rename " + temporary.path() + ": " + error.message());
  sync(folder.string());
  return true;
}

}  // namespace kusari::datasets
