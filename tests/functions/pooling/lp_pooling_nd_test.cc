#include "kusari/framework/functions/pooling/lp_pooling_nd.h"

#include <cmath>
#include <vector>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/functions/pooling/windows_testing.h"

namespace kusari {
namespace {

using namespace testing;
using Values = std::vector<double>;

TEST_CASE("lp_pooling in random geometries") {
  for (unsigned seed = 0; seed < 120; ++seed) {
    const Windows windows = random_windows(seed);
    bool is_empty = false;
    for (int i = 0; i < windows.ndim(); ++i) is_empty = is_empty || windows.out(i) == 0;
    if (is_empty) continue;
    CAPTURE(seed);
    CAPTURE(windows.text());
    const double p = 1 + seed % 4 * 0.75;  // 1, 1.75, 2.5, 3.25
    const Values values = small_integers(numel(windows.x), seed);
    const Variable x(in_some_layout(values, windows.x, seed / 2));
    const Variable y = F::lp_pooling_nd(
        x, PerAxis(windows.ksize),
        {.stride = PerAxis(windows.stride), .pad = PerAxis(windows.pad), .p = p, .cover_all = windows.cover_all});
    Values expected(static_cast<size_t>(numel(windows.y())));
    windows.for_each_place([&](int64_t o, int64_t, int64_t element) {
      if (element >= 0) {
        expected[static_cast<size_t>(o)] += std::pow(std::abs(values[static_cast<size_t>(element)]), p);
      }
    });
    for (double& value : expected) value = std::pow(value, 1 / p);
    CHECK(y.dtype() == x.dtype());
    check_close(y, windows.y(), expected, 4);
  }
}

TEST_CASE("lp_pooling: ONNX's numbers, the Euclidean norm, derivatives") {
  const Array x = arange(16, Dtype::float64, test_device()).reshape({1, 1, 4, 4});
  const Array shifted = x - 6;
  // From onnx.reference of onnx 1.22.0: LpPool of opset 18.
  check_close(F::lp_pooling_nd(shifted, 2, {.stride = 1, .p = 3}), {1, 1, 3, 3},
              {7.047298732, 5.748897079, 4.514357435, 3.530348335, 4.514357435, 5.748897079, 8.406117992, 9.816659156,
               11.26623171},
              1e4);
  check_close(F::lp_pooling_nd(array<float>({3, -4, 5, 12}, {1, 1, 4}), 2), {1, 1, 2}, {5, 13});
  check_close(F::lp_pooling_nd(array<double>({300, -400}, {1, 1, 2}).astype(Dtype::float16), 2), {1, 1, 1}, {500});
  for (const double p : {1.0, 2.0, 3.0}) {
    check_gradients([&](const Variable& v) { return F::lp_pooling_nd(v, 2, {.stride = 1, .pad = 1, .p = p}); },
                    uniform({1, 2, 3, 3}, 0.2, 1));
  }
}

TEST_CASE("lp_pooling's errors") {
  CHECK_THROWS_WITH_AS(F::lp_pooling_nd(zeros({1, 1, 4}), 2, {.p = 0}),
                       "F::lp_pooling_nd: p is 0: it must be positive and finite", ValueError);
  CHECK_THROWS_WITH_AS(F::lp_pooling_nd(int_ones({1, 1, 4}), 2),
                       "F::lp_pooling_nd: x has dtype int64: x.dtype must be floating", TypeError);
  CHECK_THROWS_AS(F::lp_pooling_nd(zeros({1, 1, 4}), 5), ValueError);
}

}  // namespace
}  // namespace kusari
