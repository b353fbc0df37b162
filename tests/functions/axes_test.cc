#include "kusari/framework/kernels/axes.h"

#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/logsumexp.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/prod.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/normalization/l2_normalization.h"
#include "kusari/tests/functions/testing.h"

// Every way to name axes must compile, mean the same with every compiler, and be told from the others.

namespace kusari {
namespace {

using namespace testing;

const Array& numbers() {
  static const Array x = uniform({2, 3, 4}, 0.5, 1.5);
  return x;
}

#define KUSARI_CHECK_AXES(function)                                                                            \
  {                                                                                                            \
    CAPTURE(#function);                                                                                        \
    const Variable x(numbers());                                                                               \
    const Axes named{0, 2};                                                                                    \
    CHECK(F::function(x).shape() == Shape{});                                                                  \
    CHECK(F::function(x, std::nullopt).shape() == Shape{});                                                    \
    CHECK(F::function(x, 1).shape() == Shape{2, 4});                                                           \
    CHECK(F::function(x, -1).shape() == Shape{2, 3});                                                          \
    CHECK(F::function(x, {1}).shape() == Shape{2, 4});                                                         \
    CHECK(F::function(x, {1, 2}).shape() == Shape{2});                                                         \
    CHECK(F::function(x, {0, 1, 2}).shape() == Shape{});                                                       \
    CHECK(F::function(x, named).shape() == Shape{3});                                                          \
    CHECK(F::function(x, {.axis = 1}).shape() == Shape{2, 4});                                                 \
    CHECK(F::function(x, {.axis = {2}}).shape() == Shape{2, 3});                                               \
    CHECK(F::function(x, {.axis = {1, 2}}).shape() == Shape{2});                                               \
    CHECK(F::function(x, {.axis = {0, 1, 2}}).shape() == Shape{});                                             \
    CHECK(F::function(x, {.axis = std::nullopt}).shape() == Shape{});                                          \
    CHECK(F::function(x, {.axis = named}).shape() == Shape{3});                                                \
    CHECK(F::function(x, {.axis = {1, 2}}).to_vector<double>() == F::function(x, {1, 2}).to_vector<double>()); \
  }

#define KUSARI_CHECK_KEEPDIMS(function)                                                  \
  {                                                                                      \
    CAPTURE(#function);                                                                  \
    const Variable x(numbers());                                                         \
    CHECK(F::function(x, {.keepdims = true}).shape() == Shape{1, 1, 1});                 \
    CHECK(F::function(x, {.axis = 0, .keepdims = true}).shape() == Shape{1, 3, 4});      \
    CHECK(F::function(x, {.axis = {0, 1}, .keepdims = true}).shape() == Shape{1, 1, 4}); \
    CHECK(F::function(x, {.axis = {0, 1}, .keepdims = false}).shape() == Shape{4});      \
  }

TEST_CASE("axes in every form"){KUSARI_CHECK_AXES(sum) KUSARI_CHECK_AXES(prod) KUSARI_CHECK_AXES(max)
                                    KUSARI_CHECK_AXES(min) KUSARI_CHECK_AXES(logsumexp) KUSARI_CHECK_AXES(mean)
                                        KUSARI_CHECK_AXES(average)}

TEST_CASE("keepdims by name is no axis") {
  KUSARI_CHECK_KEEPDIMS(sum)
  KUSARI_CHECK_KEEPDIMS(prod)
  KUSARI_CHECK_KEEPDIMS(max)
  KUSARI_CHECK_KEEPDIMS(min)
  KUSARI_CHECK_KEEPDIMS(mean)
  KUSARI_CHECK_KEEPDIMS(average)
  const Variable x(numbers());
  CHECK(F::sum(x, 1, true).shape() == Shape{2, 1, 4});
  CHECK(F::sum(x, {1, 2}, true).shape() == Shape{2, 1, 1});
  CHECK(F::mean(x, {1, 2}, Variable(), true).shape() == Shape{2, 1, 1});
}

TEST_CASE("an empty list is no axis") {
  const Variable x(numbers());
  CHECK(F::sum(x, {}).shape() == Shape{2, 3, 4});
  CHECK(F::sum(x, {.axis = {}}).shape() == Shape{2, 3, 4});
  CHECK(F::mean(x, {}).shape() == Shape{2, 3, 4});
  CHECK(F::max(x, {}).shape() == Shape{2, 3, 4});
}

TEST_CASE("weights by name") {
  const Variable x(array<double>({1, 2, 3, 4}, {2, 2})), w(array<double>({1, 3}));
  check_close(F::mean(x, {.axis = 1, .weights = w}), {2}, {1.75, 3.75});
  check_close(F::average(x, {.axis = 0, .weights = w, .keepdims = true}), {1, 2}, {2.5, 3.5});
}

TEST_CASE("normalize's options by name") {
  const Variable x(numbers());
  CHECK(F::normalize(x, {.axis = {1, 2}}).to_vector<double>() == F::normalize(x, 1e-5, {1, 2}).to_vector<double>());
  CHECK(F::normalize(x, {.eps = 0.5}).to_vector<double>() == F::normalize(x, 0.5).to_vector<double>());
  CHECK(F::normalize(x, {.eps = 0.5, .axis = 2}).to_vector<double>() == F::normalize(x, 0.5, 2).to_vector<double>());
}

}  // namespace
}  // namespace kusari
