#include "kusari/framework/datasets/detection/drawn_shapes_dataset.h"

#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/detection/bbox_iou.h"
#include "kusari/framework/functions/detection/box.h"

using namespace kusari;
using datasets::DrawnShapesDataset;
using datasets::ShapesTask;

TEST_CASE("DrawnShapesDataset: boxes hold the pixels of their shapes") {
  const int64_t n = 40;
  const DrawnShapesDataset boxes(n, {.height = 64, .width = 80});
  const DrawnShapesDataset masks(n, {.task = ShapesTask::segmentation, .height = 64, .width = 80});
  CHECK(boxes.size() == n);
  CHECK(boxes.keys() == datasets::Keys{"image", "bbox", "label"});
  CHECK(masks.keys() == datasets::Keys{"image", "label"});
  CHECK(boxes.label_names() == std::vector<std::string>{"disc", "square", "triangle"});
  CHECK(masks.label_names()[0] == "background");
  std::set<int> seen;
  size_t most = 0;
  for (int64_t i = 0; i < n; ++i) {
    const datasets::Example example = boxes.get(i), masked = masks.get(i);
    CHECK(example[0].shape() == Shape{3, 64, 80});
    CHECK(example[0].dtype() == Dtype::uint8);
    CHECK(example[0].to_vector<int>() == masked[0].to_vector<int>());
    const std::vector<Box> bbox = boxes_of(example[1]);
    const auto label = example[2].to_vector<int>();
    REQUIRE(bbox.size() == label.size());
    most = std::max(most, bbox.size());
    const auto classes = masked[1].to_vector<int>();
    for (size_t k = 0; k < bbox.size(); ++k) {
      seen.insert(label[k]);
      const Box& box = bbox[k];
      CHECK(box.y_min >= 0);
      CHECK(box.x_min >= 0);
      CHECK(box.y_max <= 64);
      CHECK(box.x_max <= 80);
      // A triangle fills about half of its box; the seam takes a part of small ones, another shape may hide a part.
      int inside = 0;
      for (int y = static_cast<int>(box.y_min); y < static_cast<int>(box.y_max); ++y) {
        for (int x = static_cast<int>(box.x_min); x < static_cast<int>(box.x_max); ++x) {
          inside += classes[static_cast<size_t>(y * 80 + x)] == label[k] + 1;
        }
      }
      CHECK(static_cast<float>(inside) > 0.05F * box.area());
      for (size_t other = 0; other < k; ++other) CHECK(functions::bbox_iou(box, bbox[other]) <= 0.1F);
    }
    // No class where no box is.
    for (int y = 0; y < 64; ++y) {
      for (int x = 0; x < 80; ++x) {
        if (classes[static_cast<size_t>(y * 80 + x)] <= 0) continue;
        const auto py = static_cast<float>(y) + 0.5F, px = static_cast<float>(x) + 0.5F;
        CHECK(std::any_of(bbox.begin(), bbox.end(), [&](const Box& box) {
          return py > box.y_min && py < box.y_max && px > box.x_min && px < box.x_max;
        }));
      }
    }
  }
  CHECK(seen == std::set<int>{0, 1, 2});
  CHECK(most >= 4);
}

TEST_CASE("DrawnShapesDataset: the seed decides, and what it refuses") {
  const DrawnShapesDataset a(3), b(5), c(3, {.seed = 1});
  CHECK(a.get(2)[0].to_vector<int>() == b.get(2)[0].to_vector<int>());
  CHECK(a.get(2)[0].to_vector<int>() != c.get(2)[0].to_vector<int>());
  CHECK(a.get(2)[0].to_vector<int>() != a.get(1)[0].to_vector<int>());
  CHECK_THROWS_AS(a.get(3), IndexError);
  CHECK_THROWS_WITH_AS(DrawnShapesDataset(1, {.height = 31}),
                       "DrawnShapesDataset: height is 31: it must be in [32, 4096]", ValueError);
  CHECK_THROWS_AS(DrawnShapesDataset(1, {.width = 5000}), ValueError);
  CHECK_THROWS_AS(DrawnShapesDataset(1, {.most = 0}), ValueError);
  CHECK_THROWS_AS(DrawnShapesDataset(-1), ValueError);
}
