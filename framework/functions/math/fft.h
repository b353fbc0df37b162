#pragma once

#include <initializer_list>
#include <span>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari::functions {

/// Discrete Fourier transform along the last axis: y[k] = sum over j of x[j] exp(-2 pi i j k / n).
/// x: the real and the imaginary part, (..., n) of one shape and floating dtype, n of any size but 0. Returns both
/// parts of y, in x's dtype and computed in float64. Throws ValueError if x is not a pair, TypeError when its parts do
/// not go together. Differentiable to any order. chainer.functions.fft.
KUSARI_API Variables fft(std::span<const Variable> x);
inline Variables fft(std::initializer_list<Variable> x) { return fft(std::span<const Variable>(x.begin(), x.size())); }

/// The inverse of fft: y[k] = (1 / n) sum over j of x[j] exp(2 pi i j k / n); otherwise as fft. chainer.functions.ifft.
KUSARI_API Variables ifft(std::span<const Variable> x);
inline Variables ifft(std::initializer_list<Variable> x) {
  return ifft(std::span<const Variable>(x.begin(), x.size()));
}

}  // namespace kusari::functions
