#include "kusari/framework/functions/array/pad.h"

#include <vector>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;

const F::PadMode kModes[] = {F::PadMode::constant, F::PadMode::edge, F::PadMode::reflect, F::PadMode::symmetric,
                             F::PadMode::wrap};

TEST_CASE("pad: NumPy's modes") {
  const Array x = array<float>({1, 2, 3});
  check_close(F::pad(x, 2), {7}, {0, 0, 1, 2, 3, 0, 0});
  check_close(F::pad(x, {1, 2}, F::PadMode::constant, 0.5), {6}, {0.5, 1, 2, 3, 0.5, 0.5});
  check_close(F::pad(x, {2, 5}, F::PadMode::edge), {10}, {1, 1, 1, 2, 3, 3, 3, 3, 3, 3});
  check_close(F::pad(x, {2, 5}, F::PadMode::reflect), {10}, {3, 2, 1, 2, 3, 2, 1, 2, 3, 2});
  check_close(F::pad(x, {2, 5}, F::PadMode::symmetric), {10}, {2, 1, 1, 2, 3, 3, 2, 1, 1, 2});
  check_close(F::pad(x, {2, 5}, F::PadMode::wrap), {10}, {2, 3, 1, 2, 3, 1, 2, 3, 1, 2});
  check_close(F::pad(array<float>({7}), 2, F::PadMode::reflect), {5}, {7, 7, 7, 7, 7});
  const Array m = array<int>({1, 2, 3, 4}, {2, 2});
  CHECK(F::pad(m, {{1, 0}, {0, 2}}, F::PadMode::constant, 9).to_vector<int>() ==
        std::vector<int>{9, 9, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9});
  CHECK(F::pad(m, {{1, 0}, {0, 1}}, F::PadMode::edge).to_vector<int>() == std::vector<int>{1, 2, 2, 1, 2, 2, 3, 4, 4});
  CHECK(F::pad(m, {{0, 1}}, F::PadMode::wrap).to_vector<int>() == std::vector<int>{1, 2, 1, 3, 4, 3, 1, 2, 1});
  CHECK(F::pad(zeros({}), 3).shape() == Shape{});
  check_close(F::pad(zeros({0, 2}), {{1, 0}, {1, 1}}, F::PadMode::constant, 4), {1, 4}, {4, 4, 4, 4});
}

TEST_CASE("pad keeps the channels innermost") {
  const Array x = empty_strided({2, 3, 4, 5}, channels_last_strides({2, 3, 4, 5}), Dtype::float64);
  x.copy_from(uniform({2, 3, 4, 5}, -1, 1));
  const Variable y = F::pad(x, {{0, 0}, {0, 0}, {1, 2}, {2, 1}});
  CHECK(has_image_layout(y.array()));
  CHECK(y.to_vector<double>() == F::pad(x.contiguous(), {{0, 0}, {0, 0}, {1, 2}, {2, 1}}).to_vector<double>());
}

TEST_CASE("pad takes away what negative widths say, before it adds") {
  const Array x = array<float>({1, 2, 3, 4});
  check_close(F::pad(x, {-1, -2}), {1}, {2});
  check_close(F::pad(x, {-4, 0}), {0}, {});
  check_close(F::pad(x, {-1, 2}), {5}, {2, 3, 4, 0, 0});
  check_close(F::pad(x, {2, -1}, F::PadMode::edge), {5}, {1, 1, 1, 2, 3});
  check_close(F::pad(x, {-1, 2}, F::PadMode::reflect), {5}, {2, 3, 4, 3, 2});
  check_close(F::pad(x, {-1, 2}, F::PadMode::wrap), {5}, {2, 3, 4, 2, 3});
  const Array m = array<int>({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(F::pad(m, {{-1, 1}, {1, -1}}, F::PadMode::constant, 9).to_vector<int>() == std::vector<int>{9, 4, 5, 9, 9, 9});
  for (const F::PadMode mode : kModes) {
    check_gradients([&](const Variable& v) { return F::pad(v, {{-1, 2}, {1, -1}}, mode); }, uniform({3, 3}, -1, 1));
  }
}

TEST_CASE("pad: derivatives in every mode") {
  for (const F::PadMode mode : kModes) {
    const auto pad = [&](const Variable& x) { return F::pad(x, {{1, 2}, {0, 5}}, mode, 0.5); };
    check_gradients(pad, uniform({3, 2}, -1, 1));
  }
  const Variable x(array<float>({1, 2, 3}));
  CHECK(gradient(F::pad(x, {2, 5}, F::PadMode::edge), x) == Values{3, 1, 6});
  CHECK(gradient(F::pad(x, {2, 5}, F::PadMode::constant), x) == Values{1, 1, 1});
}

TEST_CASE("pad says what does not fit") {
  CHECK_THROWS_WITH_AS(F::pad(zeros({2, 3, 4}), {{1, 1}, {1, 1}}),
                       "F::pad: pad_width has 2 pairs but x has 3 axes: there must be one pair or one per axis",
                       ValueError);
  CHECK_THROWS_WITH_AS(
      F::pad(zeros({2}), {-1, -2}),
      "F::pad: pad_width is (-1, -2) but x has shape (2,): that takes away more of axis 0 than there is", ValueError);
  CHECK_THROWS_WITH_AS(F::pad(zeros({2, 0}), 1, F::PadMode::edge),
                       "F::pad: x has shape (4, 0): axis 1 has no elements to repeat", ValueError);
}

}  // namespace
}  // namespace kusari
