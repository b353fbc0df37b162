#include "kusari/framework/functions/loss/contrastive.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

Array x0() { return array<double>({-2, 3, 0.5, 5, 2, -0.5}, {2, 3}, test_device()); }
Array x1() { return array<double>({-1, 3, 1, 3.5, 0.5, -2}, {2, 3}, test_device()); }
Array alike() { return array<int32_t>({1, 0}, test_device()); }

// Expected values from the examples in Chainer's documentation.
TEST_CASE("contrastive") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Variable a = x0().astype(dtype), b = x1().astype(dtype);
    CHECK(F::contrastive(a, b, alike()).dtype() == dtype);
    check_close(F::contrastive(a, b, alike()), {}, {0.3125});
    check_close(F::contrastive(a, b, alike(), 1, F::Reduce::sum), {}, {0.625});
    check_close(F::contrastive(a, b, alike(), 3), {}, {(1.25 + (3 - std::sqrt(6.75)) * (3 - std::sqrt(6.75))) / 4});
    check_close(F::contrastive(a, b, alike(), 1, F::Reduce::no), {2}, {0.625, 0});
  }
}

TEST_CASE("gradients of contrastive") {
  for (const F::Reduce reduce : {F::Reduce::mean, F::Reduce::sum, F::Reduce::no}) {
    check_gradients([&](const Variable& a, const Variable& b) { return F::contrastive(a, b, alike(), 3, reduce); },
                    x0(), x1());
  }
}

TEST_CASE("contrastive of equal vectors") {
  for (const Dtype dtype : kFloatingDtypes) {
    const Variable a(ones({1, 3}, dtype, test_device())), b(ones({1, 3}, dtype, test_device()));
    const Variable loss = F::contrastive(a, b, zeros({1}, Dtype::int32, test_device()), 2);
    check_close(loss, {}, {2});
    CHECK(gradient(loss, a) == std::vector<double>{0, 0, 0});
    const Variable gx = grad({loss}, {a}, {.enable_double_backprop = true})[0];
    for (const double v : gradient(F::contrastive(gx, b, zeros({1}, Dtype::int32, test_device())), a)) {
      CHECK(std::isfinite(v));
    }
  }
}

TEST_CASE("contrastive with wrong arguments") {
  const Variable a = x0(), b = x1();
  CHECK_THROWS_WITH_AS(F::contrastive(a, b, alike(), 0), "F::contrastive: margin is 0: it must be positive",
                       ValueError);
  CHECK_THROWS_WITH_AS(F::contrastive(a, b, x0()),
                       "F::contrastive: y has dtype float64: y.dtype must be an integer or bool", TypeError);
  CHECK_THROWS_AS(F::contrastive(a, x1().astype(Dtype::float32), alike()), TypeError);
  CHECK_THROWS_AS(F::contrastive(a, b, int_ones({3})), TypeError);
  const Array none = zeros({0, 3}, Dtype::float32, test_device());
  CHECK_THROWS_AS(F::contrastive(none, none, int_ones({0})), TypeError);
}

}  // namespace
}  // namespace kusari
