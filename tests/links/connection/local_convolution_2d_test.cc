#include "kusari/framework/links/connection/local_convolution_2d.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/connection/local_convolution_2d.h"

namespace kusari::testing {
namespace {

TEST_CASE("LocalConvolution2D has weights for each place") {
  L::LocalConvolution2D local(2, 3, PerAxis({4, 6}), PerAxis({2, 3}), {.stride = 2, .initial_bias = 0.5});
  CHECK(local.W.shape() == Shape{3, 2, 2, 2, 2, 3});  // the stride counts, which it does not in Chainer
  CHECK(local.b.shape() == Shape{3, 2, 2});
  const Variable x(arange(2 * 2 * 4 * 6).reshape({2, 2, 4, 6}));
  const Variable y = local(x);
  CHECK(y.shape() == Shape{2, 3, 2, 2});
  CHECK(y.to_vector<float>() == functions::local_convolution_2d(x, local.W, local.b, {.stride = 2}).to_vector<float>());
}

TEST_CASE("LocalConvolution2D takes its sizes from the first batch") {
  struct Case {
    int64_t in_channels, in_size;
  };
  for (const Case& c : {Case{kInfer, 5}, {2, kInfer}, {kInfer, kInfer}}) {
    L::LocalConvolution2D local(c.in_channels, 4, c.in_size, 2);
    CHECK(!local.W.is_initialized());
    CHECK(local(Variable(ones({3, 2, 5, 5}))).shape() == Shape{3, 4, 4, 4});
    CHECK(local.W.shape() == Shape{4, 4, 4, 2, 2, 2});
    CHECK(local.b.shape() == Shape{4, 4, 4});
  }
  L::LocalConvolution2D bare(kInfer, 1, kInfer, 1, {.nobias = true});
  CHECK(!bare.b.is_defined());
  CHECK(bare.namedparams().size() == 1);
  CHECK(bare(Variable(ones({1, 1, 2, 2}))).shape() == Shape{1, 1, 2, 2});
}

TEST_CASE("LocalConvolution2D refuses what does not fit") {
  CHECK_THROWS_WITH_AS(L::LocalConvolution2D(1, 1, 2, 3),
                       "L::LocalConvolution2D: in_size is 2: it must be at least ksize (3)", ValueError);
  CHECK_THROWS_WITH_AS(L::LocalConvolution2D(1, 1, 2, 2, {.stride = 0}),
                       "L::LocalConvolution2D: stride is (0, 0): it must be at least 1", ValueError);
  L::LocalConvolution2D lazy(kInfer, 1, kInfer, 3);
  CHECK_THROWS_AS(lazy(Variable(ones({1, 1, 2, 2}))), ValueError);
  CHECK_THROWS_AS(lazy(Variable(ones({2, 2}))), TypeError);
}

}  // namespace
}  // namespace kusari::testing
