#include "kusari/framework/kernels/pointwise.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/tests/cpu/values.h"

using namespace kusari;

namespace {

using testing::Values;
using testing::values;

/// 0.5, 1.5, 2.5, ... in C order.
Array ramp(const Shape& shape, Dtype dtype = Dtype::float32) {
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i) + 0.5;
  return array(v, shape).astype(dtype);
}

Array channels_last(const Array& x) {
  const Array y = empty_strided(x.shape(), channels_last_strides(x.shape()), x.dtype());
  y.copy_from(x);
  return y;
}

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("pointwise: arithmetic") {
  const Array a = array<float>({1, -2, 3}), b = array<float>({4, 5, -6}), c = array<float>({10, 20, 30});
  CHECK(values(pointwise(kernels::Add{}, a, b)) == Values{5, 3, -3});
  CHECK(values(pointwise(kernels::Sub{}, a, b)) == Values{-3, -7, 9});
  CHECK(values(pointwise(kernels::Mul{}, a, b)) == Values{4, -10, -18});
  CHECK(values(pointwise(kernels::Div{}, a, b)) == Values{0.25, static_cast<double>(-0.4f), -0.5});
  CHECK(values(pointwise(kernels::MulAdd{}, a, b, c)) == Values{14, 10, 12});
  CHECK(values(pointwise(kernels::Neg{}, a)) == Values{-1, 2, -3});
  CHECK(values(pointwise(kernels::AddConst{0.5}, a)) == Values{1.5, -1.5, 3.5});
  CHECK(values(pointwise(kernels::RSubConst{1}, a)) == Values{0, 3, -2});
  CHECK(values(pointwise(kernels::MulConst{2}, a)) == Values{2, -4, 6});
  CHECK(values(pointwise(kernels::DivConst{2}, a)) == Values{0.5, -1, 1.5});
  CHECK(values(pointwise(kernels::RDivConst{6}, a)) == Values{6, -3, 2});
  CHECK(values(pointwise(kernels::Affine{2, 1}, a)) == Values{3, -3, 7});
  CHECK(values(pointwise(kernels::Maximum{}, a, b)) == Values{4, 5, 3});
  CHECK(values(pointwise(kernels::Minimum{}, a, b)) == Values{1, -2, -6});
}

TEST_CASE("pointwise: integers") {
  // Expected: numpy 1.24, np.floor_divide, np.mod and wrapping int8 and int64 arithmetic.
  const Array a = array<int64_t>({7, -7, 7, -7, 5}), b = array<int64_t>({3, 3, -3, -3, 0});
  CHECK(values(pointwise(kernels::FloorDiv{}, a, b)) == Values{2, -3, -3, 2, 0});
  CHECK(values(pointwise(kernels::Mod{}, a, b)) == Values{1, 2, -2, -1, 0});
  const Array x = array<float>({7, -7, 7, -7}), y = array<float>({3, 3, -3, -3});
  CHECK(values(pointwise(kernels::FloorDiv{}, x, y)) == Values{2, -3, -3, 2});
  CHECK(values(pointwise(kernels::Mod{}, x, y)) == Values{1, 2, -2, -1});
  const Array bytes = array<int8_t>({100, -100});
  CHECK(values(pointwise(kernels::Add{}, bytes, bytes)) == Values{-56, 56});
  CHECK(values(pointwise(kernels::Mul{}, array<uint8_t>({16, 17}), array<uint8_t>({16, 16}))) == Values{0, 16});
  CHECK(pointwise(kernels::Add{}, array<int64_t>({INT64_MAX}), array<int64_t>({1})).item<int64_t>() == INT64_MIN);
  CHECK(pointwise(kernels::Pow{}, array<int64_t>({3}), array<int64_t>({4})).item<int64_t>() == 81);
  CHECK(values(pointwise(kernels::Relu{}, array<int32_t>({-3, 4}))) == Values{0, 4});
  CHECK_THROWS_WITH_AS(pointwise(kernels::Exp{}, array<int32_t>({1})), "exp: x has dtype int32 but must be floating",
                       TypeError);
}

