#include "kusari/framework/kernels/softmax.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace kusari;

namespace {

using Values = std::vector<double>;

Array wave(const Shape& shape, double phase = 0) {
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = 3 * std::sin(1.7 * static_cast<double>(i) + phase);
  return array(v, shape);
}

/// x (outer, n, inner) -> f(row) for every row along the middle, row by row.
template <class F>
Values by_rows(const Values& x, int64_t outer, int64_t n, int64_t inner, const F& f) {
  Values result(x.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      Values row(static_cast<size_t>(n));
      const auto at = [&](int64_t k) { return static_cast<size_t>((o * n + k) * inner + i); };
      for (int64_t k = 0; k < n; ++k) row[static_cast<size_t>(k)] = x[at(k)];
      const Values y = f(row);
      for (int64_t k = 0; k < n; ++k) result[at(k)] = y[static_cast<size_t>(k)];
    }
  }
  return result;
}

Values softmax_of(const Values& row) {
  Values y = row;
  double sum = 0;
  for (double& v : y) sum += v = std::exp(v);
  for (double& v : y) v /= sum;
  return y;
}

Values log_softmax_of(const Values& row) {
  Values y = softmax_of(row);
  for (double& v : y) v = std::log(v);
  return y;
}

void check_close(const Array& got, const Values& want, double tolerance) {
  const Values values = got.to_vector<double>();
  REQUIRE(values.size() == want.size());
  for (size_t i = 0; i < want.size(); ++i) CHECK(std::abs(values[i] - want[i]) <= tolerance * (1 + std::abs(want[i])));
}

double tolerance_of(Dtype dtype) {
  return dtype == Dtype::float64 ? 1e-14 : dtype == Dtype::float32 ? 1e-6 : dtype == Dtype::float16 ? 2e-3 : 2e-2;
}

/// sum over the row of y gy, and so on: the vector-Jacobian product by differences of the formula.
Values numerical_gradient(const Values& row, const Values& gy, Values (*f)(const Values&)) {
  Values gx(row.size());
  for (size_t i = 0; i < row.size(); ++i) {
    Values up = row, down = row;
    up[i] += 1e-5;
    down[i] -= 1e-5;
    const Values high = f(up), low = f(down);
    for (size_t k = 0; k < row.size(); ++k) gx[i] += gy[k] * (high[k] - low[k]) / 2e-5;
  }
  return gx;
}

}  // namespace

TEST_CASE("softmax and log_softmax: along any axis, in any layout and dtype") {
  const Shape shape{3, 37, 5};
  const Array x = wave(shape);
  for (const Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
    CAPTURE(name(dtype));
    const Array in = x.astype(dtype);
    const Array permuted = empty_strided(shape, channels_last_strides(shape), dtype);
    permuted.copy_from(in);
    const Values exact = in.to_vector<double>();
    for (const Array& layout : {in, permuted}) {
      const Array y = empty_like(layout);
      launch<kernels::Softmax>(y.device(), 1, layout, y);
      check_close(y, by_rows(exact, 3, 37, 5, softmax_of), tolerance_of(dtype));
      launch<kernels::Softmax>(y.device(), 0, layout, y);
      check_close(y, by_rows(exact, 1, 3, 185, softmax_of), tolerance_of(dtype));
      launch<kernels::LogSoftmax>(y.device(), 1, layout, y);
      check_close(y, by_rows(exact, 3, 37, 5, log_softmax_of), tolerance_of(dtype));
      launch<kernels::LogSoftmax>(y.device(), 2, layout, y);
      check_close(y, by_rows(exact, 111, 5, 1, log_softmax_of), tolerance_of(dtype));
    }
  }
}

