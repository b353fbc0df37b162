#include "kusari/framework/links/connection/embed_id.h"

#include <vector>

#include <doctest/doctest.h>

namespace kusari::testing {
namespace {

TEST_CASE("EmbedID picks rows") {
  links::EmbedID embed(3, 2, {.initial_w = array<float>({1, 2, 3, 4, 5, 6}, {3, 2}), .ignore_label = -1});
  const Variable y = embed(array<int32_t>({2, -1, 0}));
  CHECK(y.shape() == Shape{3, 2});
  CHECK(y.to_vector<double>() == std::vector<double>{5, 6, 0, 0, 1, 2});
}

}  // namespace
}  // namespace kusari::testing
