#include "kusari/framework/links/loss/black_out.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

namespace kusari::testing {
namespace {

TEST_CASE("BlackOut") {
  links::BlackOut link(2, {0, 3, 0}, 1, {.initial_w = array<float>({1, 0, 0, 1, 5, 5}, {3, 2})});
  // Label 1 is the only one that is drawn.
  const Variable loss = link(Variable(array<float>({2, 1}, {1, 2})), array<int>({0}));
  const double p = std::exp(2.0) / (std::exp(2.0) + std::exp(1.0));
  CHECK(loss.shape() == Shape{});
  CHECK(loss.item<double>() == doctest::Approx(-2 * std::log(p)));
}

TEST_CASE("BlackOut wants its weights set") {
  links::BlackOut link(2, {1, 1}, 1, {.sampler = [](const Shape& shape) { return ones(shape, Dtype::int32); }});
  for (const double w : link.W.to_vector<double>()) CHECK(std::isnan(w));
  link.W.array().fill(0);
  CHECK(link(Variable(ones({3, 2})), zeros({3}, Dtype::int32)).item<double>() == doctest::Approx(2 * std::log(2)));
}

TEST_CASE("BlackOut with a sampler that gives nothing") {
  links::BlackOut link(2, {1, 1}, 1, {.initial_w = 0, .sampler = [](const Shape&) { return Array(); }});
  CHECK_THROWS_WITH_AS(link(Variable(ones({3, 2})), zeros({3}, Dtype::int32)),
                       "F::black_out: samples is not given: it is required", TypeError);
}

}  // namespace
}  // namespace kusari::testing
