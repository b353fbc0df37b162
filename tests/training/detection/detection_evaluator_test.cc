#include "kusari/framework/training/extensions/detection_evaluator.h"

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/dict_dataset.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/iterators/serial_iterator.h"

using namespace kusari;
using Values = DictSummary::Values;

namespace {

/// Finds in image i, whose pixels are i, the box that its data set has, but for the last image.
class Knowing : public Link {
 public:
  std::vector<Detections> predict(const std::vector<Array>& images) {
    CHECK_FALSE(config().train);
    CHECK_FALSE(config().enable_backprop);
    std::vector<Detections> found;
    for (const Array& image : images) {
      const int i = image.at(0).at(0).at(0).item<int>();
      if (i < 2) {
        found.push_back({{{0, 0, 10, 10.F + static_cast<float>(i)}}, {i % 2}, {0.9F}});
      } else {
        found.push_back({});
      }
    }
    return found;
  }
};

/// Three images, each with one box: of class 0, 1 and 1.
datasets::TransformDataset three_boxes(datasets::Keys keys) {
  return {datasets::TupleDataset(arange(3, Dtype::int32)),
          [](const datasets::Example& example) {
            const int i = example[0].item<int>();
            const Box box{0, 0, 10, 10.F + static_cast<float>(i)};
            return datasets::Example{full({3, 4, 4}, i, Dtype::uint8), bbox_array(std::vector<Box>{box}),
                                     array<int>({i == 0 ? 0 : 1})};
          },
          std::move(keys)};
}

class Segmenting : public Link {
 public:
  std::vector<Array> predict(const std::vector<Array>& images) {
    return std::vector<Array>(images.size(), array<int>({0, 1, 1, 1}, {2, 2}));
  }
};

double value_of(const Values& values, const std::string& key) {
  for (const auto& [name, value] : values) {
    if (name == key) return value;
  }
  FAIL("there is no ", key);
  return 0;
}

}  // namespace

TEST_CASE("DetectionVOCEvaluator and DetectionCOCOEvaluator report what predict gives") {
  Knowing model;
  for (const datasets::Keys& keys : {datasets::Keys(), datasets::Keys{"image", "bbox", "label"}}) {
    const auto data = three_boxes(keys);
    const auto batches = [&] { return iterators::SerialIterator(data, 2, {.repeat = false, .shuffle = false}); };
    extensions::DetectionVOCEvaluator voc(batches(), model, {}, {.label_names = {"cell", "plate", "unseen"}});
    CHECK(voc() == Values{{"main/map", 0.75}, {"main/ap/cell", 1}, {"main/ap/plate", 0.5}});
    voc.set_name("validation");
    CHECK(voc()[0].first == "validation/main/map");  // the iterator is reset
    extensions::DetectionCOCOEvaluator coco(batches(), model, {.label_names = {"cell", "plate"}});
    const Values values = coco();
    CHECK(values.size() == 14);
    CHECK(value_of(values, "main/map") == doctest::Approx((1 + 51.0 / 101) / 2));
    CHECK(value_of(values, "main/map50") == doctest::Approx((1 + 51.0 / 101) / 2));
    CHECK(value_of(values, "main/map_large") == -1);
    CHECK(value_of(values, "main/mar100") == doctest::Approx(0.75));
    CHECK(value_of(values, "main/ap/plate") == doctest::Approx(51.0 / 101));
  }
  const datasets::TupleDataset images_alone(zeros({2, 3, 4, 4}));
  extensions::DetectionVOCEvaluator lacking(
      iterators::SerialIterator(images_alone, 2, {.repeat = false, .shuffle = false}), model);
  CHECK_THROWS_WITH_AS(lacking(), "DetectionEvaluator: an example of 1 components has no 'bbox'", ValueError);
  CHECK_THROWS_AS(extensions::DetectionVOCEvaluator(iterators::SerialIterator(images_alone, 2), model), ValueError);
}

TEST_CASE("SemanticSegmentationEvaluator") {
  Segmenting model;
  const datasets::TupleDataset data(zeros({3, 3, 2, 2}), array<int>({0, 1, 1, 0}, {1, 2, 2}).broadcast_to({3, 2, 2}));
  extensions::SemanticSegmentationEvaluator evaluator(
      iterators::SerialIterator(data, 2, {.repeat = false, .shuffle = false}), model, {.label_names = {"sky", "sea"}});
  const Values values = evaluator();
  CHECK(value_of(values, "main/pixel_accuracy") == 0.75);
  CHECK(value_of(values, "main/iou/sky") == 0.5);
  CHECK(value_of(values, "main/iou/sea") == doctest::Approx(2.0 / 3));
  CHECK(value_of(values, "main/miou") == doctest::Approx((0.5 + 2.0 / 3) / 2));
  CHECK(value_of(values, "main/class_accuracy/sky") == 0.5);
  CHECK(value_of(values, "main/mean_class_accuracy") == 0.75);
}
