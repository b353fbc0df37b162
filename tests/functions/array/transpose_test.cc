#include "kusari/framework/functions/array/transpose.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("transpose") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {1, 2, 3});
  check_close(F::transpose(x), {3, 2, 1}, {1, 4, 2, 5, 3, 6});
  check_close(F::transpose(x, {-1, 0, 1}), {3, 1, 2}, {1, 4, 2, 5, 3, 6});
  CHECK(F::transpose(x).array().raw_data() == x.raw_data());
  CHECK(F::transpose(ones({})).shape() == Shape{});
  check_gradients([](const Variable& v) { return F::transpose(v, {2, 0, 1}); }, uniform({2, 3, 4}, -1, 1));
  CHECK_THROWS_WITH_AS(F::transpose(x, {0, 1}), "F::transpose: axes (0, 1) are not a permutation of the 3 axes of x",
                       ValueError);
  CHECK_THROWS_AS(F::transpose(x, {0, 0, 1}), ValueError);
  CHECK_THROWS_AS(F::transpose(x, {0, 1, 3}), IndexError);
}

TEST_CASE("swapaxes") {
  check_close(F::swapaxes(array<float>({1, 2, 3, 4, 5, 6}, {2, 3}), 0, -1), {3, 2}, {1, 4, 2, 5, 3, 6});
  check_gradients([](const Variable& v) { return F::swapaxes(v, 0, 2); }, uniform({2, 3, 4}, -1, 1));
  CHECK_THROWS_AS(F::swapaxes(ones({2}), 0, 1), IndexError);
}

// Source of the shapes: numpy.moveaxis and numpy.rollaxis on an array of shape (2, 3, 4, 5).
TEST_CASE("moveaxis") {
  const Array x = ones({2, 3, 4, 5});
  CHECK(F::moveaxis(x, 0, -1).shape() == Shape{3, 4, 5, 2});
  CHECK(F::moveaxis(x, -1, 0).shape() == Shape{5, 2, 3, 4});
  const int64_t source[] = {0, 1}, destination[] = {-1, -2};
  CHECK(F::moveaxis(x, source, destination).shape() == Shape{4, 5, 3, 2});
  check_gradients([](const Variable& v) { return F::moveaxis(v, 0, 2); }, uniform({2, 3, 4}, -1, 1));
  const int64_t twice[] = {1, 1};
  CHECK_THROWS_WITH_AS(F::moveaxis(x, twice, destination),
                       "F::moveaxis: an axis is named twice in source (1, 1) or destination (-1, -2)", ValueError);
  CHECK_THROWS_WITH_AS(F::moveaxis(x, source, std::span<const int64_t>(destination, 1)),
                       "F::moveaxis: 2 source axes but 1 destination axes", ValueError);
}

TEST_CASE("rollaxis") {
  const Array x = ones({2, 3, 4, 5});
  CHECK(F::rollaxis(x, 2).shape() == Shape{4, 2, 3, 5});
  CHECK(F::rollaxis(x, 0, 3).shape() == Shape{3, 4, 2, 5});
  CHECK(F::rollaxis(x, 1, 4).shape() == Shape{2, 4, 5, 3});
  CHECK(F::rollaxis(x, 3, 1).shape() == Shape{2, 5, 3, 4});
  CHECK_THROWS_AS(F::rollaxis(x, 4), IndexError);
}

}  // namespace
}  // namespace kusari
