#include "kusari/framework/links/activation/maxout.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace L = links;
namespace {

using Values = std::vector<double>;

TEST_CASE("Maxout") {
  L::Maxout link(1, 2, 2, {.initial_w = array<float>({1, -1, 2, 3}, {4, 1}), .initial_bias = 0.5});
  CHECK(link(array<float>({2, -2}, {2, 1})).to_vector<double>() == Values{2.5, 6.5, 2.5, -3.5});
  CHECK(link.param("/linear/W").shape() == Shape{4, 1});
  L::Maxout lazy(kInfer, 3, 2, {.nobias = true});
  CHECK(lazy(ones({5, 2, 2})).shape() == Shape{5, 3});
  CHECK(lazy.params().size() == 1);
}

}  // namespace
}  // namespace kusari
