#pragma once

// The data sets that the programs of this folder know: the flags --data, --root, ..., and what they name.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"

struct DataFlags {
  std::string data = {};
  std::string root = {};
  std::string train = {}, test = {};  // a split (bccd, voc), or a file of annotations (coco)
  std::string test_root = {};         // coco: of the images to test with, if elsewhere
  bool skip_broken = false;
  int64_t images = 0;  // the most that are trained with, and of drawn ones tested with; 0: all
  bool test_trained = false;
};

inline DataFlags data_flags(Flags& flags) {
  DataFlags read;
  read.data =
      flags.choice("--data", {"bccd", "voc", "coco", "generated"}, "bccd",
                   "bccd (blood cells in Pascal VOC's layout), voc, coco, or generated: drawn shapes, without files");
  read.root = flags.text("--root", "",
                         "Folder or tar archive of the data: that of JPEGImages (bccd, voc), or of the images (coco)");
  read.train = flags.text("--train-split,--train-json", "",
                          "Images to train with: a split (bccd: trainval; voc: trainval), or a file in COCO's format "
                          "(default: annotations/instances_train2017.json below the root)");
  read.test =
      flags.text("--test-split,--test-json", "",
                 "Images to test with, likewise (bccd: test; voc: test; coco: annotations/instances_val2017.json)");
  read.test_root = flags.text("--test-root", "", "Folder or archive of COCO's images to test with");
  read.skip_broken =
      flags.flag("--skip-broken",
                 "Leave out what is wrong with annotations and images, and say how much it was, instead of ending");
  read.images =
      flags.number("--images", 0, "Train with the first so many images alone (0: all)", Flags::not_negative());
  read.test_trained =
      flags.flag("--test-trained", "Test with the images that are trained with: whether it learns at all");
  return read;
}

struct DetectionData {
  std::shared_ptr<kusari::datasets::Dataset> train, test;
  std::vector<std::string> label_names;
};

enum class BoxPart { train, test };

inline void tell_about(const kusari::datasets::BboxDataset& data, const char* part) {
  std::printf("# %s images: %lld", part, static_cast<long long>(data.size()));
  if (data.empty_boxes() > 0) std::printf(", empty boxes left out: %lld", static_cast<long long>(data.empty_boxes()));
  if (data.skipped() > 0) std::printf(", broken records left out: %lld", static_cast<long long>(data.skipped()));
  std::printf("\n");
  if (data.size() == 0) throw kusari::ValueError(std::string("there is no image to ") + part + " with");
}

inline std::string or_else(const std::string& given, const std::string& otherwise) {
  return given.empty() ? otherwise : given;
}

// What is to be tested has all that evaluations want: difficult boxes, crowds, areas.
inline std::shared_ptr<kusari::datasets::BboxDataset> open_boxes(const DataFlags& flags, BoxPart part) {
  using namespace kusari;
  const bool tests = part == BoxPart::test;
  const std::string& given = tests ? flags.test : flags.train;
  if (flags.root.empty()) throw ValueError("--root: name the folder or tar archive of --data " + flags.data);
  if (flags.data == "coco") {
    const std::string year = tests ? "val2017" : "train2017";
    const bool is_folder = std::filesystem::is_directory(flags.root);
    const std::string below = is_folder ? flags.root + "/" : "";
    std::string images = tests && !flags.test_root.empty() ? flags.test_root : flags.root;
    if (images == flags.root && std::filesystem::is_directory(flags.root + "/" + year)) images += "/" + year;
    return std::make_shared<datasets::COCOBboxDataset>(
        images, or_else(given, below + "annotations/instances_" + year + ".json"),
        datasets::COCOBboxDatasetOptions{
            .use_crowded = tests, .return_area = tests, .return_crowded = tests, .skip_broken = flags.skip_broken});
  }
  datasets::VOCBboxDatasetOptions options{
      .use_difficult = tests, .return_difficult = tests, .skip_broken = flags.skip_broken};
  if (flags.data == "bccd") options.names = {"RBC", "WBC", "Platelets"};
  return std::make_shared<datasets::VOCBboxDataset>(flags.root, or_else(given, tests ? "test" : "trainval"), options);
}

struct NamedData {
  std::shared_ptr<kusari::datasets::Dataset> data;
  std::vector<std::string> label_names;
};

inline NamedData load_train_data(const DataFlags& flags) {
  using namespace kusari;
  NamedData train;
  if (flags.data == "generated") {
    const auto shapes = std::make_shared<datasets::DrawnShapesDataset>(200);
    train = {shapes, shapes->label_names()};
  } else {
    const auto boxes = open_boxes(flags, BoxPart::train);
    tell_about(*boxes, "train");
    train = {boxes, boxes->label_names()};
  }
  if (flags.images > 0 && flags.images < train.data->size()) {
    train.data = std::make_shared<datasets::SubDataset>(train.data, 0, flags.images);
  }
  return train;
}

inline DetectionData load_test_data(const DataFlags& flags) {
  using namespace kusari;
  if (flags.test_trained) {
    const auto [data, label_names] = load_train_data(flags);
    return {nullptr, data, label_names};
  }
  if (flags.data == "generated") {
    const int64_t count = flags.images > 0 ? std::min<int64_t>(flags.images, 40) : 40;
    auto shapes = std::make_shared<datasets::DrawnShapesDataset>(count, datasets::DrawnShapesOptions{.seed = 1});
    const auto names = shapes->label_names();
    return {nullptr, shapes, names};
  }
  const auto test = open_boxes(flags, BoxPart::test);
  tell_about(*test, "test");
  return {nullptr, test, test->label_names()};
}

inline DetectionData load_detection_data(const DataFlags& flags) {
  DetectionData data = load_test_data(flags);
  if (flags.test_trained) {
    data.train = data.test;
    return data;
  }
  const auto [train, label_names] = load_train_data(flags);
  if (label_names != data.label_names) {
    throw kusari::ValueError("the annotations to train and to test with have other categories");
  }
  data.train = train;
  return data;
}
