#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <kusari/kusari.h>

/// Saves rows * columns images, (N, C, H, W) in 0 .. 1, side by side in one PNG file, whose folder is made.
inline void save_tiles(const std::filesystem::path& path, const kusari::Variable& images, int64_t rows,
                       int64_t columns) {
  using namespace kusari;
  const int64_t channels = images.shape(1), height = images.shape(2), width = images.shape(3);
  const auto tiles = F::transpose(F::reshape(images, {rows, columns, channels, height, width}), {2, 0, 3, 1, 4});
  std::filesystem::create_directories(path.parent_path());
  datasets::save_png(path.string(), F::reshape(tiles, {channels, rows * height, columns * width}).array());
}