TEST_CASE("softmax and its gradients: along an outer axis, for any number of columns") {
  // As many columns as whole stripes have, fewer and more, over several threads, and one row.
  for (const Shape& shape : {Shape{7, 64}, Shape{3, 5, 9}, Shape{2, 6, 131}, Shape{40, 1000}, Shape{1, 70}}) {
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      CAPTURE(to_string(shape));
      CAPTURE(name(dtype));
      const int axis = static_cast<int>(shape.size()) - 2;
      const Array x = wave(shape).astype(dtype), gy = wave(shape, 1).astype(dtype);
      // The same computation over rows, which the tests above check.
      const Array rows = x.swapaxes(axis, axis + 1).contiguous(), gy_rows = gy.swapaxes(axis, axis + 1).contiguous();
      const auto same = [&](const Array& columns, const Array& by_rows) {
        check_close(columns, by_rows.swapaxes(axis, axis + 1).to_vector<double>(), tolerance_of(dtype));
      };
      const Array y = empty_like(x), y_rows = empty_like(rows), gx = empty_like(x), gx_rows = empty_like(rows);
      launch<kernels::Softmax>(x.device(), axis, x, y);
      launch<kernels::Softmax>(x.device(), axis + 1, rows, y_rows);
      same(y, y_rows);
      launch<kernels::SoftmaxGrad>(x.device(), axis, y, gy, gx);
      launch<kernels::SoftmaxGrad>(x.device(), axis + 1, y_rows, gy_rows, gx_rows);
      same(gx, gx_rows);
      launch<kernels::LogSoftmax>(x.device(), axis, x, y);
      launch<kernels::LogSoftmax>(x.device(), axis + 1, rows, y_rows);
      same(y, y_rows);
      launch<kernels::LogSoftmaxGrad>(x.device(), axis, y, gy, gx);
      launch<kernels::LogSoftmaxGrad>(x.device(), axis + 1, y_rows, gy_rows, gx_rows);
      same(gx, gx_rows);
    }
  }
}

TEST_CASE("softmax over many rows of columns loses no more digits than over rows") {
  // One chain of float32 additions would be off by 6e-4 here.
  Values v(50000 * 8, 0.3);
  for (size_t i = 0; i < 8; ++i) v[i] = 1.5;
  const Array x = array(v, {50000, 8}).astype(Dtype::float32), y = empty_like(x), exact = array(v, {50000, 8});
  const Array want = empty_like(exact), gx = empty_like(x), want_gx = empty_like(exact);
  const auto error = [](const Array& got, const Array& right) {  // relative
    return std::abs(got.to_vector<double>()[0] / right.to_vector<double>()[0] - 1);
  };
  launch<kernels::Softmax>(x.device(), 0, x, y);
  launch<kernels::Softmax>(x.device(), 0, exact, want);
  CHECK(error(y, want) < 1e-4);
  launch<kernels::SoftmaxGrad>(x.device(), 0, y, x, gx);  // x: any gradient of one sign
  launch<kernels::SoftmaxGrad>(x.device(), 0, want, exact, want_gx);
  CHECK(error(gx, want_gx) < 1e-4);
  launch<kernels::LogSoftmax>(x.device(), 0, x, y);
  launch<kernels::LogSoftmax>(x.device(), 0, exact, want);
  CHECK(std::abs(y.to_vector<double>()[0] - want.to_vector<double>()[0]) < 1e-4);
  launch<kernels::LogSoftmaxGrad>(x.device(), 0, y, x, gx);
  launch<kernels::LogSoftmaxGrad>(x.device(), 0, want, exact, want_gx);
  CHECK(error(gx, want_gx) < 1e-4);
}

TEST_CASE("softmax: NaN and infinities along an outer axis") {
  std::vector<double> v(3 * 10, 0.5);
  v[0] = std::nan("");
  v[11] = -INFINITY;
  v[22] = INFINITY;
  const Array x = array(v, {3, 10}).astype(Dtype::float32), y = empty_like(x);
  launch<kernels::Softmax>(x.device(), 0, x, y);
  const Values got = y.to_vector<double>();
  CHECK(std::isnan(got[0]));
  CHECK(std::isnan(got[20]));
  CHECK(got[11] == 0);
  CHECK(got[1] == doctest::Approx(0.5));
  CHECK(std::isnan(got[22]));
  CHECK(got[3] == doctest::Approx(1.0 / 3));
}

