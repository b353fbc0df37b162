#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/links/activation/maxout.h"
#include "kusari/framework/links/activation/prelu.h"
#include "kusari/framework/links/activation/swish.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/scratch_directory.h"

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

TEST_CASE("Swish") {
  L::Swish one(Shape{});
  CHECK(one(array<float>({0, 100}, {1, 2})).to_vector<double>() == Values{0, 100});
  L::Swish channels(Shape{2}, {.beta_init = 0});
  CHECK(channels(array<float>({3, 5}, {1, 2})).to_vector<double>() == Values{1.5, 2.5});
}

TEST_CASE("Swish may take its shape from the first batch, or from a file") {
  L::Swish link(std::nullopt, {.beta_init = 0});
  CHECK(!link.beta.is_initialized());
  CHECK(link(ones({4, 3, 2})).shape() == Shape{4, 3, 2});
  CHECK(link.beta.shape() == Shape{3, 2});
  CHECK_THROWS_AS(link(ones({4, 2})), ValueError);
  const testing::ScratchDirectory directory;
  serializers::save_npz(directory / "swish.npz", link);
  L::Swish loaded(std::nullopt);
  serializers::load_npz(directory / "swish.npz", loaded);
  CHECK(loaded.beta.to_vector<double>() == Values(6, 0));
}

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
