#include "kusari/framework/onnx/format.h"

#include <iterator>

namespace kusari::onnx {

std::string to_string(DataType type) {
  static constexpr const char* kNames[] = {
      "UNDEFINED", "FLOAT",      "UINT8",      "INT8",         "UINT16",         "INT16",      "INT32",
      "INT64",     "STRING",     "BOOL",       "FLOAT16",      "DOUBLE",         "UINT32",     "UINT64",
      "COMPLEX64", "COMPLEX128", "BFLOAT16",   "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
      "UINT4",     "INT4",       "FLOAT4E2M1", "FLOAT8E8M0",   "UINT2",          "INT2"};
  const int number = static_cast<int>(type);
  if (number < 0 || number >= static_cast<int>(std::size(kNames))) return "type " + std::to_string(number);
  return kNames[number];
}

std::optional<Dtype> dtype_for(DataType type) {
  switch (type) {
    case DataType::float32:
      return Dtype::float32;
    case DataType::float64:
      return Dtype::float64;
    case DataType::float16:
      return Dtype::float16;
    case DataType::bfloat16:
      return Dtype::bfloat16;
    case DataType::bool_:
      return Dtype::bool_;
    case DataType::uint8:
    case DataType::uint4:
    case DataType::uint2:
      return Dtype::uint8;
    case DataType::int8:
    case DataType::int4:
    case DataType::int2:
      return Dtype::int8;
    case DataType::int16:
    case DataType::uint16:
    case DataType::int32:
      return Dtype::int32;
    case DataType::uint32:
    case DataType::uint64:
    case DataType::int64:
      return Dtype::int64;
    default:
      return std::nullopt;
  }
}

DataType type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_:
      return DataType::bool_;
    case Dtype::uint8:
      return DataType::uint8;
    case Dtype::int8:
      return DataType::int8;
    case Dtype::int32:
      return DataType::int32;
    case Dtype::int64:
      return DataType::int64;
    case Dtype::float16:
      return DataType::float16;
    case Dtype::bfloat16:
      return DataType::bfloat16;
    case Dtype::float32:
      return DataType::float32;
    case Dtype::float64:
      return DataType::float64;
  }
  return DataType::undefined;
}

}  // namespace kusari::onnx
