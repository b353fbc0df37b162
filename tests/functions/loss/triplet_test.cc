#include "kusari/framework/functions/loss/triplet.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

Array anchor() { return array<double>({-2, 3, 0.5, 5, 2, -0.5}, {2, 3}, test_device()); }
Array positive() { return array<double>({-2.1, 2.8, 0.5, 4.9, 2, -0.4}, {2, 3}, test_device()); }
Array negative() { return array<double>({-2.1, 2.7, 0.7, 4.9, 2, -0.7}, {2, 3}, test_device()); }

// Expected values from the examples in Chainer's documentation.
TEST_CASE("triplet") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    CAPTURE(name(dtype));
    const Variable a = anchor().astype(dtype), p = positive().astype(dtype), n = negative().astype(dtype);
    CHECK(F::triplet(a, p, n).dtype() == dtype);
    check_close(F::triplet(a, p, n), {}, {0.14});
    check_close(F::triplet(a, p, n, 0.2, F::Reduce::sum), {}, {0.28});
    check_close(F::triplet(a, p, n, 0.2, F::Reduce::no), {2}, {0.11, 0.17});
    check_close(F::triplet(a, p, n, 0.5), {}, {0.44});
  }
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    const Array a = array<float>({1, 2}, {1, 2}, test_device()).astype(dtype), zero = zeros_like(a);
    check_close(F::triplet(a, zero, a, 1), {}, {6});
  }
  // Axis 1 alone is added up; the mean is over N.
  const Array ones_of = ones({2, 3, 4}, Dtype::float32, test_device());
  check_close(F::triplet(ones_of, zeros_like(ones_of), ones_of, 1, F::Reduce::no), {2, 4}, std::vector<double>(8, 4));
  check_close(F::triplet(ones_of, zeros_like(ones_of), ones_of, 1), {}, {16});
}

TEST_CASE("gradients of triplet") {
  for (const F::Reduce reduce : {F::Reduce::mean, F::Reduce::sum, F::Reduce::no}) {
    check_gradients(
        [&](const Variable& a, const Variable& p, const Variable& n) { return F::triplet(a, p, n, 0.5, reduce); },
        uniform({4, 3}, -1, 1), uniform({4, 3}, -1, 1, 2), uniform({4, 3}, -1, 1, 3));
  }
  const Variable a(ones({1, 1}, Dtype::float32, test_device())), p(ones({1, 1}, Dtype::float32, test_device()));
  const Array n = array<float>({3}, {1, 1}, test_device());
  CHECK(gradient(F::triplet(a, p, n, 4), a) == std::vector<double>{0});  // at the margin
}

TEST_CASE("triplet with wrong arguments") {
  const Variable a = anchor(), p = positive();
  CHECK_THROWS_WITH_AS(F::triplet(a, p, p, 0), "F::triplet: margin is 0: it must be positive", ValueError);
  CHECK_THROWS_WITH_AS(F::triplet(a, p, uniform({2, 2}, 0, 1)),
                       "F::triplet: anchor has shape (2, 3) but negative has shape (2, 2): anchor.shape must equal "
                       "negative.shape",
                       TypeError);
  CHECK_THROWS_AS(F::triplet(a, p, negative().astype(Dtype::float32)), TypeError);
  const Array none = zeros({0, 3}, Dtype::float32, test_device());
  CHECK_THROWS_AS(F::triplet(none, none, none), TypeError);
}

}  // namespace
}  // namespace kusari
