#include "kusari/framework/kernels/quantized_convolution.h"

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari::kernels {

void check_quantized_convolution(const QuantizedConvolution& options, const Array& x, const Array& W, const Array& y) {
  const auto name_of = [](const Array& array) { return std::string(name(array.dtype())); };
  if (!has_8_bits(x) || !has_8_bits(W) || !(has_8_bits(y) || y.dtype() == Dtype::float32)) {
    throw TypeError("quantized_convolution_forward: x, W and y have dtypes " + name_of(x) + ", " + name_of(W) +
                    " and " + name_of(y) + ": x and W must be uint8 or int8, y one of these or float32");
  }
  const int64_t terms = W.size() / W.shape()[0];
  if (options.geometry.ndim > 2 || terms > kMostQuantizedTerms) {
    throw ValueError("quantized_convolution_forward: " + std::to_string(options.geometry.ndim) + " axes, " +
                     std::to_string(terms) + " terms of a sum: at most 2 axes and " +
                     std::to_string(kMostQuantizedTerms) + " terms");
  }
}

void check_quantized_add(const Array& a, const Array& b, const Array& y) {
  for (const Array* const x : {&a, &b, &y}) {
    if (!has_8_bits(*x)) {
      throw TypeError("quantized_add_forward: an array has dtype " + std::string(name(x->dtype())) +
                      ": it must be uint8 or int8");
    }
    if (x->shape() != y.shape() || x->strides() != y.strides()) {
      throw ValueError("quantized_add_forward: a, b and y must have one shape and one order in memory");
    }
  }
}

}  // namespace kusari::kernels
