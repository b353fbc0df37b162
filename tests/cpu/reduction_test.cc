#include "kusari/framework/kernels/reduce.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/tests/cpu/values.h"

using namespace kusari;

namespace {

using testing::Values;
using testing::values;

Array small_integers(const Shape& shape) {  // sums are exact in every dtype but bool
  std::vector<double> v(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i * 7 % 5) - 1.0;
  return array(v, shape);
}

/// The same reduction element by element in double, over the logical order.
template <class Combine>
Values reference(const Array& x, AxisMask axes, double identity, const Combine& combine) {
  const Shape kept = reduced_shape(x.shape(), axes, true);
  const Strides strides = contiguous_strides(kept);
  Values result(static_cast<size_t>(numel(kept)), identity);
  const Values in = values(x);
  const Strides own = contiguous_strides(x.shape());
  for (size_t i = 0; i < in.size(); ++i) {
    int64_t place = 0;
    for (int axis = 0; axis < x.ndim(); ++axis) {
      if (!axes.contains(axis)) place += static_cast<int64_t>(i) / own[axis] % x.shape()[axis] * strides[axis];
    }
    double& to = result[static_cast<size_t>(place)];
    to = combine(to, in[i]);
  }
  return result;
}

double add(double a, double b) { return a + b; }

}  // namespace

TEST_CASE("reduction: sums over every set of axes, in every layout and dtype") {
  const Array x = small_integers({3, 4, 5, 6});
  const Array channels_last = empty_strided(x.shape(), channels_last_strides(x.shape()), Dtype::float64);
  channels_last.copy_from(x);
  const Array permuted = small_integers({6, 3, 5, 4}).transpose({1, 3, 2, 0});
  const Array strided = small_integers({3, 8, 5, 12}).slice(1, 1, 4, 2).slice(3, 10, 6, -2);
  const Array broadcast = small_integers({4, 1, 6}).broadcast_to({3, 4, 5, 6});
  for (const Array& layout : {x, channels_last, permuted, strided, broadcast}) {
    for (const Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::float16, Dtype::bfloat16, Dtype::int32}) {
      const Array in = empty_like(layout, dtype);
      in.copy_from(layout);
      for (const Array& operand : {in, dtype == Dtype::float64 ? layout : in}) {
        for (uint32_t bits = 0; bits < 16; ++bits) {
          CAPTURE(bits);
          CAPTURE(name(dtype));
          const AxisMask axes{bits};
          const Dtype wide = is_floating(dtype) ? Dtype::float64 : Dtype::int64;
          CHECK(values(reduce_as(wide, kernels::Sum{}, operand, axes)) == reference(layout, axes, 0, add));
        }
      }
    }
  }
  CHECK(reduce(kernels::Sum{}, x, AxisMask{0b0101}).shape() == Shape{4, 6});
  CHECK(reduce(kernels::Sum{}, x, AxisMask{0b0101}, true).shape() == Shape{1, 4, 1, 6});
}

TEST_CASE("reduction: every reducer") {
  const Array x = array<float>({1, -2, 3, 4, 0.5f, -6}, {2, 3});
  const AxisMask last = AxisMask::of(1);
  CHECK(values(reduce(kernels::Sum{}, x, last)) == Values{2, -1.5});
  CHECK(values(reduce(kernels::Mean{}, x, AxisMask::of(0))) == Values{2.5, -0.75, -1.5});
  CHECK(values(reduce(kernels::SquareSum{}, x, last)) == Values{14, 52.25});
  CHECK(values(reduce(kernels::SumOfAbs{}, x, last)) == Values{6, 10.5});
  CHECK(values(reduce(kernels::Prod{}, x, last)) == Values{-6, -12});
  CHECK(values(reduce(kernels::Max{}, x, last)) == Values{3, 4});
  CHECK(values(reduce(kernels::Min{}, x, last)) == Values{-2, -6});
  CHECK(reduce(kernels::Max{}, x).item<float>() == 4);
  CHECK(values(reduce(kernels::Max{}, array<int64_t>({-5, -3}))) == Values{-3});
  const Array flags = array<bool>({true, true, true, false}, {2, 2});
  CHECK(values(reduce(kernels::All{}, flags, last)) == Values{1, 0});
  CHECK(values(reduce(kernels::Any{}, flags, AxisMask::of(0))) == Values{1, 1});
  CHECK(reduce(kernels::All{}, flags).dtype() == Dtype::bool_);
  CHECK(reduce(kernels::CountNonfinite{}, array<float>({1, NAN, -INFINITY, 2})).item<float>() == 2);
}

