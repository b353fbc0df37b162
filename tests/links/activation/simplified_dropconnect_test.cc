#include "kusari/framework/links/activation/simplified_dropconnect.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari {
namespace L = links;
namespace {

using Values = std::vector<double>;

TEST_CASE("SimplifiedDropconnect") {
  L::SimplifiedDropconnect link(2, 2, {.initial_w = array<float>({1, 10, 100, 1000}, {2, 2}), .initial_bias = 1});
  const Array x = array<float>({1, 2}, {1, 2});
  CHECK(link(x, {.train = false}).to_vector<double>() == Values{22, 2101});
  const Array mask = array<float>({1, 0, 1, 1}, {2, 2});
  CHECK(link(x, {.mask = mask, .use_batchwise_mask = false}).to_vector<double>() == Values{3, 4201});
  CHECK(link(x, {.mask = mask.reshape({1, 2, 2})}).to_vector<double>() == Values{3, 4201});
  for (const double y : link(x).to_vector<double>()) {  // sums of some of 2, 40 and 200, 4000
    const double drawn = y - 1;
    const bool is_first = drawn == 0 || drawn == 2 || drawn == 40 || drawn == 42;
    const bool is_second = drawn == 200 || drawn == 4000 || drawn == 4200;
    CHECK((is_first || is_second));
  }

  L::SimplifiedDropconnect lazy(kInfer, 3, {.ratio = 0.25, .nobias = true});
  CHECK(lazy(ones({5, 2, 2})).shape() == Shape{5, 3});
  CHECK(lazy.W.shape() == Shape{3, 4});
  CHECK(lazy.params().size() == 1);
  CHECK_THROWS_AS(lazy(ones({5, 3})), TypeError);

  L::SimplifiedDropconnect without_examples(kInfer, 3);
  CHECK(without_examples(ones({0, 2, 2})).shape() == Shape{0, 3});
  CHECK(without_examples.W.shape() == Shape{3, 4});
  CHECK_THROWS_AS(without_examples(ones({0, 3})), TypeError);
}

}  // namespace
}  // namespace kusari