TEST_CASE("pointwise: comparisons give bools, and NaN compares unequal") {
  const Array a = array<float>({1, 2, NAN}), b = array<float>({2, 2, 2});
  CHECK(pointwise(kernels::Less{}, a, b).dtype() == Dtype::bool_);
  CHECK(values(pointwise(kernels::Equal{}, a, b)) == Values{0, 1, 0});
  CHECK(values(pointwise(kernels::NotEqual{}, a, b)) == Values{1, 0, 1});
  CHECK(values(pointwise(kernels::Less{}, a, b)) == Values{1, 0, 0});
  CHECK(values(pointwise(kernels::LessEqual{}, a, b)) == Values{1, 1, 0});
  CHECK(values(pointwise(kernels::Greater{}, a, b)) == Values{0, 0, 0});
  CHECK(values(pointwise(kernels::GreaterEqual{}, a, b)) == Values{0, 1, 0});
  CHECK(values(pointwise(kernels::GreaterConst{1.5}, a)) == Values{0, 1, 0});
  CHECK(values(pointwise(kernels::Isnan{}, a)) == Values{0, 0, 1});
  const Array special = array<float>({1, INFINITY, -INFINITY, NAN});
  CHECK(values(pointwise(kernels::Isinf{}, special)) == Values{0, 1, 1, 0});
  CHECK(values(pointwise(kernels::Isfinite{}, special)) == Values{1, 0, 0, 0});
  CHECK(values(pointwise(kernels::Isfinite{}, array<int32_t>({5}))) == Values{1});
  const Array p = array<bool>({true, true, false, false}), q = array<bool>({true, false, true, false});
  CHECK(values(pointwise(kernels::LogicalAnd{}, p, q)) == Values{1, 0, 0, 0});
  CHECK(values(pointwise(kernels::LogicalOr{}, p, q)) == Values{1, 1, 1, 0});
  CHECK(values(pointwise(kernels::LogicalXor{}, p, q)) == Values{0, 1, 1, 0});
  CHECK(values(pointwise(kernels::LogicalNot{}, p)) == Values{0, 0, 1, 1});
  const Array x = array<double>({1, 2, 3, 4}), y = array<double>({-1, -2, -3, -4});
  CHECK(values(pointwise_as(Dtype::float64, kernels::Where{}, p, x, y)) == Values{1, 2, -3, -4});
}

TEST_CASE("pointwise: gradients at ties and kinks are Chainer's") {
  const Array gy = array<float>({10, 20, 30});
  CHECK(values(pointwise(kernels::ReluGrad{}, array<float>({0, 1, -0.0f}), gy)) == Values{0, 20, 0});
  CHECK(values(pointwise(kernels::ClipGrad{-1, 1}, array<float>({-1, 1, 2}), gy)) == Values{10, 20, 0});
  CHECK(values(pointwise(kernels::ClippedReluGrad{2}, array<float>({0, 2, 1}), gy)) == Values{0, 0, 30});
  const Array a = array<float>({1, 2, 3}), b = array<float>({1, 1, 4});
  CHECK(values(pointwise(kernels::MaximumGrad{}, a, b, gy)) == Values{10, 20, 0});
  CHECK(values(pointwise(kernels::MaximumGradSecond{}, a, b, gy)) == Values{0, 0, 30});
  CHECK(values(pointwise(kernels::MinimumGrad{}, a, b, gy)) == Values{10, 0, 30});
  CHECK(values(pointwise(kernels::MinimumGradSecond{}, a, b, gy)) == Values{0, 20, 0});
  CHECK(std::isnan(values(pointwise(kernels::Relu{}, array<float>({NAN})))[0]));
}

TEST_CASE("pointwise: sin and cos of large arguments") {
  const Array x = array<double>({1e7, 1e22, 0.5, -1e300, kInf});
  const Values s = values(pointwise(kernels::Sin{}, x)), c = values(pointwise(kernels::Cos{}, x));
  const Values in = values(x);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(s[i] == doctest::Approx(std::sin(in[i])).epsilon(1e-15));
    CHECK(c[i] == doctest::Approx(std::cos(in[i])).epsilon(1e-15));
  }
  CHECK(std::isnan(s[4]));
}

