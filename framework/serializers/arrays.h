#pragma once

#include <map>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/serializers/npz.h"

namespace kusari::serializers {

/// Arrays under their keys: `arrays["x"] = x`.
using NamedArrays = std::map<std::string, Array>;

/// All arrays of an .npz, .safetensors or HDF5 file, on the CPU in C order; undefined for None. Strings are left out.
/// NpzReader reads single ones of a large file. Throws IoError, naming the file, when it cannot be read or is damaged.
/// numpy.load.
KUSARI_API NamedArrays load_arrays(const std::string& path);

/// Writes arrays of any device and memory order to an .npz file: `save_arrays("xy.npz", {{"x", x}, {"y", y}})`. The
/// file appears whole or not at all. Throws IoError when it cannot be written. numpy.savez_compressed, with
/// {.compression = false} numpy.savez.
KUSARI_API void save_arrays(const std::string& path, const NamedArrays& arrays, const SaveNpzOptions& options = {});

}  // namespace kusari::serializers
