#include "kusari/framework/links/connection/scale.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace L = links;
namespace {

using Values = std::vector<double>;

TEST_CASE("Scale, with and without a bias") {
  const Array x = array<float>({1, 2, 3, 4}, {2, 2});
  L::Scale plain({.w_shape = Shape{2}});
  CHECK(plain.params().size() == 1);
  CHECK(plain(x).to_vector<double>() == Values{1, 2, 3, 4});
  CHECK_THROWS_AS(plain(x, x), StateError);
  L::Scale both({.w_shape = Shape{2}, .bias_term = true});
  both.param("/W").array().fill(3);
  both.param("/bias/b").array().copy_from(array<float>({10, 20}));
  CHECK(both(x).to_vector<double>() == Values{13, 26, 19, 32});
  L::Scale given({.axis = 0, .bias_term = true, .bias_shape = Shape{2}});
  given.param("/bias/b").array().copy_from(array<float>({10, 20}));
  CHECK(given(x, array<float>({2, 3})).to_vector<double>() == Values{12, 14, 29, 32});
  CHECK_THROWS_AS(given(x), StateError);
  CHECK_THROWS_WITH_AS(L::Scale({.bias_term = true}),
                       "L::Scale: bias_term is true but there is neither w_shape nor bias_shape", ValueError);
}

}  // namespace
}  // namespace kusari
