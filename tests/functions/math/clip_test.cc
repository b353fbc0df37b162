#include "kusari/framework/functions/math/clip.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("clip") {
  check_unary(
      "clip", [](const Variable& x) { return F::clip(x, -0.5, 1.25); },
      [](double x) { return std::fmin(std::fmax(x, -0.5), 1.25); }, -2, 2);
}

TEST_CASE("clip has derivative 1 at both bounds") {
  const Variable x(array<float>({-1.5f, -1, 0, 1, 1.5f}));
  CHECK(gradient(F::clip(x, -1, 1), x) == std::vector<double>{0, 1, 1, 1, 0});
  CHECK_THROWS_WITH_AS(F::clip(x, 1, -1), "F::clip: x_min 1 must be at most x_max -1", ValueError);
}

TEST_CASE("clip with an open bound") {
  const double inf = HUGE_VAL;
  const Variable x(array<float>({-3, -1, 0.5f, 1, 4, std::nanf("")}));
  check_close(F::clip(x, std::nullopt, 1.0), {6}, {-3, -1, 0.5, 1, 1, std::nan("")});
  check_close(F::clip(x, -1, std::nullopt), {6}, {-1, -1, 0.5, 1, 4, std::nan("")});
  CHECK(gradient(F::clip(x, std::nullopt, 1), x) == std::vector<double>{1, 1, 1, 1, 0, 0});
  CHECK(gradient(F::clip(x, -1.0, std::nullopt), x) == std::vector<double>{0, 1, 1, 1, 1, 0});
  const Variable infinite(array<float>({static_cast<float>(-inf), static_cast<float>(inf)}));
  check_close(F::clip(infinite, std::nullopt, 2), {2}, {-inf, 2});
  check_close(F::clip(infinite, 2, {}), {2}, {2, inf});
  for (const bool open_below : {false, true}) {
    check_gradients(
        [&](const Variable& v) { return open_below ? F::clip(v, std::nullopt, 0.25) : F::clip(v, 0.25, std::nullopt); },
        uniform({2, 3}, -1, 1));
  }
  CHECK_THROWS_WITH_AS(F::clip(x, std::nullopt, std::nullopt),
                       "F::clip: x_min and x_max are both open: one of them must be a number", ValueError);
  CHECK_THROWS_AS(F::clip(x, std::nan(""), std::nullopt), ValueError);
}

}  // namespace
}  // namespace kusari
