#include "kusari/framework/links/normalization/group_normalization.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/normalization/group_normalization.h"

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

TEST_CASE("GroupNormalization's parameters are float32 under the mixed dtypes") {
  const auto policy = using_config(&Config::dtype, DtypePolicy(mixed16));
  L::GroupNormalization link(1, 2);
  CHECK(link.gamma.dtype() == Dtype::float32);
  CHECK(link(ones({3, 2, 4}, Dtype::float16)).dtype() == Dtype::float16);
}

}  // namespace
}  // namespace kusari