TEST_CASE("reduction: NaN wins in max and min wherever it stands") {
  for (size_t place : {0, 1, 63, 64, 99}) {
    std::vector<float> v(100, 1.0f);
    v[place] = NAN;
    CHECK(std::isnan(reduce(kernels::Max{}, array(v)).item<float>()));
    CHECK(std::isnan(reduce(kernels::Min{}, array(v, {4, 25}), AxisMask::of(0)).to_vector<float>()[place % 25]));
  }
}

TEST_CASE("reduction: empty axes and empty results") {
  const Array x = empty({0, 3});
  CHECK(values(reduce(kernels::Sum{}, x, AxisMask::of(0))) == Values{0, 0, 0});
  CHECK(std::isnan(values(reduce(kernels::Mean{}, x, AxisMask::of(0)))[0]));
  CHECK(reduce(kernels::Sum{}, x, AxisMask::of(1)).size() == 0);
  CHECK(values(reduce(kernels::Sum{}, array<float>({3}, Shape{}))) == Values{3});
}

TEST_CASE("reduction: float32 sums of many elements stay accurate") {
  const int64_t n = 10'000'000;
  CHECK(reduce(kernels::Sum{}, ones({n})).item<float>() == 1e7f);
  const Array tenth = full({n}, 0.1f, Dtype::float32);
  const double exact = static_cast<double>(0.1f) * 1e7;
  // Equal terms round alike: the bound is one rounding (2^-24) per addition behind an element, 32 in a lane and 26 in
  // the trees here, 256 in a group of rows and 12 in the tree below. One running sum would be off by 8 %.
  CHECK(std::abs(reduce(kernels::Sum{}, tenth).item<float>() / exact - 1) < 58 * 0x1p-24);
  const Array columns = reduce(kernels::Sum{}, tenth.reshape({n / 10, 10}), AxisMask::of(0));
  for (const float sum : columns.to_vector<float>()) CHECK(std::abs(sum / (exact / 10) - 1) < 268 * 0x1p-24);
}

TEST_CASE("reduction: the same bits for every number of threads") {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> v(300'000);
  for (float& e : v) e = normal(generator);
  const Array x = array(v, {100, 3000});
  const int before = num_threads();
  for (const AxisMask axes : {AxisMask{1}, AxisMask{2}, AxisMask{3}}) {
    set_num_threads(1);
    const std::vector<float> expected = reduce(kernels::Sum{}, x, axes).to_vector<float>();
    set_num_threads(3);
    CHECK(reduce(kernels::Sum{}, x, axes).to_vector<float>() == expected);
  }
  set_num_threads(before);
}

TEST_CASE("reduction: integers where a floating dtype is needed") {
  CHECK_THROWS_WITH_AS(reduce(kernels::Mean{}, array<int32_t>({1})), "mean: x has dtype int32 but must be floating",
                       TypeError);
  const int64_t axes[] = {0, -1, 1};
  CHECK(axis_mask(std::span(axes, 2), 3, "F::sum").bits == 0b101);
  CHECK_THROWS_AS(axis_mask(std::span(axes, 1), 0, "F::sum"), IndexError);
  CHECK_THROWS_WITH_AS(axis_mask(axes, 2, "F::sum"), "F::sum: axis 1 comes twice", ValueError);
}

TEST_CASE("argmax and argmin: the first of equals, NaN before all") {
  const auto places = [](const Array& x, int axis, bool largest) {
    Shape shape;
    for (int i = 0; i < x.ndim(); ++i) {
      if (i != axis && axis >= 0) shape.push_back(x.shape()[i]);
    }
    const Array y = empty(shape, Dtype::int32);
    if (largest) {
      launch<kernels::Argmax>(x.device(), axis, x, y);
    } else {
      launch<kernels::Argmin>(x.device(), axis, x, y);
    }
    return values(y);
  };
  const Array x = array<float>({1, 5, 5, 7, 2, 2}, {2, 3});
  CHECK(places(x, 1, true) == Values{1, 0});
  CHECK(places(x, 1, false) == Values{0, 1});
  CHECK(places(x, 0, true) == Values{1, 0, 0});
  CHECK(places(x, -1, true) == Values{3});
  CHECK(places(x.transpose(), 0, true) == Values{1, 0});
  CHECK(places(x.transpose(), -1, true) == Values{1});
  CHECK(places(array<float>({1, NAN, 9, NAN}), 0, true) == Values{1});
  CHECK(places(array<float>({1, NAN, -9, NAN}), 0, false) == Values{1});
  CHECK(places(array<int64_t>({-4, -4, -9}), 0, false) == Values{2});
  std::vector<double> long_row(1000, 1.0);
  long_row[700] = 2.0;
  CHECK(places(array(long_row), 0, true) == Values{700});
  CHECK(places(array(long_row, {1000, 1}).broadcast_to({1000, 3}), 0, true) == Values{700, 700, 700});
}
