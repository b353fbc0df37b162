#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/links/detection/bifpn.h"
#include "kusari/framework/links/detection/fpn.h"
#include "kusari/tests/links/detection/drawn_weights.h"

namespace kusari::testing {
namespace {

Variables maps_of(std::initializer_list<Shape> shapes) {
  Variables maps;
  for (const Shape& shape : shapes) maps.push_back(drawn_array("map", shape, -1, 1));
  return maps;
}
std::span<const Variable> span_of(const Variables& maps) { return {maps.data(), maps.size()}; }

std::vector<Shape> shapes_of(const Variables& maps) {
  std::vector<Shape> shapes;
  for (const Variable& map : maps) shapes.push_back(map.shape());
  return shapes;
}

TEST_CASE("FPN's maps have the sizes of those that it gets, and half and a quarter of the last") {
  const Variables maps = maps_of({{2, 3, 19, 13}, {2, 5, 10, 7}, {2, 7, 5, 4}});
  const L::FPN fpn({3, 5, 7}, {.channels = 4});
  CHECK(shapes_of(fpn(span_of(maps))) ==
        std::vector<Shape>{{2, 4, 19, 13}, {2, 4, 10, 7}, {2, 4, 5, 4}, {2, 4, 3, 2}, {2, 4, 2, 1}});
  CHECK(L::FPN({3, 5, 7}, {.channels = 4, .top = L::FPNTop::none})(span_of(maps)).size() == 3);
  const Variables pooled = L::FPN({3, 5, 7}, {.channels = 4, .top = L::FPNTop::pool})(span_of(maps));
  REQUIRE(pooled[3].shape() == Shape{2, 4, 3, 2});
  CHECK(pooled[3].array().at(1).at(2).at(2).at(1).item<float>() ==
        pooled[2].array().at(1).at(2).at(4).at(2).item<float>());
  CHECK_THROWS_WITH_AS(fpn(std::span<const Variable>(maps.data(), 2)), "L::FPN: there are 2 maps: it must be 3",
                       ValueError);
  CHECK_THROWS_AS(L::FPN({}), ValueError);
}

TEST_CASE("FPN adds the nearest places of the next smaller map") {
  // One channel, and convolutions that leave what they get as it is.
  L::FPN fpn({1, 1}, {.channels = 1, .top = L::FPNTop::none});
  for (const auto& [path, parameter] : fpn.namedparams()) parameter->array().fill(0);
  for (size_t i = 0; i < 2; ++i) {
    fpn.inner[i].W.array().fill(1);
    fpn.outer[i].W.array().at(0).at(0).at(1).at(1).fill(1);
  }
  const Array large = drawn_array("large", {1, 1, 5, 3}, -1, 1), small = drawn_array("small", {1, 1, 3, 2}, -1, 1);
  const Variable xs[] = {large, small};
  const Variables maps = fpn(xs);
  for (int64_t y = 0; y < 5; ++y) {
    for (int64_t x = 0; x < 3; ++x) {
      const auto at = [](const Array& map, int64_t i, int64_t j) { return map.at(0).at(0).at(i).at(j).item<float>(); };
      CHECK(at(maps[0].array(), y, x) == doctest::Approx(at(large, y, x) + at(small, y * 3 / 5, x * 2 / 3)));
    }
  }
}

TEST_CASE("BiFPN's maps, projections and weights") {
  const Variables maps = maps_of({{2, 3, 19, 13}, {2, 5, 10, 7}, {2, 7, 5, 4}});
  L::BiFPN bifpn({3, 5, 7}, {.channels = 4, .repeats = 2});
  CHECK(shapes_of(bifpn(span_of(maps))) ==
        std::vector<Shape>{{2, 4, 19, 13}, {2, 4, 10, 7}, {2, 4, 5, 4}, {2, 4, 3, 2}, {2, 4, 2, 1}});
  int64_t weights = 0, nodes = 0;
  for (const auto& [path, parameter] : bifpn.namedparams()) {
    if (!path.ends_with("/w")) continue;
    ++nodes;
    weights += parameter->size();
  }
  CHECK(nodes == 2 * 8);
  CHECK(weights == 2 * 19);
  // P3 once, P4 twice; P5 twice, and for P6.
  CHECK(bifpn.cells[0].down.size() == 3);
  CHECK(bifpn.cells[0].up.size() == 2);
  CHECK(bifpn.cells[0].top.size() == 1);
  CHECK(bifpn.cells[1].down.empty());
  CHECK_THROWS_AS(bifpn(std::span<const Variable>(maps.data(), 2)), ValueError);
  CHECK_THROWS_AS(L::BiFPN({3}, {.levels = 1}), ValueError);
  CHECK_THROWS_AS(L::BiFPN({3, 3, 3}, {.levels = 2}), ValueError);
  // All maps given: nothing is made above them.
  CHECK(L::BiFPN({3, 5, 7}, {.channels = 4, .levels = 3})(span_of(maps)).size() == 3);
}

TEST_CASE("a BiFPN's node weighs its maps, of which negative weights count nothing") {
  const auto evaluation = using_config(&Config::train, false);
  L::BiFPNNode node(3, 1);
  node.w.array().copy_from(array<float>({1, -2, 3}));
  for (const auto& [path, parameter] : node.namedparams()) {
    if (path != "/w") parameter->array().fill(0);
  }
  node.conv.depthwise.W.array().at(0).at(0).at(1).at(1).fill(1);
  node.conv.pointwise.W.array().fill(1);
  node.bn.gamma.array().fill(static_cast<double>(std::sqrt(1 + 1e-3)));
  const Variables maps = maps_of({{1, 1, 2, 3}, {1, 1, 2, 3}, {1, 1, 2, 3}});
  const std::vector<double> found = node(span_of(maps)).array().to_vector<double>();
  const std::vector<double> x = maps[0].array().to_vector<double>();
  for (size_t i = 0; i < found.size(); ++i) {
    const double sum = (1 * x[i] + 3 * x[i]) / (4 + 1e-4);
    CHECK(found[i] == doctest::Approx(sum / (1 + std::exp(-sum))).epsilon(1e-5));
  }
}

}  // namespace
}  // namespace kusari::testing
