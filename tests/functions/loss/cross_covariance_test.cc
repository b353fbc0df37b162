#include "kusari/framework/functions/loss/cross_covariance.h"

#include "kusari/framework/functions/loss/decov.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

constexpr auto kNo = F::CovarianceReduce::no;

// Centred: (-1, 2), (0, -2), (1, 0) and (1), (0), (-1).
Array y() { return array<double>({1, 4, 2, 0, 3, 2}, {3, 2}, test_device()); }
Array z() { return array<double>({6, 5, 4}, {3, 1}, test_device()); }

TEST_CASE("cross_covariance") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Variable a = y().astype(dtype), b = z().astype(dtype);
    CHECK(F::cross_covariance(a, b).dtype() == dtype);
    check_close(F::cross_covariance(a, b, kNo), {2, 1}, {-2.0 / 3, 2.0 / 3});
    check_close(F::cross_covariance(a, b), {}, {4.0 / 9});
  }
  const auto matrix = [](const Variable& a, const Variable& b) { return F::cross_covariance(a, b, kNo); };
  const auto scalar = [](const Variable& a, const Variable& b) { return F::cross_covariance(a, b); };
  check_gradients(matrix, uniform({4, 3}, -1, 1), uniform({4, 2}, -1, 1, 2));
  check_gradients(scalar, uniform({4, 3}, -1, 1), uniform({4, 2}, -1, 1, 2));
  CHECK_THROWS_WITH_AS(F::cross_covariance(y(), uniform({2, 1}, 0, 1)),
                       "F::cross_covariance: y has shape (3, 2) but z has shape (2, 1): y.shape[0] must equal "
                       "z.shape[0] (3 != 2)",
                       TypeError);
  CHECK_THROWS_AS(F::cross_covariance(y(), z().astype(Dtype::float32)), TypeError);
  CHECK_THROWS_AS(F::cross_covariance(int_ones({3, 1}), int_ones({3, 1})), TypeError);
}

TEST_CASE("decov") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Variable h = y().astype(dtype);
    CHECK(F::decov(h).dtype() == dtype);
    check_close(F::decov(h, kNo), {2, 2}, {0, -2.0 / 3, -2.0 / 3, 0});
    check_close(F::decov(h), {}, {4.0 / 9});
  }
  check_gradients([](const Variable& h) { return F::decov(h, kNo); }, uniform({4, 3}, -1, 1));
  check_gradients([](const Variable& h) { return F::decov(h); }, uniform({4, 3}, -1, 1));
  // The variances, however large, are no part of it.
  const Array large = array<float>({1e30f, 0, -1e30f, 0}, {2, 2}, test_device());
  CHECK(F::decov(large, kNo).to_vector<double>() == std::vector<double>{0, 0, 0, 0});
  CHECK_THROWS_WITH_AS(F::decov(int_ones({2, 2})), "F::decov: h has dtype int64: h.dtype must be floating", TypeError);
  CHECK_THROWS_AS(F::decov(ones({2}, Dtype::float32, test_device())), TypeError);
}

}  // namespace
}  // namespace kusari
