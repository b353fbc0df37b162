// Winograd's convolution of bfloat16 against the exact results, with the bound that follows from its roundings.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/core/tuning.h"
#include "kusari/framework/cpu/best_isa.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/tests/core/child_process.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/skip.h"

namespace kusari {
namespace {

using Values = std::vector<double>;

size_t index(int64_t i) { return static_cast<size_t>(i); }

bool is_missing() {
  const char* const cap = std::getenv("KUSARI_CPU_ISA");
  return cpu::best_isa() < cpu::Isa::v4_bf16 || (cap != nullptr && std::string(cap) != "v4_bf16");
}

struct WinogradCase {
  int64_t batch, ins, outs, size[2], pad[2];
  Dtype w_dtype;
  bool has_bias;

  int64_t out(int axis) const { return size[axis] + 2 * pad[axis] - 2; }
  std::string problem(const char* pass, bool with_bias) const {
    const auto pair = [](int64_t a, int64_t b) { return std::to_string(a) + "x" + std::to_string(b); };
    return std::string("cpu.convolution/1 ") + pass + " bfloat16" +
           (w_dtype == Dtype::float32 ? " weights float32" : "") + " batch " + std::to_string(batch) + " channels " +
           std::to_string(ins) + " to " + std::to_string(outs) + " groups 1 bias " + (with_bias ? "1" : "0") + " in " +
           pair(size[0], size[1]) + " out " + pair(out(0), out(1)) + " kernel 3x3 stride 1x1 pad " +
           pair(pad[0], pad[1]) + " dilate 1x1";
  }
};

const WinogradCase kWinogradCases[] = {
    {1, 32, 32, {4, 4}, {1, 1}, Dtype::bfloat16, false}, {1, 32, 64, {3, 3}, {0, 0}, Dtype::float32, true},
    {2, 64, 32, {5, 7}, {1, 1}, Dtype::float32, true},   {3, 32, 32, {9, 6}, {2, 2}, Dtype::bfloat16, true},
    {1, 96, 64, {7, 12}, {0, 2}, Dtype::float32, false}, {1, 32, 96, {2, 13}, {1, 0}, Dtype::bfloat16, true},
    {2, 32, 32, {33, 21}, {1, 1}, Dtype::float32, true}, {1, 288, 320, {4, 2}, {1, 1}, Dtype::float32, false},
};

// A convolution's transformations, in double: the points are 0, +-sqrt(1/2), +-sqrt(2) and infinity; other factors for
// the same points give the same bound. Source: Lavin and Gray 2016.
struct Matrices {
  Values b, g, a;  // B^T (6, 6), G (6, 3), A^T (4, 6)

  Matrices() : b(36), g(18), a(24) {
    const double points[5] = {0, std::sqrt(0.5), -std::sqrt(0.5), std::sqrt(2.0), -std::sqrt(2.0)};
    for (size_t i = 0; i < 6; ++i) {
      Values polynomial = {1};  // the product of x - p over the other finite points
      double scale = 1;
      for (size_t other = 0; other < 5; ++other) {
        if (other == i) continue;
        if (i < 5) scale *= points[i] - points[other];
        Values next(polynomial.size() + 1);
        for (size_t s = 0; s < polynomial.size(); ++s) {
          next[s + 1] += polynomial[s];
          next[s] -= points[other] * polynomial[s];
        }
        polynomial = next;
      }
      std::copy(polynomial.begin(), polynomial.end(), b.begin() + static_cast<int64_t>(6 * i));
      for (size_t k = 0; k < 3; ++k) g[3 * i + k] = i < 5 ? std::pow(points[i], k) / scale : (k == 2 ? 1 : 0);
      for (size_t k = 0; k < 4; ++k) a[6 * k + i] = i < 5 ? std::pow(points[i], k) : (k == 3 ? 1 : 0);
    }
  }
};

Values transposed_values(const Values& m, size_t rows, size_t columns) {
  Values result(m.size());
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) result[j * rows + i] = m[i * columns + j];
  }
  return result;
}
Values absolute(Values m) {
  for (double& x : m) x = std::abs(x);
  return m;
}
// m x m^T, m being (to, from).
Values both_sides(const Values& m, size_t to, size_t from, const Values& x) {
  Values between(to * from), result(to * to);
  for (size_t i = 0; i < to; ++i) {
    for (size_t j = 0; j < from; ++j) {
      for (size_t k = 0; k < from; ++k) between[i * from + j] += m[i * from + k] * x[k * from + j];
    }
  }
  for (size_t i = 0; i < to; ++i) {
    for (size_t j = 0; j < to; ++j) {
      for (size_t k = 0; k < from; ++k) result[i * to + j] += between[i * from + k] * m[j * from + k];
    }
  }
  return result;
}

