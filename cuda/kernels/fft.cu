#include "kusari/framework/kernels/fft.h"

#include <bit>
#include <utility>

#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/math.h"

// Own kernels instead of cuFFT, which is another 200 MB of a library for a function of spectra that are short: radix-2
// steps (Stockham), around which Bluestein's convolution makes any length of a power of two.
namespace kusari::cuda {
namespace {

struct Complex {
  double re, im;
};
__device__ __forceinline__ Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
__device__ __forceinline__ Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
__device__ __forceinline__ Complex operator*(const Complex& a, const Complex& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// exp(-2 pi i numerator / denominator).
__device__ __forceinline__ Complex unit(int64_t numerator, int64_t denominator) {
  constexpr double kPi = 3.14159265358979323846;
  const double angle = -2 * kPi * static_cast<double>(numerator) / static_cast<double>(denominator);
  return {km::cos(angle), km::sin(angle)};
}

constexpr int kFftBlock = 256;

/// What a transform reads and writes. With the two parts exchanged on both sides it is the inverse.
struct Parts {
  double *re, *im;
};

/// exp(-pi i k^2 / n), whose angle depends on k^2 mod 2n (Bluestein 1970).
__device__ __forceinline__ Complex chirp(int64_t k, int64_t n) {
  const auto square = static_cast<int64_t>(static_cast<unsigned long long>(k) * static_cast<unsigned long long>(k) %
                                           static_cast<unsigned long long>(2 * n));
  return unit(square, 2 * n);
}

/// Rows of n numbers, each times its chirp, with zeros up to m.
__global__ void __launch_bounds__(kFftBlock) chirp_rows(Parts x, int64_t n, int64_t m, int64_t size, Complex* y) {
  const int64_t at = int64_t{blockIdx.x} * kFftBlock + threadIdx.x;
  if (at >= size) return;
  const int64_t row = at / m, k = at - row * m;
  if (k >= n) {
    y[at] = {0, 0};
    return;
  }
  const Complex value = {x.re[row * n + k], x.im[row * n + k]};
  y[at] = n == m ? value : value * chirp(k, n);
}

/// The chirp's conjugate around 0, of period m: what Bluestein's products are folded with.
__global__ void __launch_bounds__(kFftBlock) chirp_filter(int64_t n, int64_t m, Complex* y) {
  const int64_t k = int64_t{blockIdx.x} * kFftBlock + threadIdx.x;
  if (k >= m) return;
  const int64_t distance = k < n ? k : m - k;
  if (distance >= n) {
    y[k] = {0, 0};
    return;
  }
  const Complex c = chirp(distance, n);
  y[k] = {c.re, -c.im};
}

/// A step of Stockham's transform of rows of m: parts of `half` elements become parts of 2 half.
__global__ void __launch_bounds__(kFftBlock)
    radix2_step(const Complex* x, Complex* y, int64_t m, int64_t half, int64_t pairs) {
  const int64_t at = int64_t{blockIdx.x} * kFftBlock + threadIdx.x;
  if (at >= pairs) return;
  const int64_t row = at / (m / 2), j = at - row * (m / 2), k = j % half;
  x += row * m;
  y += row * m;
  const Complex a = x[j], b = x[j + m / 2] * unit(k, 2 * half);
  const int64_t to = (j - k) * 2 + k;
  y[to] = a + b;
  y[to + half] = a - b;
}

/// Conjugates of the products with the filter's transform: a transform of those is the conjugate of m times the
/// inverse.
__global__ void __launch_bounds__(kFftBlock) filter_rows(Complex* x, const Complex* filter, int64_t m, int64_t size) {
  const int64_t at = int64_t{blockIdx.x} * kFftBlock + threadIdx.x;
  if (at >= size) return;
  const Complex product = x[at] * filter[at % m];
  x[at] = {product.re, -product.im};
}

__global__ void __launch_bounds__(kFftBlock)
    take_rows_back(const Complex* x, int64_t n, int64_t m, int64_t size, double scale, Parts y) {
  const int64_t at = int64_t{blockIdx.x} * kFftBlock + threadIdx.x;
  if (at >= size) return;
  const int64_t row = at / n, k = at - row * n;
  Complex value = x[row * m + k];
  if (n != m) value = Complex{value.re, -value.im} * chirp(k, n);
  y.re[at] = scale * value.re;
  y.im[at] = scale * value.im;
}

LaunchShape shape_for(int64_t size) { return {dim3(blocks_for(size, kFftBlock)), dim3(kFftBlock)}; }

/// Transforms rows of m numbers, a power of two; `x` and `other` change places until it is in *x.
void transform(Context& context, Complex** x, Complex** other, int64_t rows, int64_t m) {
  for (int64_t half = 1; half < m; half *= 2) {
    const int64_t pairs = rows * m / 2;
    enqueue(context, shape_for(pairs), radix2_step, *x, *other, m, half, pairs);
    std::swap(*x, *other);
  }
}

void fft(Params<kernels::FftOptions> options, In real, In imag, Out y_real, Out y_imag) {
  if (real->size() == 0) return;
  Context& context = Context::of(*real);
  const Device& device = real->device();
  const Array re = real->astype(Dtype::float64).contiguous(), im = imag->astype(Dtype::float64).contiguous();
  const Array to_re = empty(re.shape(), Dtype::float64, device), to_im = empty(re.shape(), Dtype::float64, device);
  Parts from = {re.data<double>(), im.data<double>()}, to = {to_re.data<double>(), to_im.data<double>()};
  if (options->inverse) {
    std::swap(from.re, from.im);
    std::swap(to.re, to.im);
  }
  const int64_t n = re.shape()[re.ndim() - 1], rows = re.size() / n;
  const bool is_power = std::has_single_bit(static_cast<uint64_t>(n));
  const int64_t m = is_power ? n : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1)));
  const int64_t size = rows * m;
  const Scratch scratch(context, static_cast<size_t>(2 * size + (is_power ? 0 : 2 * m)) * sizeof(Complex));
  Complex *x = scratch.data<Complex>(), *other = x + size;
  enqueue(context, shape_for(size), chirp_rows, from, n, m, size, x);
  transform(context, &x, &other, rows, m);
  double scale = options->inverse ? 1.0 / static_cast<double>(n) : 1.0;
  if (!is_power) {
    Complex *filter = scratch.data<Complex>() + 2 * size, *spare = filter + m;
    enqueue(context, shape_for(m), chirp_filter, n, m, filter);
    transform(context, &filter, &spare, 1, m);
    enqueue(context, shape_for(size), filter_rows, x, filter, m, size);
    transform(context, &x, &other, rows, m);
    scale /= static_cast<double>(m);
  }
  enqueue(context, shape_for(re.size()), take_rows_back, x, n, m, re.size(), scale, to);
  y_real->copy_from(to_re);
  y_imag->copy_from(to_im);
}

}  // namespace

void register_fft(Backend& backend) { backend.add<kernels::Fft>(fft); }

}  // namespace kusari::cuda
