#include "kusari/framework/functions/math/prod.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("prod") {
  const Array x = array<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  check_close(F::prod(x), {}, {720});
  check_close(F::prod(x, 0), {3}, {4, 10, 18});
  check_close(F::prod(x, -1, true), {2, 1}, {6, 120});
  check_close(F::prod(zeros({0, 2}), 0), {2}, {1, 1});
  CHECK_THROWS_WITH_AS(F::prod(int_ones({2})), "F::prod: x has dtype int64: x.dtype must be floating", TypeError);
}

TEST_CASE("prod's gradients") {
  for (const Axes& axis : {Axes(std::nullopt), Axes(1), Axes{0, -1}}) {
    for (const bool keepdims : {false, true}) {
      check_gradients([&](const Variable& x) { return F::prod(x, axis, keepdims); }, uniform({2, 3, 2}, 0.5, 1.5));
    }
  }
  check_gradients([](const Variable& x) { return F::prod(x); }, uniform({}, 0.5, 1.5));
}

TEST_CASE("prod has a gradient at zeros") {
  const Variable x(array<float>({2, 0, 3, 0, 0, 5}, {2, 3}));
  CHECK(gradient(F::prod(x, 1), x) == std::vector<double>{0, 6, 0, 0, 0, 0});
  check_gradients([](const Variable& v) { return F::prod(v, 1); }, array<double>({2, 0, 3, 0, 0, 5}, {2, 3}));
}

}  // namespace
}  // namespace kusari
