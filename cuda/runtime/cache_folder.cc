#include "kusari/cuda/runtime/cache_folder.h"

#include <cstdlib>
#include <string>

namespace kusari::cuda {

std::filesystem::path cache_folder(const char* kind) {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (std::getenv("KUSARI_CACHE_DIR") != nullptr) return variable("KUSARI_CACHE_DIR");
  const std::string base = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (!base.empty()) return std::filesystem::path(base) / "kusari" / kind;
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".cache" / "kusari" / kind;
}

}  // namespace kusari::cuda
