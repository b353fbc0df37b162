#include "kusari/framework/functions/loss/hinge.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

Array x() { return array<double>({-2, 3, 0.5, 5, 2, -0.5}, {2, 3}, test_device()); }
Array t() { return array<int32_t>({1, 0}, test_device()); }

// Expected values from the examples in Chainer's documentation.
TEST_CASE("hinge") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Variable v = x().astype(dtype);
    CHECK(F::hinge(v, t()).dtype() == dtype);
    check_close(F::hinge(v, t()), {}, {2.5});
    check_close(F::hinge(v, t(), F::HingeNorm::L1, F::Reduce::sum), {}, {5});
    check_close(F::hinge(v, t(), F::HingeNorm::L1, F::Reduce::no), {2, 3}, {0, 0, 1.5, 0, 3, 0.5});
    check_close(F::hinge(v, t(), F::HingeNorm::L2), {}, {5.75});
    check_close(F::hinge(v, array<int64_t>({-2, -3}, test_device())), {}, {2.5});
  }
}

TEST_CASE("gradients of hinge") {
  for (const F::Reduce reduce : {F::Reduce::mean, F::Reduce::sum, F::Reduce::no}) {
    for (const F::HingeNorm norm : {F::HingeNorm::L1, F::HingeNorm::L2}) {
      check_gradients([&](const Variable& v) { return F::hinge(v, t(), norm, reduce); }, x());
    }
  }
  // At the margin the derivative is 0.
  const Variable margin(array<float>({1, -1}, {1, 2}, test_device()));
  CHECK(gradient(F::hinge(margin, array<int32_t>({0}, test_device())), margin) == std::vector<double>{0, 0});
}

TEST_CASE("hinge with wrong arguments") {
  CHECK_THROWS_WITH_AS(F::hinge(x(), x()), "F::hinge: t has dtype float64: t.dtype must be an integer or bool",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::hinge(x(), int_ones({3})),
                       "F::hinge: x has shape (2, 3) but t has shape (3,): x.shape[0] must equal t.shape[0] (2 != 3)",
                       TypeError);
  CHECK_THROWS_AS(F::hinge(uniform({2, 3, 1}, 0, 1), t()), TypeError);
  if (test_device().is_cpu()) {
    CHECK_THROWS_WITH_AS(F::hinge(x(), array<int32_t>({0, 3}, test_device())),
                         "F::hinge: index 3 is out of range for an axis of size 3", IndexError);
  }
}

}  // namespace
}  // namespace kusari
