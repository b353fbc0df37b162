#include "kusari/framework/functions/activation/softmax.h"

#include <cmath>

#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

// softmax over the middle axis of (outer, n, inner).
std::vector<double> softmax_of(const std::vector<double>& x, size_t outer, size_t n, size_t inner) {
  std::vector<double> y(x.size());
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < inner; ++i) {
      double sum = 0;
      for (size_t k = 0; k < n; ++k) sum += std::exp(x[(o * n + k) * inner + i]);
      for (size_t k = 0; k < n; ++k) y[(o * n + k) * inner + i] = std::exp(x[(o * n + k) * inner + i]) / sum;
    }
  }
  return y;
}

std::vector<double> log_of(std::vector<double> values) {
  for (double& v : values) v = std::log(v);
  return values;
}

struct Case {
  Shape shape;
  int64_t axis;
  size_t outer, n, inner;
};
const Case kCases[] = {{{2, 3}, 1, 2, 3, 1},     {{2, 3}, 0, 1, 2, 3},     {{2, 3, 2, 2}, 1, 2, 3, 4},
                       {{2, 3, 5}, -1, 6, 5, 1}, {{4, 300}, 1, 4, 300, 1}, {{5}, 0, 1, 5, 1},
                       {{0, 3}, 1, 0, 3, 1}};

TEST_CASE("softmax and log_softmax") {
  for (const Case& c : kCases) {
    CAPTURE(to_string(c.shape));
    const Array x = uniform(c.shape, -2, 2);
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array rounded = x.astype(dtype);
      const std::vector<double> y = softmax_of(rounded.to_vector<double>(), c.outer, c.n, c.inner);
      CHECK(F::softmax(rounded, c.axis).dtype() == dtype);
      check_close(F::softmax(rounded, c.axis), c.shape, y);
      check_close(F::softmax(rounded.transpose().contiguous().transpose(), c.axis), c.shape, y);
      check_close(F::log_softmax(rounded, c.axis), c.shape, log_of(y), 4);
      check_close(F::log_softmax(rounded.transpose().contiguous().transpose(), c.axis), c.shape, log_of(y), 4);
    }
    if (c.n < 100) {
      check_gradients([&](const Variable& v) { return F::softmax(v, c.axis); }, x);
      check_gradients([&](const Variable& v) { return F::log_softmax(v, c.axis); }, x);
    }
  }
}

TEST_CASE("softmax does not overflow") {
  const Array x = array<float>({1000, 1000, -1000, 0}, {2, 2});
  check_close(F::softmax(x), {2, 2}, {0.5, 0.5, 0, 1});
  check_close(F::log_softmax(x), {2, 2}, {-std::log(2), -std::log(2), -1000, 0});
}

TEST_CASE("softmax over wrong axes and dtypes") {
  CHECK_THROWS_AS(F::softmax(ones({3})), IndexError);
  CHECK_THROWS_AS(F::log_softmax(ones({3}), -2), IndexError);
  CHECK_THROWS_WITH_AS(F::softmax(int_ones({2, 2})), "F::softmax: x has dtype int64: x.dtype must be floating",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::log_softmax(int_ones({2, 2})), "F::log_softmax: x has dtype int64: x.dtype must be floating",
                       TypeError);
}

}  // namespace
}  // namespace kusari