TEST_CASE("softmax: large, equal and infinite scores") {
  const Array x = array<float>({1000, 1000, -1000, -INFINITY, 5, 5}, {2, 3});
  const Array y = empty_like(x);
  launch<kernels::Softmax>(x.device(), 1, x, y);
  CHECK(y.to_vector<float>() == std::vector<float>{0.5, 0.5, 0, 0, 0.5, 0.5});
  const Array nan = array<float>({1, 2, NAN, 3}, {1, 4}), z = empty_like(nan);
  launch<kernels::Softmax>(x.device(), 1, nan, z);
  for (const float v : z.to_vector<float>()) CHECK(std::isnan(v));
}

TEST_CASE("softmax and log_softmax: gradients against differences") {
  const Array x = wave({4, 6}), gy = wave({4, 6}, 0.3), y = empty_like(x), gx = empty_like(x);
  const auto check = [&](Values (*f)(const Values&)) {
    Values want;
    for (int64_t i = 0; i < 4; ++i) {
      for (const double v : numerical_gradient(x.at(i).to_vector<double>(), gy.at(i).to_vector<double>(), f))
        want.push_back(v);
    }
    check_close(gx, want, 1e-8);
  };
  launch<kernels::Softmax>(x.device(), 1, x, y);
  launch<kernels::SoftmaxGrad>(x.device(), 1, y, gy, gx);
  check(softmax_of);
  launch<kernels::LogSoftmax>(x.device(), 1, x, y);
  launch<kernels::LogSoftmaxGrad>(x.device(), 1, y, gy, gx);
  check(log_softmax_of);
}

TEST_CASE("logsumexp: any axis, no overflow") {
  const Array x = array<double>({1000, 1000, 0, std::log(2.0), -INFINITY, -INFINITY}, {3, 2});
  const Array rows = empty({3}, Dtype::float64), columns = empty({2}, Dtype::float32);
  launch<kernels::Logsumexp>(x.device(), 1, x, rows);
  const Values got = rows.to_vector<double>();
  CHECK(got[0] == doctest::Approx(1000 + std::log(2.0)));
  CHECK(got[1] == doctest::Approx(std::log(3.0)));
  CHECK(got[2] == -INFINITY);
  launch<kernels::Logsumexp>(x.device(), 0, x, columns);
  CHECK(columns.to_vector<double>()[0] == doctest::Approx(1000));
}

