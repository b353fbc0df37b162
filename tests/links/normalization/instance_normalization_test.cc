#include "kusari/framework/links/normalization/instance_normalization.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/normalization/instance_normalization.h"

namespace kusari {
namespace L = links;
namespace F = functions;
namespace {

using Values = std::vector<double>;

TEST_CASE("InstanceNormalization takes its size from the first batch") {
  L::InstanceNormalization link({.eps = 0.5, .initial_gamma = 3, .initial_beta = -1});
  CHECK(!link.gamma.is_initialized());
  const Array x = arange(24).reshape({2, 4, 3});
  const Variable y = link(x);
  CHECK(link.gamma.to_vector<double>() == Values{3, 3, 3, 3});
  CHECK(link.beta.to_vector<double>() == Values{-1, -1, -1, -1});
  CHECK(y.to_vector<double>() == F::instance_normalization(x, link.gamma, link.beta, {.eps = 0.5}).to_vector<double>());
  CHECK_THROWS_AS(link(ones({2, 6, 3})), TypeError);
  L::InstanceNormalization sized(4);
  CHECK(sized.eps == 1e-5);
  CHECK(sized.gamma.to_vector<double>() == Values{1, 1, 1, 1});
  CHECK(sized.beta.to_vector<double>() == Values{0, 0, 0, 0});
  CHECK_THROWS_WITH_AS(L::InstanceNormalization()(ones({4, 2})),
                       "L::InstanceNormalization: x has shape (4, 2): x.ndim must be at least 3", TypeError);
}

TEST_CASE("InstanceNormalization's parameters are float32 under the mixed dtypes") {
  const auto policy = using_config(&Config::dtype, DtypePolicy(mixed16));
  L::InstanceNormalization link(2);
  CHECK(link.gamma.dtype() == Dtype::float32);
  CHECK(link(ones({3, 2, 4}, Dtype::float16)).dtype() == Dtype::float16);
}

}  // namespace
}  // namespace kusari
