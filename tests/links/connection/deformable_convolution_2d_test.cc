#include "kusari/framework/links/connection/deformable_convolution_2d.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/initializers/normal.h"

namespace kusari::testing {
namespace {

std::vector<std::string> paths(Link& link) {
  std::vector<std::string> all;
  for (const auto& [path, param] : link.namedparams()) all.push_back(path);
  return all;
}

TEST_CASE("DeformableConvolution2D is a convolution where nothing is moved") {
  L::DeformableConvolution2D link(
      3, 4, 3, {.stride = 2, .pad = 1, .offset_initial_w = 0, .deform_initial_w = initializers::Normal(1)});
  const Variable x(arange(2 * 3 * 7 * 6).reshape({2, 3, 7, 6}));
  const Variable y = link(x);
  const Variable expected =
      functions::convolution_2d(x, link.deform_conv.W, link.deform_conv.b, {.stride = 2, .pad = 1});
  REQUIRE(y.shape() == expected.shape());
  const std::vector<double> a = y.to_vector<double>(), b = expected.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
}

TEST_CASE("DeformableConvolution2D's parameters are Chainer's") {
  L::DeformableConvolution2D link(kInfer, 4, PerAxis({3, 2}));
  CHECK(paths(link) ==
        std::vector<std::string>{"/deform_conv/W", "/deform_conv/b", "/offset_conv/W", "/offset_conv/b"});
  const Variable y = link(Variable(ones({2, 5, 6, 6})));
  CHECK(y.shape() == Shape{2, 4, 4, 5});
  CHECK(y.to_vector<float>() == std::vector<float>(2 * 4 * 4 * 5, 0.0f));  // W starts at 0
  CHECK(link.offset_conv.W.shape() == Shape{12, 5, 3, 2});
  CHECK(link.deform_conv.W.shape() == Shape{4, 5, 3, 2});
  L::DeformableConvolution2D bare(2, 4, 1, {.offset_nobias = true, .deform_nobias = true});
  CHECK(paths(bare) == std::vector<std::string>{"/deform_conv/W", "/offset_conv/W"});
  L::DeformableConvolution2DSampler sampler(kInfer, 1, 1);
  CHECK_THROWS_WITH_AS(sampler(Variable(ones({2, 2})), Variable(ones({1, 2, 1, 1}))),
                       "L::DeformableConvolution2DSampler: x has shape (2, 2): x.ndim must be 4", TypeError);
}

}  // namespace
}  // namespace kusari::testing
