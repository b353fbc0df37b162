#include "kusari/framework/kernels/fft.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

#include <unsupported/Eigen/FFT>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

using Complex = std::complex<double>;

/// Above it Eigen's butterflies, whose work grows with the square of a prime factor, lose to Bluestein's three
/// transforms.
constexpr int64_t kLargestFactor = 97;

int64_t largest_prime_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(n, largest);
}

/// Transforms of one length, as many as one likes. Copies share the work of preparing, but are for one thread each.
class Transform {
 public:
  explicit Transform(int64_t n) : n_{n} {
    fft_.SetFlag(Eigen::FFT<double>::Unscaled);
    if (largest_prime_factor(n) > kLargestFactor) prepare_bluestein();
  }

  /// x becomes its unscaled transform with the sign -1.
  void run(std::vector<Complex>& x) {
    if (n_ == 1) return;  // Eigen's needs two
    if (!chirp_.empty()) return run_bluestein(x);
    result_.resize(x.size());
    fft_.fwd(result_.data(), x.data(), static_cast<int>(n_));
    x.swap(result_);
  }

 private:
  // With j k = (j^2 + k^2 - (k - j)^2) / 2 the transform is a convolution with a chirp, at any longer length (Bluestein
  // 1970).
  void prepare_bluestein() {
    padded_ = 1;
    while (padded_ < 2 * n_ - 1) padded_ *= 2;
    std::vector<Complex> filter(static_cast<size_t>(padded_));
    uint64_t square = 0;  // k^2 mod 2n, which the angle depends on
    for (int64_t k = 0; k < n_; ++k) {
      const double angle = std::numbers::pi * static_cast<double>(square) / static_cast<double>(n_);
      chirp_.push_back(std::polar(1.0, -angle));
      filter[static_cast<size_t>(k)] = std::polar(1.0, angle);
      if (k > 0) filter[static_cast<size_t>(padded_ - k)] = filter[static_cast<size_t>(k)];
      square = (square + 2 * static_cast<uint64_t>(k) + 1) % (2 * static_cast<uint64_t>(n_));
    }
    filter_.resize(filter.size());
    fft_.fwd(filter_.data(), filter.data(), static_cast<int>(padded_));
  }

  void run_bluestein(std::vector<Complex>& x) {
    std::vector<Complex> y(filter_.size());
    for (size_t k = 0; k < chirp_.size(); ++k) y[k] = x[k] * chirp_[k];
    result_.resize(y.size());
    fft_.fwd(result_.data(), y.data(), static_cast<int>(padded_));
    for (size_t k = 0; k < y.size(); ++k) result_[k] = std::conj(result_[k] * filter_[k]);
    fft_.fwd(y.data(), result_.data(), static_cast<int>(padded_));  // the conjugate of the inverse
    const double scale = 1.0 / static_cast<double>(padded_);
    for (size_t k = 0; k < chirp_.size(); ++k) x[k] = std::conj(y[k]) * chirp_[k] * scale;
  }

  int64_t n_;
  int64_t padded_ = 0;
  Eigen::FFT<double> fft_;
  std::vector<Complex> chirp_, filter_;  // empty without Bluestein
  std::vector<Complex> result_;
};

void fft(Params<kernels::FftOptions> options, In real, In imag, Out y_real, Out y_imag) {
  if (real->size() == 0) return;
  const Array re = real->astype(Dtype::float64).contiguous(), im = imag->astype(Dtype::float64).contiguous();
  const Array to_re = empty(re.shape(), Dtype::float64), to_im = empty(re.shape(), Dtype::float64);
  const int64_t n = re.shape()[re.ndim() - 1];
  const bool inverse = options->inverse;
  const double scale = inverse ? 1.0 / static_cast<double>(n) : 1.0;
  const int64_t rows = re.size() / n, chunk = std::max<int64_t>(1, kThreadChunk / n);
  Transform prepared(n);
  if (rows > chunk) {
    std::vector<Complex> nothing(static_cast<size_t>(n));
    prepared.run(nothing);  // makes Eigen's tables
  }
  parallel_for(rows, chunk, [&](int64_t begin, int64_t end) {
    Transform transform = prepared;
    std::vector<Complex> x(static_cast<size_t>(n));
    // The inverse is the transform with real and imaginary parts exchanged on both sides.
    const double *const from_re = (inverse ? im : re).data<double>(), *const from_im =
                                                                          (inverse ? re : im).data<double>();
    double *const into_re = (inverse ? to_im : to_re).data<double>(), *const into_im =
                                                                          (inverse ? to_re : to_im).data<double>();
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t k = 0; k < n; ++k) x[static_cast<size_t>(k)] = {from_re[row * n + k], from_im[row * n + k]};
      transform.run(x);
      for (int64_t k = 0; k < n; ++k) {
        into_re[row * n + k] = scale * x[static_cast<size_t>(k)].real();
        into_im[row * n + k] = scale * x[static_cast<size_t>(k)].imag();
      }
    }
  });
  y_real->copy_from(to_re);
  y_imag->copy_from(to_im);
}

}  // namespace

void register_fft(Backend& backend) { backend.add<kernels::Fft>(&fft); }

}  // namespace kusari::cpu