// A bound for the error of products of a and b transformed by m: both are rounded to 8 digits; the float sums on the
// way, before and after, are off by less than 32 roundings of their terms, which may be greater than the result.
struct Transformed {
  Values value, terms;

  Transformed(const Values& m, size_t to, size_t from, const Values& x)
      : value{absolute(both_sides(m, to, from, x))}, terms{both_sides(absolute(m), to, from, absolute(x))} {}
};
void add_error(Values& error, const Transformed& a, const Transformed& b) {
  for (size_t i = 0; i < 36; ++i) {
    error[i] += 0x1.01p-8 * a.value[i] * b.value[i] + 0x1p-18 * a.terms[i] * b.terms[i];
  }
}

struct Image {
  Values values;  // (batch, channels, rows, columns)
  int64_t batch, channels, rows, columns;

  double at(int64_t n, int64_t c, int64_t i, int64_t j) const {
    if (i < 0 || j < 0 || i >= rows || j >= columns) return 0;
    return values[index(((n * channels + c) * rows + i) * columns + j)];
  }
  Values square(int64_t n, int64_t c, int64_t top, int64_t left, int64_t size) const {
    Values result;
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < size; ++j) result.push_back(at(n, c, top + i, left + j));
    }
    return result;
  }
};
Image image_of(const Array& a) {
  return {a.astype(Dtype::float64).to_vector<double>(), a.shape()[0], a.shape()[1], a.shape()[2], a.shape()[3]};
}

void check_errors(const Values& got, const Values& exact, const Values& error) {
  int64_t wrong = 0;
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double bound = error[i] + 0x1p-8 * std::abs(exact[i]) + 1e-30;
    wrong += !(std::abs(got[i] - exact[i]) <= bound);
    worst = std::max(worst, std::abs(got[i] - exact[i]) / bound);
  }
  CAPTURE(worst);
  CHECK(wrong == 0);
}

// result = source filtered with W (outs, ins, 3, 3); of the result's and the source's channels W is asked by weight().
void check_filtered(const Image& source, const Image& result, int64_t before_row, int64_t before_column,
                    const std::function<double(int64_t to, int64_t from, int64_t i, int64_t j)>& weight,
                    const Values& bias) {
  const Matrices matrices;
  Values exact(result.values.size()), error(result.values.size());
  for (int64_t to = 0; to < result.channels; ++to) {
    std::vector<Transformed> u;
    for (int64_t from = 0; from < source.channels; ++from) {
      Values taps;
      for (int64_t k = 0; k < 9; ++k) taps.push_back(weight(to, from, k / 3, k % 3));
      u.emplace_back(matrices.g, 6, 3, taps);
    }
    for (int64_t n = 0; n < result.batch; ++n) {
      for (int64_t top = 0; top < result.rows; top += 4) {
        for (int64_t left = 0; left < result.columns; left += 4) {
          Values errors(36), sums(16);
          for (int64_t from = 0; from < source.channels; ++from) {
            const Values d = source.square(n, from, top - before_row, left - before_column, 6);
            add_error(errors, Transformed(matrices.b, 6, 6, d), u[index(from)]);
            for (int64_t y = 0; y < 16; ++y) {
              for (int64_t k = 0; k < 9; ++k) {
                sums[index(y)] += d[index((y / 4 + k / 3) * 6 + y % 4 + k % 3)] * weight(to, from, k / 3, k % 3);
              }
            }
          }
          const Values bounds = both_sides(absolute(matrices.a), 4, 6, errors);
          for (int64_t y = 0; y < 16; ++y) {
            const int64_t row = top + y / 4, column = left + y % 4;
            if (row >= result.rows || column >= result.columns) continue;
            const size_t at = index(((n * result.channels + to) * result.rows + row) * result.columns + column);
            exact[at] = sums[index(y)] + (bias.empty() ? 0 : bias[index(to)]);
            error[at] = bounds[index(y)];
          }
        }
      }
    }
  }
  check_errors(result.values, exact, error);
}

