#include <doctest/doctest.h>

#include <string>

#include "computed_places.h"
#include "dynamic_export.h"

// Indices and conditions that a model computes: as nodes, for any size.
namespace kusari {
namespace {

using namespace kusari::testing;

TEST_CASE("places and conditions that a model computes are exported") {
  for (const auto& [name, model] : computed_places()) {
    CAPTURE(name);
    const std::vector<std::vector<Variable>> others = {{uniform({2, 4}, -1, 1)}, {uniform({5, 4}, -1, 1)}};
    expect_same(model, {uniform({3, 4}, -1, 1)}, others, {.dynamic_batch = true});
  }
}

TEST_CASE("a mask of attention that a model computes is exported") {
  const auto model = [](const Variable& v) {
    return F::scaled_dot_product_attention(v, v, v * 2, {.mask = F::sum(v, 3).array().expand_dims(2) > 0.0});
  };
  expect_same(model, {uniform({2, 2, 3, 4}, -1, 1)}, {{uniform({4, 2, 3, 4}, -1, 1)}}, {.dynamic_batch = true});
}

}  // namespace
}  // namespace kusari