TEST_CASE("pointwise: broadcasting and strides") {
  const Array x = ramp({2, 3}), row = array<float>({10, 20, 30}), column = array<float>({100, 200}, {2, 1});
  CHECK(values(pointwise(kernels::Add{}, x, row)) == Values{10.5, 21.5, 32.5, 13.5, 24.5, 35.5});
  CHECK(values(pointwise(kernels::Add{}, column, x)) == Values{100.5, 101.5, 102.5, 203.5, 204.5, 205.5});
  CHECK(values(pointwise(kernels::Add{}, column, row)) == Values{110, 120, 130, 210, 220, 230});
  CHECK(values(pointwise(kernels::Mul{}, x, array<float>({2}, Shape{}))) == Values{1, 3, 5, 7, 9, 11});
  const Array t = x.transpose();
  CHECK(values(pointwise(kernels::Neg{}, t)) == Values{-0.5, -3.5, -1.5, -4.5, -2.5, -5.5});
  CHECK(values(pointwise(kernels::Sub{}, t, t.contiguous())) == Values{0, 0, 0, 0, 0, 0});
  const Array reversed = x.slice(1, 2, 3, -1);
  CHECK(values(pointwise(kernels::AddConst{0}, reversed)) == Values{2.5, 1.5, 0.5, 5.5, 4.5, 3.5});
  CHECK(pointwise(kernels::Add{}, empty({0, 3}), row).shape() == Shape{0, 3});
  const Array scalar = array<float>({3}, Shape{});
  CHECK(pointwise(kernels::Add{}, scalar, scalar).shape() == Shape{});
  CHECK(pointwise(kernels::Add{}, scalar, scalar).item<float>() == 6);
  CHECK_THROWS_AS(pointwise(kernels::Add{}, x, array<float>({1, 2})), TypeError);
  CHECK_THROWS_WITH_AS(pointwise_to(row, kernels::Neg{}, x),
                       "neg: x has shape (2, 3) but y has shape (3,): x must broadcast to y", TypeError);
}

TEST_CASE("pointwise: a column for all, and one element") {
  for (const Shape& shape : {Shape{3, 5}, Shape{60, 1000}, Shape{2, 20000}, Shape{4, 3, 700}}) {
    CAPTURE(to_string(shape));
    Shape column = shape;
    column[shape.size() - 1] = 1;
    const Array x = ramp(shape), b = ramp(column), one = array<float>({3});
    const Values xs = values(x), bs = values(b);
    const auto expected = [&](auto&& f) {
      Values v(xs.size());
      const size_t n = static_cast<size_t>(shape.back());
      for (size_t i = 0; i < v.size(); ++i)
        v[i] = static_cast<double>(f(static_cast<float>(xs[i]), static_cast<float>(bs[i / n])));
      return v;
    };
    CHECK(values(pointwise(kernels::Add{}, x, b)) == expected([](float s, float t) { return s + t; }));
    CHECK(values(pointwise(kernels::Sub{}, x, b)) == expected([](float s, float t) { return s - t; }));
    CHECK(values(pointwise(kernels::Mul{}, x, b)) == expected([](float s, float t) { return s * t; }));
    CHECK(values(pointwise(kernels::Div{}, x, b)) == expected([](float s, float t) { return s / t; }));
    CHECK(values(pointwise(kernels::Sub{}, b, x)) == expected([](float s, float t) { return t - s; }));
    CHECK(values(pointwise(kernels::Sub{}, x, one)) == expected([](float s, float) { return s - 3; }));
    // Rows that do not lie together, and one element for all of them.
    const Array half = x.slice(x.ndim() - 1, 0, shape.back() / 2 + 1);
    CHECK(values(pointwise(kernels::Mul{}, half, one)) == values(pointwise(kernels::MulConst{3}, half)));
  }
}

TEST_CASE("pointwise: numbers of channels beside channels-last images of any dtypes") {
  const Dtype dtypes[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64, Dtype::int32};
  for (const int64_t channels : {1, 3, 7, 128, 130}) {
    CAPTURE(channels);
    for (const Dtype of_image : dtypes) {
      for (const Dtype of_channels : dtypes) {
        CAPTURE(name(of_image));
        CAPTURE(name(of_channels));
        const Array image = channels_last(ramp({2, channels, 9, 20}, of_image));
        const Array numbers = ramp({channels, 1, 1}, of_channels);
        const Array gaps = ramp({channels, 3, 1}, of_channels).slice(1, 1, 1);
        const Dtype result = promote(of_image, of_channels);
        for (const Array& x : {numbers, gaps}) {
          const Array wide_image = image.astype(Dtype::float64), wide = x.astype(Dtype::float64);
          CHECK(values(pointwise(kernels::Add{}, image, x)) ==
                values(pointwise(kernels::Add{}, wide_image, wide).astype(result)));
          const Array swapped = empty_like(image.astype(result));  // the repeated rows first
          pointwise_to(swapped, kernels::Sub{}, x, image);
          CHECK(values(swapped) == values(pointwise(kernels::Sub{}, wide, wide_image).astype(result)));
        }
      }
    }
  }
}

