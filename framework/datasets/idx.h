#pragma once

#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::datasets {

/// The array of an IDX file (yann.lecun.com/exdb/mnist: two zero bytes, a type, the number of axes, big-endian sizes,
/// data), gzipped or not. Types: unsigned byte, signed byte, short (as int32), int, float, double.
/// Throws IoError, naming the file, when it is no such file or its length does not fit its header.
KUSARI_API Array read_idx(const std::string& path);

}  // namespace kusari::datasets
