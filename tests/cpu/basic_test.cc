#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/threads.h"

using namespace kusari;

namespace {

Array numbers(const Shape& shape, Dtype dtype) { return arange(numel(shape)).reshape(shape).astype(dtype); }

constexpr Dtype kDtypes[] = {Dtype::bool_,   Dtype::uint8,    Dtype::int8,    Dtype::int32,  Dtype::int64,
                             Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

/// Bytes that noise fills, and a view of some of them: any order of axes in memory, gaps, and some axes backward.
struct View {
  View(const Shape& shape, Dtype dtype, std::mt19937& random) {
    std::vector<int64_t> order(static_cast<size_t>(shape.ndim()));  // the axis at each place in memory
    std::iota(order.begin(), order.end(), 0);
    if (random() % 4 != 0) std::shuffle(order.begin(), order.end(), random);
    Dims wide, steps, starts;
    for (const int64_t axis : order) {
      const int64_t size = shape[static_cast<int>(axis)], step = random() % 8 == 0 ? 2 : 1, gap = random() % 6 == 0;
      wide.push_back(size * step + gap);
      steps.push_back(size > 0 && random() % 8 == 0 ? -step : step);
      starts.push_back(steps.back() < 0 ? (size - 1) * step : 0);
    }
    all = empty(Shape(wide), dtype);
    view = all;
    std::vector<int64_t> axes(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      const auto axis = static_cast<int64_t>(i);
      view = view.slice(axis, starts[i], shape[static_cast<int>(order[i])], steps[i]);
      axes[static_cast<size_t>(order[i])] = axis;
    }
    view = view.transpose(axes);
    for (char& byte : bytes()) byte = static_cast<char>(random());
  }
  std::span<char> bytes() const { return {all.data<char>(), static_cast<size_t>(all.size() * itemsize(all.dtype()))}; }

  Array all, view;
};

/// One element after the other, into bytes laid out as y's are.
void copy_naively(const View& x, const View& y, char* bytes) {
  const Shape& shape = x.view.shape();
  const int64_t size = itemsize(x.view.dtype());
  for (int64_t i = 0; i < x.view.size(); ++i) {
    int64_t from = 0, to = y.view.data<char>() - y.all.data<char>(), rest = i;
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      from += rest % shape[axis] * x.view.strides()[axis] * size;
      to += rest % shape[axis] * y.view.strides()[axis] * size;
      rest /= shape[axis];
    }
    std::memcpy(bytes + to, x.view.data<char>() + from, static_cast<size_t>(size));
  }
}

}  // namespace

TEST_CASE("copy: between all dtypes and through strides") {
  for (const Dtype from : kDtypes) {
    for (const Dtype to : kDtypes) {
      CAPTURE(name(from));
      CAPTURE(name(to));
      const Array x = numbers({2, 3, 5}, from);
      std::vector<double> want(30);
      const bool flags = from == Dtype::bool_ || to == Dtype::bool_;
      for (size_t i = 0; i < 30; ++i) want[i] = flags ? static_cast<double>(i != 0) : static_cast<double>(i);
      CHECK(x.astype(to).to_vector<double>() == want);
      const Array y = empty({5, 2, 3}, to).transpose({1, 2, 0});  // another memory order
      y.copy_from(x);
      CHECK(y.to_vector<double>() == want);
      const Array wide = zeros({2, 3, 10}, to), every_second = wide.slice(2, 9, 5, -2);
      every_second.copy_from(x);
      CHECK(every_second.to_vector<double>() == want);
      CHECK(wide.to_vector<double>()[0] == 0);
    }
  }
}