void check_filter_gradient(const Image& x, const Image& gy, const Image& gW, const WinogradCase& c) {
  const Matrices matrices;
  Values exact(gW.values.size()), error(gW.values.size());
  const Values to_taps = absolute(transposed_values(matrices.g, 6, 3)), of_gy = transposed_values(matrices.a, 4, 6);
  for (int64_t o = 0; o < gy.channels; ++o) {
    for (int64_t i = 0; i < x.channels; ++i) {
      Values errors(36), sums(9);
      for (int64_t n = 0; n < gy.batch; ++n) {
        for (int64_t top = 0; top < gy.rows; top += 4) {
          for (int64_t left = 0; left < gy.columns; left += 4) {
            const Values d = x.square(n, i, top - c.pad[0], left - c.pad[1], 6), g = gy.square(n, o, top, left, 4);
            add_error(errors, Transformed(matrices.b, 6, 6, d), Transformed(of_gy, 6, 4, g));
            for (int64_t k = 0; k < 9; ++k) {
              for (int64_t y = 0; y < 16; ++y) {
                sums[index(k)] += g[index(y)] * d[index((y / 4 + k / 3) * 6 + y % 4 + k % 3)];
              }
            }
          }
        }
      }
      const Values bounds = both_sides(to_taps, 3, 6, errors);
      for (int64_t k = 0; k < 9; ++k) {
        const size_t at = index((o * x.channels + i) * 9 + k);
        exact[at] = sums[index(k)];
        error[at] = bounds[index(k)];
      }
    }
  }
  check_errors(gW.values, exact, error);
}

struct WinogradResults {
  Array y, gx, gW;
};

kernels::Convolution geometry_of(const WinogradCase& c) {
  kernels::Convolution g;
  g.ndim = 2;
  for (int axis = 0; axis < 2; ++axis) {
    g.stride[axis] = g.dilate[axis] = 1;
    g.pad[axis] = c.pad[axis];
  }
  g.autotune = true;
  return g;
}

WinogradResults winograd_results_of(const WinogradCase& c, const Array& x, const Array& W, const Array& gy,
                                    const Array& bias) {
  for (const char* const pass : {"forward", "data_grad", "filter_grad"}) {
    tuning::restore(c.problem(pass, pass == std::string("forward") && c.has_bias) + " = winograd\n");
  }
  const std::string before = tuning::choices();
  const WinogradResults results = {empty_like(gy), empty_like(x), empty_like(W)};
  const kernels::Convolution g = geometry_of(c);
  launch<kernels::ConvolutionForward>(Device(), g, x, W, c.has_bias ? bias : Array(), results.y);
  launch<kernels::ConvolutionDataGrad>(Device(), g, gy, W, Array(), results.gx);
  launch<kernels::ConvolutionFilterGrad>(Device(), g, x, gy, results.gW);
  CHECK(tuning::choices() == before);  // no other algorithm was looked for
  return results;
}

