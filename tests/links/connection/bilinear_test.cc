#include "kusari/framework/links/connection/bilinear.h"

#include <vector>

#include <doctest/doctest.h>

namespace kusari {
namespace L = links;
namespace {

using Values = std::vector<double>;

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
