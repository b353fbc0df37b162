#include "kusari/framework/datasets/cache.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

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

struct RemovedFile {
  std::string path;
  ~RemovedFile() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

}  // namespace

bool create_cached_file(const std::string& path, const std::function<void(const std::string&)>& create) {
  std::error_code error;
  if (fs::exists(path, error)) return false;
  const fs::path folder = fs::absolute(path).parent_path();
  fs::create_directories(folder, error);
  if (error) throw IoError("cache_or_load_file: cannot create " + folder.string() + ": " + error.message());
  static std::atomic<int> count{0};
  const RemovedFile temporary{path + "." + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".part"};
  create(temporary.path);
  if (!sync(temporary.path)) {
    throw IoError("cache_or_load_file: " + path + " was not written under the temporary name " + temporary.path + ": " +
                  std::strerror(errno));
  }
  fs::rename(temporary.path, path, error);
  if (error) throw IoError("cache_or_load_file: cannot rename " + temporary.path + ": " + error.message());
  sync(folder.string());
  return true;
}

}  // namespace kusari::datasets
