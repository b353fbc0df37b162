#include "kusari/framework/functions/math/average.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("average") {
  const Array x = array<float>({1, 2, 3, 4, 5, 9}, {2, 3});
  check_close(F::average(x), {}, {4});
  check_close(F::mean(x, 0), {3}, {2.5, 3.5, 6});
  check_close(F::average(x, {-1}, {}, true), {2, 1}, {2, 6});
  check_close(F::average(x, {0, 1}), {}, {4});
  CHECK(F::average(ones({4096}, Dtype::float16)).item<float>() == 1);
}

TEST_CASE("average keeps axes that it is told to keep") {
  const Array x = array<float>({1, 2, 3, 5}, {2, 2}, test_device());
  check_close(F::mean(x, 1, true), {2, 1}, {1.5, 4});
  check_close(F::average(x, 0, true), {1, 2}, {2, 3.5});
}

TEST_CASE("weighted average") {
  const Array x = array<float>({1, 2, 3, 4, 5, 9}, {2, 3});
  check_close(F::average(x, 1, array<float>({1, 0, 3})), {2}, {2.5, 7.75});
  check_close(F::average(x, -2, array<float>({1, 3}), true), {1, 3}, {3.25, 4.25, 7.5});
  check_close(F::average(x, std::nullopt, array<float>({1, 0, 0, 0, 0, 1}, {2, 3})), {}, {5});
}

TEST_CASE("a weighted average of 16 bits sums in 32") {
  const Array x = full({2, 300}, 300, Dtype::float16, test_device());
  check_close(F::average(x, 1, full({300}, 250, Dtype::float16, test_device())), {2}, {300, 300});
  check_close(F::average(x, std::nullopt, full({2, 300}, 250, Dtype::float16, test_device())), {}, {300});
}

TEST_CASE("average's gradients") {
  const Array x = uniform({2, 3, 2}, -1, 1);
  for (const Axes& axis : {Axes(std::nullopt), Axes(1), Axes{0, -1}}) {
    check_gradients([&](const Variable& v) { return F::average(v, axis); }, x);
    check_gradients([&](const Variable& v) { return F::average(v, axis, {}, true); }, x);
  }
  check_gradients([](const Variable& v, const Variable& w) { return F::average(v, 1, w); }, x,
                  uniform({3}, 0.5, 1.5, 2));
  check_gradients([](const Variable& v, const Variable& w) { return F::average(v, std::nullopt, w); }, x,
                  uniform({2, 3, 2}, 0.5, 1.5, 2));
}

TEST_CASE("average of what it cannot average") {
  CHECK_THROWS_WITH_AS(F::average(int_ones({2})), "F::average: x has dtype int64: x.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::average(ones({2, 3}), 1, ones({2})),
                       "F::average: x has shape (2, 3) but weights has shape (2,): weights.shape must be (x.shape[1],)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::average(ones({2, 3}), std::nullopt, ones({3})),
                       "F::average: x has shape (2, 3) but weights has shape (3,): without an axis, weights.shape must "
                       "equal x.shape",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::average(ones({2, 3}), {0, 1}, ones({3})),
                       "F::average: axis has 2 axes: with weights it must be one axis or all", ValueError);
}

}  // namespace
}  // namespace kusari
