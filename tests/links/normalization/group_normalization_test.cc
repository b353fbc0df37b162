#include "kusari/framework/links/normalization/group_normalization.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/normalization/group_normalization.h"
#include "kusari/framework/links/normalization/layer_normalization.h"

namespace kusari {
namespace L = links;
namespace F = functions;
namespace {

using Values = std::vector<double>;

TEST_CASE("GroupNormalization takes its size from the first batch") {
  L::GroupNormalization link(2, {.eps = 0.5, .initial_gamma = 3, .initial_beta = -1});
  CHECK(!link.gamma.is_initialized());
  const Array x = arange(24).reshape({2, 4, 3});
  const Variable y = link(x);
  CHECK(link.gamma.shape() == Shape{4});
  CHECK(link.gamma.to_vector<double>() == Values{3, 3, 3, 3});
  CHECK(link.beta.to_vector<double>() == Values{-1, -1, -1, -1});
  CHECK(y.to_vector<double>() == F::group_normalization(x, 2, link.gamma, link.beta, 0.5).to_vector<double>());
  CHECK_THROWS_AS(link(ones({2, 6, 3})), TypeError);
  L::GroupNormalization sized(2, 4);
  CHECK(sized.eps == 1e-5);
  CHECK(sized.gamma.to_vector<double>() == Values{1, 1, 1, 1});
  CHECK(sized.beta.to_vector<double>() == Values{0, 0, 0, 0});
  CHECK_THROWS_WITH_AS(L::GroupNormalization(2)(ones({4})),
                       "L::GroupNormalization: x has shape (4,): x.ndim must be at least 2", TypeError);
}

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

TEST_CASE("the parameters of normalizations are float32 under the mixed dtypes") {
  const auto policy = using_config(&Config::dtype, DtypePolicy(mixed16));
  CHECK(L::GroupNormalization(1, 2).gamma.dtype() == Dtype::float32);
  L::LayerNormalization link(2);
  CHECK(link.beta.dtype() == Dtype::float32);
  CHECK(link(ones({3, 2}, Dtype::float16)).dtype() == Dtype::float16);
}

}  // namespace
}  // namespace kusari
