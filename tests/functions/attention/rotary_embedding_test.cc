#include "kusari/framework/functions/attention/rotary_embedding.h"

#include <cmath>
#include <vector>

#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::rotary_test {
namespace {
using namespace testing;
}  // namespace

TEST_CASE("rotary_embedding turns pairs by their place") {
  for (const bool interleaved : {false, true}) {
    for (const Dtype dtype : kFloatingDtypes) {
      const Variable x(uniform({2, 3, 5, 6}, -1, 1).astype(dtype));
      const std::vector<double> in = x.to_vector<double>();
      std::vector<double> expected(in.size());
      for (size_t row = 0; row < in.size() / 6; ++row) {
        const double place = static_cast<double>(row % 5) + 7;
        for (size_t i = 0; i < 3; ++i) {
          const double angle = place * std::pow(100.0, -static_cast<double>(i) / 3);
          const size_t a = 6 * row + (interleaved ? 2 * i : i), b = 6 * row + (interleaved ? 2 * i + 1 : i + 3);
          expected[a] = in[a] * std::cos(angle) - in[b] * std::sin(angle);
          expected[b] = in[a] * std::sin(angle) + in[b] * std::cos(angle);
        }
      }
      const Variable y = F::rotary_embedding(x, {.first = 7, .base = 100, .interleaved = interleaved});
      check_close(y.array(), x.shape(), expected, 4);
    }
    check_gradients(
        [&](const Variable& x) {
          const Variable y = F::rotary_embedding(x, {.interleaved = interleaved});
          return F::sum(y * y * y);
        },
        uniform({2, 3, 4}, -1, 1));
  }
}

TEST_CASE("arguments that rotary_embedding refuses") {
  const Variable x(ones({3, 4}, Dtype::float64, test_device()));
  CHECK_THROWS_WITH_AS(F::rotary_embedding(x, {.first = -1}), doctest::Contains("F::rotary_embedding: first is -1"),
                       ValueError);
  CHECK_THROWS_WITH_AS(F::rotary_embedding(x, {.base = 0}), doctest::Contains("F::rotary_embedding: base is 0"),
                       ValueError);
  CHECK_THROWS_WITH_AS(F::rotary_embedding(Variable(ones({3, 5}, Dtype::float64, test_device()))),
                       doctest::Contains("x has shape (3, 5)"), TypeError);
}

}  // namespace kusari::rotary_test
