#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/examples/detection/augmentation.h"
#include "kusari/examples/detection/data.h"
#include "kusari/examples/detection/detectors.h"
#include "kusari/examples/detection/finder.h"
#include "kusari/examples/detection/jpeg_stream.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::detection_test {
namespace {

using testing::ScratchDirectory;
using Bytes = std::vector<uint8_t>;

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// What next() gives of these bytes, and the error that ended it.
std::vector<Bytes> cut(Bytes bytes, std::string& error) {
  std::vector<Bytes> files;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(fmemopen(bytes.data(), bytes.size(), "rb"), std::fclose);
  JpegStream jpegs(stream.get());
  error.clear();
  try {
    while (auto file = jpegs.next()) files.push_back(*file);
  } catch (const IoError& e) {
    error = e.what();
  }
  CHECK(jpegs.is_sound() == error.empty());
  return files;
}

// T.81, annex B.
TEST_CASE("JPEG files that follow each other") {
  const Bytes begin{0xFF, 0xD8}, end{0xFF, 0xD9};
  const Bytes thumbnail{0xFF, 0xE1, 0, 8, 0xFF, 0xD8, 1, 2, 0xFF, 0xD9};  // in a segment
  const Bytes scan{0xFF, 0xDA, 0, 4, 9, 9, 1, 0xFF, 0, 2, 0xFF, 0xD3, 7, 0xD9};
  const Bytes table{0xFF, 0xFF, 0xC4, 0, 3, 5};  // with a byte that fills
  const Bytes baseline = joined({begin, thumbnail, scan, end}), progressive = joined({begin, scan, table, scan, end});
  std::string error;
  CHECK(cut(joined({baseline, progressive, baseline}), error) == std::vector<Bytes>{baseline, progressive, baseline});
  CHECK(error.empty());
  for (size_t length = 1; length < progressive.size(); ++length) {
    const Bytes half(progressive.begin(), progressive.begin() + static_cast<ptrdiff_t>(length));
    CHECK(cut(joined({baseline, half}), error) == std::vector<Bytes>{baseline});
    CHECK(error == "standard input: image 1 is cut off after " + std::to_string(length) + " bytes");
  }
  CHECK(cut({0x89, 'P', 'N', 'G'}, error).empty());
  CHECK(error == "standard input: image 0 does not begin as a JPEG file does");
  CHECK(cut(joined({begin, {7, 7}}), error).empty());
  CHECK(error == "standard input: image 0 has no marker at byte 2");
  CHECK(cut(joined({begin, begin}), error).empty());
  CHECK(error == "standard input: image 0 begins again before it ends");
  CHECK(cut(joined({begin, {0xFF, 0xE0, 0, 1}}), error).empty());
  CHECK(error == "standard input: image 0 has a segment of length 1");
}

TEST_CASE("what a training says about its detector") {
  const ScratchDirectory dir;
  const DetectorSpec spec{.model = "efficientdet_d0", .label_names = {"a", "\"b\""}, .size = 128};
  save_spec(dir.path(), spec);
  const DetectorSpec read = load_spec(dir.path());
  CHECK(read.model == spec.model);
  CHECK(read.label_names == spec.label_names);
  CHECK(read.size == 128);
  CHECK(read.anchor_scale == 4);
  CHECK_FALSE(read.frozen_bn);
  CHECK_THROWS_AS(load_spec(dir / "nowhere"), IoError);
  std::ofstream(spec_path(dir.path())) << "{\"model\": 3}";
  CHECK_THROWS_AS(load_spec(dir.path()), IoError);
  CHECK_THROWS_WITH_AS(make_detector({.model = "yolo", .label_names = {"a"}}), "there is no detector 'yolo'",
                       ValueError);
  for (const std::string& name : kDetectors) {
    CAPTURE(name);
    const auto detector = make_detector({.model = name, .label_names = {"a", "b"}, .size = 128});
    CHECK(detector->n_classes() == 2);
    CHECK(detector->preparation.size == (name == "ssd300" ? 300 : 128));
  }
}

TEST_CASE("examples with targets are of one shape, and say where boxes are") {
  DataFlags flags{.data = "generated", .images = 7};
  const DetectionData data = load_detection_data(flags);
  CHECK(data.train->size() == 7);
  CHECK(data.label_names.size() == 3);
  const auto detector = make_detector({.label_names = data.label_names, .size = 128});
  for (const char* const augment : {"none", "flip", "jitter", "ssd"}) {
    CAPTURE(augment);
    const auto examples = with_targets(data.train, {.augment = augment, .flip_vertical = true}, *detector);
    int64_t found = 0;
    for (int64_t i = 0; i < examples->size(); ++i) {
      const datasets::Example example = examples->get(i);
      CHECK(example[0].shape() == Shape{3, 128, 128});
      CHECK(example[0].dtype() == Dtype::uint8);
      const auto anchors = static_cast<int64_t>(detector->coder(128, 128).anchors().size());
      CHECK(example[1].shape() == Shape{anchors, 4});
      CHECK(example[2].shape() == Shape{anchors});
      for (const int label : example[2].to_vector<int>()) found += label >= 0;
    }
    CHECK(found > 7);
  }
  flags.test_trained = true;
  CHECK(load_detection_data(flags).test->get(6)[0].to_vector<int>() == data.train->get(6)[0].to_vector<int>());
  CHECK(load_test_data(flags).test->size() == 7);
  CHECK_THROWS_WITH_AS(load_test_data({.data = "bccd"}), "--root: name the folder or tar archive of --data bccd",
                       ValueError);
}

TEST_CASE("a detector that looks twice gets boxes, filled up with some of no class, in float32 whatever the policy") {
  const DetectionData data = load_detection_data({.data = "generated", .images = 4});
  const auto detector = make_detector({.model = "faster_rcnn_resnet18", .label_names = data.label_names, .size = 128});
  const auto examples = with_targets(data.train, {.augment = "flip"}, *detector);
  std::vector<datasets::Example> batch;
  int64_t most = 0;
  for (int64_t i = 0; i < 4; ++i) {
    batch.push_back(examples->get(i));
    most = std::max(most, batch.back()[1].shape(0));
  }
  const auto half = using_config(&Config::dtype, DtypePolicy{Dtype::float16});
  const datasets::Example converted = detection_converter(*detector)(batch, Device());
  CHECK(converted[0].shape() == Shape{4, 3, 128, 128});
  CHECK(converted[0].dtype() == Dtype::float16);
  REQUIRE(most < 32);
  REQUIRE(converted[1].shape() == Shape{4, 32, 4});  // of a few shapes alone
  REQUIRE(converted[2].shape() == Shape{4, 32});
  CHECK(converted[1].dtype() == Dtype::float32);
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t own = batch[static_cast<size_t>(i)][1].shape(0);
    CHECK(converted[1].at(i).slice(0, 0, own).to_vector<float>() ==
          batch[static_cast<size_t>(i)][1].to_vector<float>());
    for (int64_t k = own; k < 32; ++k) CHECK(converted[2].at(i).at(k).item<int>() == -1);
  }
}

TEST_CASE("finding objects part by part is predict") {
  random::seed(4);
  const auto data = load_test_data({.data = "generated"});
  for (const char* const name : {"retinanet_resnet18", "faster_rcnn_resnet18", "ssd300"}) {
    CAPTURE(name);
    const auto detector = make_detector({.model = name, .label_names = data.label_names, .size = 96});
    detector->use_preset("evaluate");
    detector->decoding.score_thresh = 0;
    const Array image = data.test->get(0)[0];
    FindTimes times;
    const auto network = [&](const Variable& x) { return see(*detector, x); };
    const Detections parts = find_objects(*detector, network, image, times);
    const Detections whole = detector->predict({image})[0];
    REQUIRE(parts.bbox.size() > 10);
    CHECK(parts.bbox == whole.bbox);
    CHECK(parts.label == whole.label);
    CHECK(parts.score == whole.score);
    CHECK(times.network > 0);
    CHECK(times.boxes > 0);
  }
}

}  // namespace
}  // namespace kusari::detection_test
