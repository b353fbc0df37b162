#include "kusari/framework/datasets/cache.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

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

/// A name beside `path` that is free. Random, because processes of several machines or containers, whose ids may be
/// the same, can share the folder.
std::string temporary_name(const std::string& path) {
  std::random_device random;
  std::string name;
  std::error_code ignored;
  do {
    name = path + "." + std::to_string(random()) + "-" + std::to_string(random()) + ".part";
  } while (fs::exists(name, ignored));
  return name;
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
  const RemovedFile temporary{temporary_name(path)};
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
