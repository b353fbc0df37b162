#include "kusari/framework/functions/normalization/local_response_normalization.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Options = F::LocalResponseNormalizationOptions;
using Values = std::vector<double>;

Values local_response_reference(const Array& x, const Options& o) {
  const Values v = x.to_vector<double>();
  const int64_t n = x.shape()[0], channels = x.shape()[1], pixels = x.size() / (n * channels);
  Values y(v.size());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t p = 0; p < pixels; ++p) {
      const auto at = [&](int64_t c) { return static_cast<size_t>((i * channels + c) * pixels + p); };
      for (int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (int64_t j = std::max<int64_t>(0, c - o.n / 2); j <= std::min(channels - 1, c + o.n / 2); ++j) {
          sum += v[at(j)] * v[at(j)];
        }
        y[at(c)] = v[at(c)] / std::pow(o.k + o.alpha * sum, o.beta);
      }
    }
  }
  return y;
}

const Options kOptions[] = {{},
                            {.n = 3, .k = 1.5, .alpha = 0.3, .beta = 0.6},
                            {.n = 4, .k = 1, .alpha = 0.5},
                            {.n = 1, .alpha = 1},
                            {.n = 99, .alpha = 0.1, .beta = 1}};

TEST_CASE("local_response_normalization: the formula, whatever the dtype and the order in memory") {
  for (const Options& o : kOptions) {
    CAPTURE(o.n);
    for (const Shape& shape : {Shape{2, 7, 3, 2}, {1, 1, 4}, {3, 20}, {2, 37, 30, 20}}) {
      CAPTURE(to_string(shape));
      for (const Dtype dtype : kFloatingDtypes) {
        CAPTURE(name(dtype));
        const Array x = uniform(shape, -2, 2).astype(dtype);
        const Values expected = local_response_reference(x, o);
        check_close(F::local_response_normalization(x, o), shape, expected);
        check_close(F::local_response_normalization(x.transpose().contiguous().transpose(), o), shape, expected);
        if (shape.ndim() < 3) continue;
        const Array last = empty_strided(shape, channels_last_strides(shape), dtype);
        last.copy_from(x);
        const Variable y = F::local_response_normalization(last, o);
        CHECK(has_image_layout(y.array()));
        check_close(y, shape, expected);
      }
    }
  }
}

TEST_CASE("local_response_normalization: derivatives, fused and composed") {
  for (const Options& o : kOptions) {
    CAPTURE(o.n);
    const auto function = [&](const Variable& x) { return F::local_response_normalization(x, o); };
    for (const Shape& shape : {Shape{2, 7, 3}, {1, 1, 2}, {2, 4}, {0, 4, 2}}) {
      CAPTURE(to_string(shape));
      check_gradients(function, uniform(shape, -2, 2));
    }
    const Variable x(uniform({2, 9, 2, 2}, -2, 2)), seed(uniform({2, 9, 2, 2}, -1, 1, 3), false);
    const Variable y = function(x);
    const auto gradient_of = [&](bool record) {
      return grad({y}, {x}, {.grad_outputs = std::span<const Variable>(&seed, 1), .enable_double_backprop = record})[0];
    };
    check_close(gradient_of(false), x.shape(), gradient_of(true).to_vector<double>());
  }
}

TEST_CASE("local_response_normalization says what does not fit") {
  CHECK_THROWS_WITH_AS(F::local_response_normalization(zeros({2, 3}), {.n = 0}),
                       "F::local_response_normalization: n is 0: it must be at least 1", ValueError);
  CHECK_THROWS_WITH_AS(F::local_response_normalization(zeros({2})),
                       "F::local_response_normalization: x has shape (2,): x.ndim must be at least 2 (1 < 2)",
                       TypeError);
}

}  // namespace
}  // namespace kusari