TEST_CASE("softmax_cross_entropy: losses, probabilities and gradients") {
  using Options = kernels::SoftmaxCrossEntropyOptions;
  const Array x = wave({2, 3, 4});
  const Array t = array<int32_t>({0, 2, -1, 1, 1, 0, 2, 7}, {2, 4});
  const Array weight = array<float>({0.5, 1, 2});
  const Values p_want = by_rows(x.to_vector<double>(), 2, 3, 4, softmax_of);
  const std::vector<int32_t> labels = t.to_vector<int32_t>();
  for (const Array& class_weight : {Array(), weight}) {
    const Array loss = empty({2, 4}, Dtype::float64), p = empty_like(x), gx = empty_like(x);
    launch<kernels::SoftmaxCrossEntropy>(x.device(), Options{}, x, t, class_weight, loss, p);
    check_close(p, p_want, 1e-14);
    const Values got = loss.to_vector<double>();
    const Array g = array<double>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
    launch<kernels::SoftmaxCrossEntropyGrad>(x.device(), Options{}, p, t, class_weight, g, Array(), gx);
    const Values gradient = gx.to_vector<double>();
    for (size_t i = 0; i < 8; ++i) {
      const size_t n = i / 4, d = i % 4;
      const int label = labels[i];
      const bool used = label >= 0 && label < 3;
      const double w =
          used && class_weight.is_defined() ? std::vector<double>{0.5, 1, 2}[static_cast<size_t>(label)] : 1;
      if (label == -1) CHECK(got[i] == 0);
      if (label == 7) CHECK(std::isnan(got[i]));
      for (size_t c = 0; c < 3; ++c) {
        const double probability = p_want[(n * 3 + c) * 4 + d];
        if (used && c == static_cast<size_t>(label)) CHECK(got[i] == doctest::Approx(-w * std::log(probability)));
        const double want =
            used ? static_cast<double>(i + 1) * w * (probability - (c == static_cast<size_t>(label) ? 1 : 0)) : 0;
        CHECK(gradient[(n * 3 + c) * 4 + d] == doctest::Approx(want).epsilon(1e-12));
      }
    }
  }
  // Without probabilities, another label to ignore, and one factor for all rows.
  const Array rows = array<float>({1, 2, 3, 1, 2, 3}, {2, 3}), t2 = array<int64_t>({2, 0}), loss = empty({2});
  launch<kernels::SoftmaxCrossEntropy>(x.device(), Options{0}, rows, t2, Array(), loss, Array());
  CHECK(loss.to_vector<float>()[0] == doctest::Approx(std::log(std::exp(-2) + std::exp(-1) + 1)));
  CHECK(loss.to_vector<float>()[1] == 0);
  const Array p = empty_like(rows), gx = empty_like(rows);
  launch<kernels::Softmax>(x.device(), 1, rows, p);
  launch<kernels::SoftmaxCrossEntropyGrad>(x.device(), Options{-1}, p, t2, Array(), array<float>({0.5f}, Shape{}),
                                           Array(), gx);
  CHECK(gx.to_vector<float>()[2] == doctest::Approx(0.5 * (p.to_vector<float>()[2] - 1)));
  launch<kernels::SoftmaxCrossEntropyGrad>(x.device(), Options{-1}, p, t2, Array(), array<float>({0.5f}, Shape{}),
                                           array<float>({4}, Shape{}), gx);
  CHECK(gx.to_vector<float>()[2] == doctest::Approx(0.125 * (p.to_vector<float>()[2] - 1)));
}

TEST_CASE("softmax_cross_entropy: the gradient at a label whose probability rounds to 1") {
  const double other = std::exp(-8.0), expected = -2 * other / (1 + 2 * other);
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    for (const int32_t label : {0, 1, 2}) {
      CAPTURE(name(dtype));
      CAPTURE(label);
      Values scores(3);
      scores[static_cast<size_t>(label)] = 8;
      const Array x = array(scores, {1, 3}).astype(dtype), t = array<int32_t>({label}, Shape{1});
      const Array loss = empty({1}, Dtype::float32), p = empty_like(x), gx = empty_like(x);
      const kernels::SoftmaxCrossEntropyOptions options;
      launch<kernels::SoftmaxCrossEntropy>(x.device(), options, x, t, Array(), loss, p);
      launch<kernels::SoftmaxCrossEntropyGrad>(x.device(), options, p, t, Array(), ones({1}), Array(), gx);
      CHECK(gx.to_vector<double>()[static_cast<size_t>(label)] == doctest::Approx(expected).epsilon(1e-2).scale(0));
    }
  }
}

TEST_CASE("mean loss: the labels that count, or a number given") {
  const Array loss = array<float>({1, 0, 3, 5}, {2, 2}), t = array<int32_t>({0, -1, 2, 1}, {2, 2});
  const Array mean = empty({}), divisor = empty({});
  launch<kernels::MeanLoss>(loss.device(), kernels::MeanLossOptions{-1}, loss, t, mean, divisor);
  CHECK(mean.item<float>() == 3);
  CHECK(divisor.item<float>() == 3);
  const Array half = empty({}, Dtype::float16);
  launch<kernels::MeanLoss>(loss.device(), kernels::MeanLossOptions{-1, 2}, loss, t, half, divisor);
  CHECK(half.item<float>() == 4.5);
  CHECK(divisor.item<float>() == 2);
  const Array none = full({2, 2}, -1, Dtype::int32);
  launch<kernels::MeanLoss>(loss.device(), kernels::MeanLossOptions{-1}, zeros_like(loss), none, mean, divisor);
  CHECK(mean.item<float>() == 0);
  CHECK(divisor.item<float>() == 1);
}
