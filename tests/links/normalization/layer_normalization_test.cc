#include "kusari/framework/links/normalization/layer_normalization.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"

namespace kusari {
namespace L = links;
namespace {

using Values = std::vector<double>;

TEST_CASE("LayerNormalization takes its size from the first batch") {
  L::LayerNormalization link({.initial_gamma = 2});
  CHECK(link.eps == 1e-6);
  const Variable y = link(array<float>({1, 3, -2, 2}, {2, 2}));
  CHECK(link.gamma.shape() == Shape{2});
  const Values values = y.to_vector<double>();
  for (size_t i = 0; i < 4; ++i) CHECK(values[i] == doctest::Approx(i % 2 == 0 ? -2 : 2).epsilon(1e-5));
  CHECK_THROWS_WITH_AS(L::LayerNormalization()(ones({4, 2, 2})),
                       "L::LayerNormalization: x has shape (4, 2, 2): x.ndim must equal 2", TypeError);
  CHECK(L::LayerNormalization(3).gamma.shape() == Shape{3});
}

TEST_CASE("LayerNormalization's parameters are float32 under the mixed dtypes") {
  const auto policy = using_config(&Config::dtype, DtypePolicy(mixed16));
  L::LayerNormalization link(2);
  CHECK(link.gamma.dtype() == Dtype::float32);
  CHECK(link(ones({3, 2}, Dtype::float16)).dtype() == Dtype::float16);
}

}  // namespace
}  // namespace kusari
