#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"

// Numbers of ONNX's file format (onnx.proto).
namespace kusari::onnx {

/// TensorProto.DataType.
enum class DataType : int32_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  bool_ = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};

/// AttributeProto.AttributeType.
enum class AttributeType : int32_t {
  undefined = 0,
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14,
};

/// ONNX's name of a type: "FLOAT16"; "type 99" for an unknown one.
KUSARI_API std::string to_string(DataType type);
/// The dtype that holds each value of the type: the type itself, or a wider one for integers that Kusari has no dtype
/// of. Absent for what no dtype holds: strings, complex numbers, 8-bit and 4-bit floats.
KUSARI_API std::optional<Dtype> dtype_for(DataType type);
/// The type that a dtype is written as.
KUSARI_API DataType type_of(Dtype dtype);

}  // namespace kusari::onnx
