#include "kusari/framework/links/connection/scale.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/links/connection/bilinear.h"
#include "kusari/framework/links/connection/highway.h"

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

TEST_CASE("Highway mixes x and its transform by a gate") {
  L::Highway carried(3, {.init_bt = -100});
  const Array x = array<float>({1, -2, 3, 0, 5, -6}, {2, 3});
  CHECK(carried(x).to_vector<double>() == x.to_vector<double>());
  L::Highway transformed(3, {.activate = functions::tanh, .init_wh = 0, .init_bh = 100, .init_bt = 100});
  CHECK(transformed(x).to_vector<double>() == Values(6, 1));
  CHECK(L::Highway(3).param("/transform/b").to_vector<double>() == Values(3, -1));
  CHECK(L::Highway(3, {.nobias = true}).params().size() == 2);
  const L::Highway copied = transformed;
  CHECK(L::Highway(copied)(x).to_vector<double>() == Values(6, 1));
}

TEST_CASE("Bilinear") {
  L::Bilinear link(2, 1, 1, {.initial_w = 1, .initial_v1 = 10, .initial_v2 = 100, .initial_b = 1000});
  CHECK(link(array<float>({1, 2}, {1, 2}), array<float>({3}, {1, 1})).to_vector<double>() ==
        Values{9 + 30 + 300 + 1000});
  L::Bilinear plain(2, 1, 1, {.nobias = true, .initial_w = 1});
  CHECK(plain(array<float>({1, 2}, {1, 2}), array<float>({3}, {1, 1})).to_vector<double>() == Values{9});
  CHECK(plain.params().size() == 1);
}

}  // namespace
}  // namespace kusari
