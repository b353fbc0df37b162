#include "kusari/framework/links/activation/prelu.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace L = links;
namespace {

using Values = std::vector<double>;

TEST_CASE("PReLU") {
  L::PReLU one;
  CHECK(one.W.shape() == Shape{});
  CHECK(one(array<float>({-4, 4}, {1, 2})).to_vector<double>() == Values{-1, 4});
  L::PReLU channels({.shape = {2}, .init = -1});
  CHECK(channels(array<float>({-4, 4, 5, -6}, {1, 2, 2})).to_vector<double>() == Values{4, 4, 5, 6});
  CHECK_THROWS_AS(channels(ones({1, 3})), ValueError);
}

}  // namespace
}  // namespace kusari
