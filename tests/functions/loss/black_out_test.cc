#include "kusari/framework/functions/loss/black_out.h"

#include <cmath>
#include <vector>

#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using F::Reduce;

TEST_CASE("black_out") {
  const std::vector<size_t> labels = {2, 0}, drawn = {1, 3, 3, 2};
  const Array t = array<int>({2, 0}, test_device()), samples = array<int>({1, 3, 3, 2}, {2, 2}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Array x = uniform({2, 3}, -1, 1, 1).astype(dtype), W = uniform({4, 3}, -1, 1, 2).astype(dtype);
    const std::vector<double> a = x.to_vector<double>(), w = W.to_vector<double>();
    std::vector<double> each;
    for (size_t i = 0; i < 2; ++i) {
      const auto exp_score = [&](size_t row) {
        return std::exp(a[3 * i] * w[3 * row] + a[3 * i + 1] * w[3 * row + 1] + a[3 * i + 2] * w[3 * row + 2]);
      };
      const double p = exp_score(labels[i]), q = exp_score(drawn[2 * i]), r = exp_score(drawn[2 * i + 1]);
      const double z = p + q + r;
      each.push_back(-std::log(p / z) - std::log(1 - q / z) - std::log(1 - r / z));
    }
    CHECK(F::black_out(x, t, W, samples).dtype() == dtype);
    check_close(F::black_out(x, t, W, samples), {}, {(each[0] + each[1]) / 2}, 2);
    check_close(F::black_out(x, t, W, samples, Reduce::no), {2}, each, 2);
  }
}

// A drawn word of nearly the whole probability: its 1 - p is what the others have.
TEST_CASE("black_out of scores far apart") {
  const Array t = array<int>({0, 1}, test_device()), samples = array<int>({1, 2, 2, 0}, {2, 2}, test_device());
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    CAPTURE(name(dtype));
    const Variable x(ones({2, 1}, dtype, test_device()));
    const Variable W(array<double>({0, 100, 0}, {3, 1}, test_device()).astype(dtype));
    // -log(p) = 100, -log(1 - p) of the drawn ones = 100 - log(2) and 0; then 0, 0 and 0.
    const Variable y = F::black_out(x, t, W, samples, Reduce::no);
    check_close(y, {2}, {200 - std::log(2.0), 0});
    // Of the first example d / d W = (-3/2, 2, -1/2), and x's is the product with W.
    const Variables g = grad({F::sum(y)}, {x, W});
    check_close(g[0], {2, 1}, {200, 0});
    check_close(g[1], {3, 1}, {-1.5, 2, -0.5});
  }
}

TEST_CASE("black_out's gradients") {
  const Array t = array<int>({2, 0}, test_device()), samples = array<int>({1, 3, 3, 2}, {2, 2}, test_device());
  for (const Reduce reduce : {Reduce::mean, Reduce::no}) {
    check_gradients([&](const Variables& v) { return Variables(F::black_out(v[0], t, v[1], samples, reduce)); },
                    uniform({2, 3}, -1, 1, 1), uniform({4, 3}, -1, 1, 2));
  }
}

TEST_CASE("black_out of what does not fit") {
  const Array x = ones({2, 3}, Dtype::float32, test_device()), W = ones({4, 3}, Dtype::float32, test_device());
  const Array t = zeros({2}, Dtype::int32, test_device());
  CHECK_THROWS_WITH_AS(F::black_out(x, t, W, zeros({3, 2}, Dtype::int32, test_device())),
                       "F::black_out: samples has shape (3, 2) and dtype int32 but x has shape (2, 3): samples must be "
                       "integers (N, S) where x is (N, D)",
                       TypeError);
  const Array samples = zeros({2, 1}, Dtype::int32, test_device());
  CHECK_THROWS_WITH_AS(F::black_out(x, t, W, samples, Reduce::sum), "F::black_out: reduce must be mean or no",
                       ValueError);
  CHECK_THROWS_AS(F::black_out(x, t, ones({4, 2}, Dtype::float32, test_device()), samples), TypeError);
  CHECK_THROWS_AS(F::black_out(x, t, W, Variable()), TypeError);
}

}  // namespace
}  // namespace kusari