TEST_CASE("Winograd's convolution of bfloat16" * doctest::test_suite("needs AVX512_BF16")) {
  if (is_missing()) KUSARI_SKIP("no AVX512_BF16 here");
  for (const WinogradCase& c : kWinogradCases) {
    CAPTURE(c.problem("", c.has_bias));
    const auto bfloat16 = [](const Shape& shape, uint64_t seed) {
      return testing::uniform(shape, -1, 1, seed).astype(Dtype::bfloat16).channels_last();
    };
    const Array x = bfloat16({c.batch, c.ins, c.size[0], c.size[1]}, 1);
    const Array gy = bfloat16({c.batch, c.outs, c.out(0), c.out(1)}, 2);
    const Array W = testing::uniform({c.outs, c.ins, 3, 3}, -1, 1, 3).astype(c.w_dtype).channels_last();
    const Array bias = testing::uniform({c.outs}, -1, 1, 4).astype(Dtype::float32);
    const WinogradResults results = winograd_results_of(c, x, W, gy, bias);
    const Image weights = image_of(W);
    const Values offsets = c.has_bias ? bias.astype(Dtype::float64).to_vector<double>() : Values();
    check_filtered(
        image_of(x), image_of(results.y), c.pad[0], c.pad[1],
        [&](int64_t to, int64_t from, int64_t i, int64_t j) { return weights.at(to, from, i, j); }, offsets);
    check_filtered(
        image_of(gy), image_of(results.gx), 2 - c.pad[0], 2 - c.pad[1],
        [&](int64_t to, int64_t from, int64_t i, int64_t j) { return weights.at(from, to, 2 - i, 2 - j); }, Values());
    check_filter_gradient(image_of(x), image_of(gy), image_of(results.gW), c);

    const int threads = num_threads();
    set_num_threads(threads == 3 ? 2 : 3);
    const WinogradResults again = winograd_results_of(c, x, W, gy, bias);
    set_num_threads(threads);
    const auto same = [](const Array& a, const Array& b) {
      return a.astype(Dtype::float32).to_vector<float>() == b.astype(Dtype::float32).to_vector<float>();
    };
    CHECK(same(results.y, again.y));
    CHECK(same(results.gx, again.gx));
    CHECK(same(results.gW, again.gW));
  }
}

TEST_CASE("Winograd's convolution of bfloat16 needs AVX512_BF16") {
  const testing::ChildResult child = testing::run_in_child(
      "-u KUSARI_CONVOLUTION -u KUSARI_LOG_LEVEL KUSARI_CPU_ISA=v4", "be without Winograd for bfloat16");
  INFO(child.output);
  CHECK(child.exit_code == 0);
}

TEST_CASE("be without Winograd for bfloat16" * doctest::skip()) {
  const WinogradCase& c = kWinogradCases[0];
  const std::string problem = c.problem("forward", false);
  tuning::restore(problem + " = winograd\n");
  const Array x = testing::uniform({1, 32, 4, 4}, -1, 1, 1).astype(Dtype::bfloat16).channels_last();
  const Array W = testing::uniform({32, 32, 3, 3}, -1, 1, 3).astype(Dtype::bfloat16).channels_last();
  const Array y = empty_like(x);
  launch<kernels::ConvolutionForward>(Device(), geometry_of(c), x, W, Array(), y);
  CHECK(tuning::choices() != problem + " = winograd\n");
  const Array exact = empty_like(x.astype(Dtype::float32));
  launch<kernels::ConvolutionForward>(Device(), geometry_of(c), x.astype(Dtype::float32), W.astype(Dtype::float32),
                                      Array(), exact);
  const std::vector<float> got = y.astype(Dtype::float32).to_vector<float>(), expected = exact.to_vector<float>();
  for (size_t i = 0; i < got.size(); ++i)
    CHECK(std::abs(got[i] - expected[i]) <= 0x1p-8f * std::abs(expected[i]) + 1e-3f);
}

}  // namespace
}  // namespace kusari
