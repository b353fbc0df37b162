#include "kusari/framework/testing/save_and_load.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "kusari/framework/core/error.h"

namespace kusari::testing {

void with_temporary_file(const std::string& name, const Callable<void(const std::string&)>& use) {
  std::string folder = (std::filesystem::temp_directory_path() / "kusari_XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    throw IoError("with_temporary_file: " + folder + " cannot be made: " + std::strerror(errno));
  }
  struct Removed {
    std::string folder;
    ~Removed() {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  } const removed{folder};
  use((std::filesystem::path(folder) / name).string());
}

}  // namespace kusari::testing
