#pragma once

#include <filesystem>

namespace kusari::cuda {

/// Where what took long to find or to make is kept for later runs: $KUSARI_CACHE_DIR, else the folder kusari/<kind> in
/// $XDG_CACHE_HOME or ~/.cache. Empty if nothing shall be kept: KUSARI_CACHE_DIR= or no home.
std::filesystem::path cache_folder(const char* kind);

}  // namespace kusari::cuda
