#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/threads.h"

using namespace kusari;

namespace {

Array numbers(const Shape& shape, Dtype dtype) { return arange(numel(shape)).reshape(shape).astype(dtype); }

constexpr Dtype kDtypes[] = {Dtype::bool_,   Dtype::uint8,    Dtype::int8,    Dtype::int32,  Dtype::int64,
                             Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

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
