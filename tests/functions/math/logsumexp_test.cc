#include "kusari/framework/functions/math/logsumexp.h"

#include <cmath>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("logsumexp") {
  const Array x = array<double>({0, 1, 2, 3}, {2, 2});
  const double e = std::exp(1.0);
  check_close(F::logsumexp(x), {}, {std::log(1 + e + e * e + e * e * e)});
  check_close(F::logsumexp(x, 0), {2}, {std::log(1 + e * e), std::log(e + e * e * e)});
  check_close(F::logsumexp(x, -1), {2}, {std::log(1 + e), std::log(e * e + e * e * e)});
  check_close(F::logsumexp(x, {0, 1}), {}, {std::log(1 + e + e * e + e * e * e)});
  check_close(F::logsumexp(array<float>({1000, 1000})), {}, {1000 + std::log(2)});
  check_close(F::logsumexp(array<float>({-1000, -1000})), {}, {-1000 + std::log(2)});
  CHECK(F::logsumexp(x.astype(Dtype::float16)).dtype() == Dtype::float16);
}

TEST_CASE("logsumexp's gradients") {
  for (const Axes& axis : {Axes(std::nullopt), Axes(1), Axes{0, -1}}) {
    check_gradients([&](const Variable& x) { return F::logsumexp(x, axis); }, uniform({2, 3, 4}, -1, 1));
  }
  CHECK_THROWS_WITH_AS(F::logsumexp(int_ones({2})), "F::logsumexp: x has dtype int64: x.dtype must be floating",
                       TypeError);
}

}  // namespace
}  // namespace kusari
