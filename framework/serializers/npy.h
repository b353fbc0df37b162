#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/serializers/byte_source.h"

namespace kusari::serializers {

/// What a .npy file may hold here: numbers, one string, or Python's None.
enum class NpyKind { numbers, text, none };

/// The header of a .npy file (numpy.lib.format, versions 1.0 to 3.0).
struct NpyHeader {
  NpyKind kind = NpyKind::numbers;
  std::string descr;             // NumPy's: "<f4", "|b1", "<U30", "|O"
  Dtype dtype = Dtype::float32;  // of numbers, as read_npy_numbers gives them
  Shape shape;                   //
  int64_t item_size = 0;         // in the file, in bytes
  bool big_endian = false;
  bool fortran_order = false;
};

/// Reads and checks a header; the data follows in `source`. Dtypes: b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 of either byte
/// order, V2 (what ml_dtypes writes for bfloat16), U (string) and O (only a 0-d None). int16 and uint16 are read as
/// int32; uint32 and uint64 as int64. Throws IoError for anything else, and when the data is shorter or longer than
/// the header says, so that numel(shape) is safe to allocate.
KUSARI_API NpyHeader read_npy_header(ByteSource& source);
/// The numbers in C order and native byte order; `out` has room for numel(header.shape) elements of header.dtype.
/// Throws IoError when a uint64 does not fit int64.
KUSARI_API void read_npy_numbers(ByteSource& source, const NpyHeader& header, void* out);
/// The string of a 0-d array, in UTF-8.
KUSARI_API std::string read_npy_text(ByteSource& source, const NpyHeader& header);
/// Checks that the pickled object is None.
KUSARI_API void read_npy_none(ByteSource& source, const NpyHeader& header);

/// NumPy's name of a dtype in little endian: "<f4", "|b1", ...; "<V2" for bfloat16, as ml_dtypes writes it.
KUSARI_API std::string npy_descr(Dtype dtype);
/// The bytes of a version 1.0 header, the same as NumPy's; C order.
KUSARI_API std::string npy_header(const std::string& descr, const Shape& shape);
/// A whole file with a 0-d string; `utf8` must be valid UTF-8 (ValueError).
KUSARI_API std::string npy_text(std::string_view utf8);
/// A whole file with a 0-d object array that holds None, the same bytes as NumPy 1.24 writes. numpy.load needs
/// allow_pickle=True for it.
KUSARI_API std::string npy_none();

}  // namespace kusari::serializers
