#include "kusari/framework/links/connection/bias.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace L = links;
namespace {

using Values = std::vector<double>;

TEST_CASE("Bias, learnt or given") {
  L::Bias learnt({.shape = Shape{2}});
  learnt.b.array().copy_from(array<float>({10, 20}));
  const Array x = array<float>({1, 2, 3, 4}, {2, 2});
  CHECK(learnt(x).to_vector<double>() == Values{11, 22, 13, 24});
  CHECK_THROWS_WITH_AS(learnt(x, x), "L::Bias: the link has a learnt bias and takes no other", StateError);
  L::Bias given({.axis = 0});
  CHECK(given.params().empty());
  CHECK(given(x, array<float>({10, 20})).to_vector<double>() == Values{11, 12, 23, 24});
  CHECK_THROWS_WITH_AS(given(x), "L::Bias: there is no learnt bias: pass one, or give the link a shape", StateError);
}

}  // namespace
}  // namespace kusari
