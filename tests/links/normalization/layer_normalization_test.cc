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
  CHECK_THROWS_WITH_AS(L::LayerNormalization()(ones({})),
                       "L::LayerNormalization: x has shape (): x.ndim must be at least 1", TypeError);
  CHECK(L::LayerNormalization(3).gamma.shape() == Shape{3});
}

TEST_CASE("LayerNormalization of the last axes") {
  L::LayerNormalization last;  // of the last axis, however many come before
  const Variable y = last(array<float>({1, 3, -2, 2, 0, 4}, {1, 3, 2}));
  CHECK(last.gamma.shape() == Shape{2});
  const Values values = y.to_vector<double>();
  for (size_t i = 0; i < 6; ++i) CHECK(values[i] == doctest::Approx(i % 2 == 0 ? -1 : 1).epsilon(1e-5));

  L::LayerNormalization link({3, 2}, {.eps = 1e-5, .initial_beta = 1});
  CHECK(link.eps == 1e-5);
  CHECK(link.gamma.shape() == Shape{3, 2});
  CHECK(link.beta.shape() == Shape{3, 2});
  const Variable z = link(array<float>({1, -1, 1, -1, 1, -1, 4, 2, 4, 2, 4, 2}, {2, 3, 2}));
  CHECK(z.shape() == Shape{2, 3, 2});
  const Values one = z.to_vector<double>();
  for (size_t i = 0; i < 12; ++i) CHECK(one[i] == doctest::Approx(i % 2 == 0 ? 2 : 0).epsilon(1e-5).scale(1));

  L::LayerNormalization inferred(Shape{kInfer, 2});
  CHECK(inferred(ones({4, 3, 2})).shape() == Shape{4, 3, 2});
  CHECK(inferred.gamma.shape() == Shape{3, 2});
  CHECK_THROWS_WITH_AS(link(ones({2})), "L::LayerNormalization: x has shape (2,): x.ndim must be at least 2",
                       TypeError);
  CHECK_THROWS_AS(link(ones({3, 3})), TypeError);
  CHECK_THROWS_AS(L::LayerNormalization(Shape{}), ValueError);
  CHECK_THROWS_AS(L::LayerNormalization(Shape{3, -2}), ValueError);
}

TEST_CASE("LayerNormalization's parameters are float32 under the mixed dtypes") {
  const auto policy = using_config(&Config::dtype, DtypePolicy(mixed16));
  L::LayerNormalization link(2);
  CHECK(link.gamma.dtype() == Dtype::float32);
  CHECK(link(ones({3, 2}, Dtype::float16)).dtype() == Dtype::float16);
}

}  // namespace
}  // namespace kusari
