#pragma once

#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

struct FftOptions {
  bool inverse = false;
};

/// Discrete Fourier transform along the last axis, which is not empty: y[k] = sum over j of x[j] exp(-2 pi i j k / n);
/// the inverse has the other sign and the factor 1 / n. real, imag, y_real, y_imag: one shape and floating dtype, any
/// strides, any n. Computed in float64.
struct Fft {
  static constexpr const char* kName = "fft";
  using Signature = void(Params<FftOptions> options, In real, In imag, Out y_real, Out y_imag);
};

}  // namespace kusari::kernels
