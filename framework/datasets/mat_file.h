#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::datasets {

/// The numeric arrays of a MATLAB file of level 5 (MATLAB 5 to 7, compressed or not), with their names, in the order of
/// the file: (rows, columns, ...), laid out in columns as MATLAB has them. int16 and uint16 become int32, uint32
/// becomes int64, logical arrays are uint8. Texts, cells, structures, sparse and complex arrays, and uint64 are passed
/// over. Throws IoError, naming the file, the byte and what was expected, for another file (also MATLAB 7.3, which is
/// HDF5) and for one that is damaged or cut off. Source: MathWorks, "MAT-File Format", R2023b.
KUSARI_API std::vector<std::pair<std::string, Array>> read_mat(const std::string& path);

}  // namespace kusari::datasets