TEST_CASE("pointwise: writes into strided results and over operands") {
  const Array base = zeros({4, 3});
  const Array every_second = base.slice(0, 0, 2, 2);
  pointwise_to(every_second, kernels::Add{}, ramp({2, 3}), array<float>({1}));
  CHECK(values(base) == Values{1.5, 2.5, 3.5, 0, 0, 0, 4.5, 5.5, 6.5, 0, 0, 0});
  const Array x = ramp({1000});
  pointwise_to(x, kernels::Mul{}, x, x);
  CHECK(x.to_vector<float>()[999] == 999.5f * 999.5f);
  const Array h = ramp({1000}, Dtype::float16);
  pointwise_to(h, kernels::MulConst{2}, h);
  CHECK(h.to_vector<float>()[7] == 15.0f);
}

TEST_CASE("pointwise: dtypes are promoted, half types are computed in float32") {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    CAPTURE(name(dtype));
    const Array x = array<double>({0.5, 1.0, 2.0, 3.0}).astype(dtype);
    const Array y = pointwise(kernels::Exp{}, x);
    CHECK(y.dtype() == dtype);
    const double tolerance = dtype == Dtype::float64   ? 1e-15
                             : dtype == Dtype::float32 ? 1e-7
                             : dtype == Dtype::float16 ? 5e-4
                                                       : 4e-3;
    const Values got = values(y), in = values(x);
    for (size_t i = 0; i < in.size(); ++i) CHECK(got[i] == doctest::Approx(std::exp(in[i])).epsilon(tolerance));
  }
  const Array f = array<float>({1.5f}), i = array<int32_t>({2}), d = array<double>({0.25});
  CHECK(pointwise(kernels::Add{}, f, i).dtype() == Dtype::float32);
  CHECK(pointwise(kernels::Add{}, f, d).dtype() == Dtype::float64);
  CHECK(pointwise(kernels::Add{}, f, d).item<double>() == 1.75);
  CHECK(pointwise_as(Dtype::float32, kernels::Mul{}, i, i).item<float>() == 4.0f);
}

TEST_CASE("pointwise: results keep the layout of their operands, channels-last first") {
  const Array nchw = ramp({2, 3, 4, 5}), nhwc = channels_last(nchw), bias = ramp({3, 1, 1});
  CHECK(pointwise(kernels::Relu{}, nhwc).strides() == nhwc.strides());
  CHECK(pointwise(kernels::Add{}, nchw, nhwc).strides() == nhwc.strides());
  CHECK(pointwise(kernels::Add{}, nhwc, bias).strides() == nhwc.strides());
  CHECK(pointwise(kernels::Add{}, nchw, bias).is_contiguous());
  CHECK(values(pointwise(kernels::Sub{}, nchw, nhwc)) == Values(120, 0.0));
  CHECK(values(pointwise(kernels::Add{}, nhwc, bias)) == values(pointwise(kernels::Add{}, nchw, bias)));
  const Array t = ramp({5, 7}).transpose();
  CHECK(pointwise(kernels::Relu{}, t).strides() == t.strides());
}

TEST_CASE("pointwise: large arrays, on several threads, equal the same work in pieces") {
  const int before = num_threads();
  set_num_threads(3);
  const int64_t n = 100003;
  const Array x = ramp({n}), y = pointwise(kernels::Sin{}, x), b = ramp({n, 2}, Dtype::float16);
  const Array mixed = pointwise(kernels::Add{}, b, ramp({2}));  // converted block by block
  set_num_threads(before);
  const std::vector<float> got = y.to_vector<float>(), in = x.to_vector<float>();
  for (size_t i = 0; i < got.size(); i += 997)
    CHECK(got[i] == doctest::Approx(std::sin(static_cast<double>(in[i]))).epsilon(1e-5));
  const std::vector<float> sums = mixed.to_vector<float>(), halves = b.to_vector<float>();
  for (size_t i = 0; i < sums.size(); i += 991) CHECK(sums[i] == halves[i] + (i % 2 == 0 ? 0.5f : 1.5f));
}

