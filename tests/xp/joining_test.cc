#include "kusari/framework/xp/joining.h"

#include "kusari/framework/core/error.h"
#include "kusari/tests/xp/arrays.h"

using namespace kusari;
using namespace kusari::testing;

TEST_CASE("xp::concatenate and stack along every axis") {
  const Array a = integers({2, 3}, 0, 9, 1), b = integers({2, 3}, 0, 9, 2);
  const std::vector<double> u = numbers(a), v = numbers(b);
  check_equal(xp::concatenate({a, b}), {4, 3},
              {u[0], u[1], u[2], u[3], u[4], u[5], v[0], v[1], v[2], v[3], v[4], v[5]});
  check_equal(xp::concatenate({a, b}, -1), {2, 6},
              {u[0], u[1], u[2], v[0], v[1], v[2], u[3], u[4], u[5], v[3], v[4], v[5]});
  check_equal(xp::stack({a, b}, 2), {2, 3, 2},
              {u[0], v[0], u[1], v[1], u[2], v[2], u[3], v[3], u[4], v[4], u[5], v[5]});
  check_equal(xp::vstack({a.at(0), b.at(0)}), xp::stack({a.at(0), b.at(0)}));
  check_equal(xp::hstack({a.at(0), b.at(0)}), {6}, {u[0], u[1], u[2], v[0], v[1], v[2]});
  CHECK(xp::concatenate({a.astype(Dtype::int32), b.astype(Dtype::float32)}).dtype() == Dtype::float32);
  CHECK(xp::concatenate({a.astype(Dtype::bool_), b.astype(Dtype::uint8)}).dtype() == Dtype::uint8);
  CHECK(xp::concatenate({a, zeros({0, 3}, Dtype::float64, test_device())}).shape() == Shape{2, 3});
  CHECK_THROWS_AS(xp::concatenate({a, b.transpose()}), TypeError);
  CHECK_THROWS_AS(xp::concatenate({a}, 2), IndexError);
  CHECK_THROWS_WITH_AS(xp::stack(std::span<const Array>()), "xp::stack: xs is empty: there must be an array",
                       ValueError);
  CHECK_THROWS_AS(xp::stack({a, Array()}), StateError);
}

TEST_CASE("xp::split gives views") {
  const Array x = integers({6, 2}, 0, 9);
  const Arrays parts = xp::split(x, 3), cut = xp::split(x, {1, 4});
  REQUIRE(parts.size() == 3);
  check_equal(parts[1], x.slice(0, 2, 2));
  REQUIRE(cut.size() == 3);
  check_equal(cut[0], x.slice(0, 0, 1));
  check_equal(cut[2], x.slice(0, 4, 2));
  CHECK_THROWS_AS(xp::split(x, 4), Error);
}

TEST_CASE("xp::tile, repeat, roll, flip and moveaxis") {
  const Array x = array<int32_t>({1, 2, 3, 4, 5, 6}, {2, 3}, test_device());
  check_equal(xp::tile(x, {2}), {2, 6}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  check_equal(xp::tile(x.at(0), {2, 1}), {2, 3}, {1, 2, 3, 1, 2, 3});
  check_equal(xp::repeat(x, 2), {12}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  check_equal(xp::repeat(x, 2, 0), {4, 3}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  for (const int64_t shift : {-7, -1, 0, 1, 2, 3, 8}) {
    std::vector<double> flat, rows;
    for (int64_t i = 0; i < 6; ++i) {
      flat.push_back(static_cast<double>(((i - shift) % 6 + 6) % 6 + 1));
      rows.push_back(static_cast<double>(i / 3 * 3 + ((i % 3 - shift) % 3 + 3) % 3 + 1));
    }
    check_equal(xp::roll(x, shift), {2, 3}, flat);
    check_equal(xp::roll(x, shift, -1), {2, 3}, rows);
  }
  CHECK(xp::roll(zeros({0}), 3).shape() == Shape{0});
  check_equal(xp::flip(x), {2, 3}, {6, 5, 4, 3, 2, 1});
  check_equal(xp::flip(x, 0), {2, 3}, {4, 5, 6, 1, 2, 3});
  CHECK(xp::moveaxis(zeros({2, 3, 4}), 0, -1).shape() == Shape{3, 4, 2});
  CHECK(xp::moveaxis(zeros({2, 3, 4}), -1, 0).shape() == Shape{4, 2, 3});
  CHECK_THROWS_AS(xp::roll(x, 1, 2), IndexError);
  CHECK_THROWS_AS(xp::moveaxis(x, 0, 2), IndexError);
}
