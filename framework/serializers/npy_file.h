#pragma once

#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::serializers {

/// The array of a .npy file, on the CPU in C order; see npy.h for the dtypes. Throws IoError, naming the file, when it
/// cannot be read, is damaged, or holds no numbers. numpy.load.
KUSARI_API Array load_npy(const std::string& path);

/// Writes an array of any device and memory order to a .npy file, in C order. The file appears whole or not at all.
/// Throws IoError, naming the file, when it cannot be written. numpy.save.
KUSARI_API void save_npy(const std::string& path, const Array& array);

}  // namespace kusari::serializers
