#pragma once

#include <cstdint>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/onnx/format.h"
#include "kusari/framework/onnx/operators/value.h"

// Integers that stand for real numbers: (q - zero point) scale. A session computes products of them with the integers
// where it finds that they are (docs/quantization.md).
namespace kusari::onnx {

/// A scale or a zero point beside x: one number, one for each place of an axis, or one for each block along it; an
/// undefined one stays so.
Variable beside(const Variable& p, const Variable& x, int64_t axis, int64_t block = 0);

/// round(x / scale) + zero point, cut at the type's range.
Variable quantized(const Variable& x, const Variable& scale, const Variable& zero, DataType type);
/// Of the scale's dtype, float32 at least.
Variable dequantized(const Variable& q, const Variable& scale, const Variable& zero);

/// The weights (out, in) of F::linear that a matrix (in, out) of integers stands for, its scale and zero point one for
/// all or one for each column; laid out so that sessions multiply the integers with any number of rows.
Variable dequantized_columns(const Variable& q, const Variable& scale, const Variable& zero);

/// The type of a zero point of which only the dtype is left.
DataType type_of_zero(const Call& call, size_t i);

struct QuantizedArray {
  Variable q, scale, zero;
};
/// uint8 over the range of x, in which 0 is a number.
QuantizedArray dynamically_quantized(const Variable& x);
/// What these integers stand for.
Variable rounded_to_8_bits(const Variable& x);

}  // namespace kusari::onnx