TEST_CASE("copy: any shape from any memory order to any other, with any number of threads") {
  std::mt19937 random(3);
  const int before = num_threads();
  for (int i = 0; i < 3000; ++i) {
    set_num_threads(1 + i % 3);
    Dims shape;
    constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 65, 129, 200, 300};
    const auto ndim = static_cast<int>(random() % 6);
    for (int64_t axis = 0, size = 1; axis < ndim; ++axis) {
      const int64_t n = random() % 40 == 0 ? 0 : kSizes[random() % std::size(kSizes)];
      shape.push_back(size * n <= 100'000 ? n : 1 + n % 2);
      size *= std::max<int64_t>(shape.back(), 1);
    }
    CAPTURE(i);
    CAPTURE(shape);
    constexpr Dtype kOfEachSize[] = {Dtype::uint8, Dtype::bfloat16, Dtype::int32, Dtype::float64};
    const Dtype dtype = kOfEachSize[random() % 4];
    const View x(Shape(shape), dtype, random), y(Shape(shape), dtype, random);
    std::vector<char> want(y.bytes().begin(), y.bytes().end());
    copy_naively(x, y, want.data());
    y.view.copy_from(x.view);
    REQUIRE(std::equal(want.begin(), want.end(), y.bytes().begin()));
  }
  set_num_threads(before);
}

TEST_CASE("copy: converting between memory orders") {
  for (const auto& [from, to] : {std::pair{Dtype::uint8, Dtype::float32}, {Dtype::float64, Dtype::float16}}) {
    const Array x = (arange(2 * 70 * 133, Dtype::int32).astype(from)).reshape({2, 70, 7, 19});
    const Array y = empty_channels_last(x.shape(), to, x.device()), z = empty(x.shape(), from);
    y.copy_from(x);
    CHECK(y.to_vector<double>() == x.astype(to).to_vector<double>());
    z.copy_from(y);
    CHECK(z.to_vector<double>() == x.astype(to).to_vector<double>());
  }
}

TEST_CASE("copy: conversions round and wrap") {
  const Array x = array<float>({1.5f, -1.5f, 300.7f, -0.9f});
  CHECK(x.astype(Dtype::int32).to_vector<int64_t>() == std::vector<int64_t>{1, -1, 300, 0});
  CHECK(x.astype(Dtype::uint8).to_vector<int64_t>() == std::vector<int64_t>{1, 255, 44, 0});
  CHECK(array<int64_t>({257, -1}).astype(Dtype::uint8).to_vector<int64_t>() == std::vector<int64_t>{1, 255});
  CHECK(array<double>({0.1}).astype(Dtype::float32).item<float>() == 0.1f);
  CHECK(array<float>({2049}).astype(Dtype::float16).item<float>() == 2048.0f);
  CHECK(array<float>({NAN, 0.0f, -0.0f}).astype(Dtype::bool_).to_vector<int64_t>() == std::vector<int64_t>{1, 0, 0});
}

TEST_CASE("copy: large arrays on several threads") {
  const int before = num_threads();
  set_num_threads(3);
  const Array x = arange(200'001, Dtype::int32), y = x.astype(Dtype::float64);
  const Array matrix = arange(300 * 400).reshape({300, 400}), t = matrix.transpose().contiguous();
  set_num_threads(before);
  const std::vector<double> got = y.to_vector<double>();
  for (size_t i = 0; i < got.size(); ++i) REQUIRE(got[i] == static_cast<double>(i));
  const std::vector<float> transposed = t.to_vector<float>();
  for (size_t i = 0; i < transposed.size(); ++i) REQUIRE(transposed[i] == static_cast<float>(i % 300 * 400 + i / 300));
}

TEST_CASE("fill: every dtype, strided and large") {
  for (const Dtype dtype : kDtypes) {
    CAPTURE(name(dtype));
    CHECK(full({3}, 1, dtype).to_vector<double>() == std::vector<double>{1, 1, 1});
  }
  const Array x = zeros({4, 4});
  x.slice(1, 0, 2, 2).fill(2.5);
  CHECK(x.to_vector<float>() == std::vector<float>{2.5, 0, 2.5, 0, 2.5, 0, 2.5, 0, 2.5, 0, 2.5, 0, 2.5, 0, 2.5, 0});
  for (const float v : full({100'000}, -3, Dtype::float32).to_vector<float>()) REQUIRE(v == -3);
  CHECK(full({2}, int64_t{1} << 60, Dtype::int64).to_vector<int64_t>()[1] == int64_t{1} << 60);
}

TEST_CASE("arange: dtypes and strides") {
  CHECK(arange(4, Dtype::float16).to_vector<double>() == std::vector<double>{0, 1, 2, 3});
  CHECK(arange(3, Dtype::int64).to_vector<int64_t>() == std::vector<int64_t>{0, 1, 2});
  CHECK(arange(0).size() == 0);
}