TEST_CASE("pointwise: every functor of the lists is registered and matches its formula") {
  struct Case {
    Array got;
    double (*formula)(double);
  };
  const Array x = array<double>({-0.9, -0.3, 0.0, 0.2, 0.7});
  const Case cases[] = {
      {pointwise(kernels::Expm1{}, x), [](double v) { return std::expm1(v); }},
      {pointwise(kernels::Log1p{}, x), [](double v) { return std::log1p(v); }},
      {pointwise(kernels::Tan{}, x), [](double v) { return std::tan(v); }},
      {pointwise(kernels::Arcsin{}, x), [](double v) { return std::asin(v); }},
      {pointwise(kernels::Arccos{}, x), [](double v) { return std::acos(v); }},
      {pointwise(kernels::Arctan{}, x), [](double v) { return std::atan(v); }},
      {pointwise(kernels::Sinh{}, x), [](double v) { return std::sinh(v); }},
      {pointwise(kernels::Cosh{}, x), [](double v) { return std::cosh(v); }},
      {pointwise(kernels::Arcsinh{}, x), [](double v) { return std::asinh(v); }},
      {pointwise(kernels::Arctanh{}, x), [](double v) { return std::atanh(v); }},
      {pointwise(kernels::Erf{}, x), [](double v) { return std::erf(v); }},
      {pointwise(kernels::Erfc{}, x), [](double v) { return std::erfc(v); }},
      {pointwise(kernels::Cbrt{}, x), [](double v) { return std::cbrt(v); }},
      {pointwise(kernels::Sigmoid{}, x), [](double v) { return 1 / (1 + std::exp(-v)); }},
      {pointwise(kernels::Tanh{}, x), [](double v) { return std::tanh(v); }},
      {pointwise(kernels::Softplus{2}, x), [](double v) { return std::log1p(std::exp(2 * v)) / 2; }},
      {pointwise(kernels::Elu{1.5}, x), [](double v) { return v >= 0 ? v : 1.5 * std::expm1(v); }},
      {pointwise(kernels::LeakyRelu{0.2}, x), [](double v) { return v >= 0 ? v : 0.2 * v; }},
      {pointwise(kernels::HardSigmoid{}, x), [](double v) { return std::min(std::max(0.2 * v + 0.5, 0.0), 1.0); }},
      {pointwise(kernels::Swish{}, x, ones_like(x)), [](double v) { return v / (1 + std::exp(-v)); }},
      {pointwise(kernels::RPowConst{3}, x), [](double v) { return std::pow(3.0, v); }},
      {pointwise(kernels::PowConst{3}, x), [](double v) { return std::pow(v, 3.0); }},
      {pointwise(kernels::Clip{-0.5, 0.5}, x), [](double v) { return std::min(std::max(v, -0.5), 0.5); }},
      {pointwise(kernels::Floor{}, x), [](double v) { return std::floor(v); }},
      {pointwise(kernels::Ceil{}, x), [](double v) { return std::ceil(v); }},
      {pointwise(kernels::Trunc{}, x), [](double v) { return std::trunc(v); }},
      {pointwise(kernels::Rint{}, x), [](double v) { return std::nearbyint(v); }},
      {pointwise(kernels::Abs{}, x), [](double v) { return std::abs(v); }},
      {pointwise(kernels::Sign{}, x), [](double v) { return static_cast<double>((v > 0) - (v < 0)); }},
      {pointwise(kernels::Square{}, x), [](double v) { return v * v; }},
  };
  const Values in = values(x);
  for (const Case& c : cases) {
    const Values got = values(c.got);
    for (size_t i = 0; i < in.size(); ++i) CHECK(got[i] == doctest::Approx(c.formula(in[i])).epsilon(1e-14));
  }
  const Array z = array<double>({1.5, 4.0});
  CHECK(values(pointwise(kernels::Sqrt{}, z))[1] == 2);
  CHECK(values(pointwise(kernels::Rsqrt{}, z))[1] == 0.5);
  CHECK(values(pointwise(kernels::Log{}, z))[0] == doctest::Approx(std::log(1.5)).epsilon(1e-15));
  CHECK(values(pointwise(kernels::Lgamma{}, z))[1] == doctest::Approx(std::log(6.0)).epsilon(1e-15));
  CHECK(values(pointwise(kernels::Arccosh{}, z))[0] == doctest::Approx(std::acosh(1.5)).epsilon(1e-14));
  CHECK(values(pointwise(kernels::Arctan2{}, z, z))[0] == doctest::Approx(std::atan2(1.5, 1.5)).epsilon(1e-15));
}
