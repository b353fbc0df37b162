#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/detection/coco_annotations.h"
#include "kusari/framework/datasets/detection/coco_bbox_dataset.h"
#include "kusari/framework/datasets/detection/voc_bbox_dataset.h"
#include "kusari/framework/datasets/image/save_png.h"
#include "kusari/tests/datasets/image/codecs.h"
#include "kusari/tests/datasets/mutation.h"
#include "kusari/tests/quiet_log.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/shared_data.h"
#include "kusari/tests/skip.h"

using namespace kusari;
using namespace kusari::testing;
using datasets::COCOBboxDataset;
using datasets::Keys;
using datasets::VOCBboxDataset;
namespace fs = std::filesystem;

#ifdef KUSARI_WITH_PUGIXML
namespace {

std::string object(const std::string& name, const std::string& corners, bool is_difficult = false) {
  const char* const tags[] = {"xmin", "ymin", "xmax", "ymax"};
  std::string text =
      "<object><name>" + name + "</name><difficult>" + (is_difficult ? "1" : "0") + "</difficult><bndbox>";
  size_t at = 0;
  for (const char* const tag : tags) {
    const size_t end = corners.find(' ', at);
    text += std::string("<") + tag + ">" + corners.substr(at, end - at) + "</" + tag + ">";
    at = end == std::string::npos ? corners.size() : end + 1;
  }
  return text + "</bndbox></object>";
}

/// A folder of two images of 4 x 6.
class VocFolder {
 public:
  VocFolder() {
    for (const char* const folder : {"Annotations", "JPEGImages", "ImageSets/Main"}) {
      fs::create_directories(directory_ / folder);
    }
    write("ImageSets/Main/train.txt", "a\nb  1\n\n");
    annotate("a", object("RBC", "1 1 5 4") + object("wbc", "2 1 3.5 4", true) + object("RBC", "3 2 3 4"));
    annotate("b", "");
    for (const char* const name : {"a", "b"}) {
      datasets::save_png(directory_ / (std::string("JPEGImages/") + name + ".png"), full({3, 4, 6}, 9, Dtype::uint8));
    }
  }
  std::string path() const { return directory_.path(); }
  void write(const std::string& name, const std::string& text) { write_file(directory_ / name, text); }
  void annotate(const std::string& name, const std::string& objects) {
    write("Annotations/" + name + ".xml", "<annotation>" + objects + "</annotation>");
  }
  /// The same files in a tar archive, below a folder.
  std::string as_tar() {
    std::string archive;
    for (const auto& entry : fs::recursive_directory_iterator(path())) {
      if (!entry.is_regular_file()) continue;
      archive += tar_member("VOC/" + fs::relative(entry.path(), path()).string(), read_file(entry.path().string()));
    }
    write_file(directory_ / "voc.tar", archive + tar_end());
    return directory_ / "voc.tar";
  }

 private:
  ScratchDirectory directory_;
};

datasets::VOCBboxDatasetOptions cells() { return {.names = {"RBC", "wbc"}}; }

std::string message_of(const std::string& root, const datasets::VOCBboxDatasetOptions& options) {
  try {
    VOCBboxDataset(root, "train", options);
  } catch (const IoError& error) {
    return error.what();
  }
  return "nothing is wrong";
}

}  // namespace

TEST_CASE("VOCBboxDataset: folders and archives") {
  VocFolder folder;
  for (const std::string& root : {folder.path(), folder.as_tar()}) {
    CAPTURE(root);
    const VOCBboxDataset data(root, "train", cells());
    REQUIRE(data.size() == 2);
    CHECK(data.keys() == Keys{"image", "bbox", "label"});
    CHECK(data.label_names() == std::vector<std::string>{"RBC", "wbc"});
    CHECK(data.empty_boxes() == 1);
    const datasets::Example example = data.get(0);
    CHECK(example[0].shape() == Shape{3, 4, 6});
    CHECK(example[0].dtype() == Dtype::uint8);
    CHECK(example[1].to_vector<float>() == std::vector<float>{0, 0, 3, 4});  // counted from 0
    CHECK(example[2].to_vector<int>() == std::vector<int>{0});
    CHECK(example[2].dtype() == Dtype::int32);
    CHECK(data.get(1)[1].shape() == Shape{0, 4});
    CHECK(data.name(0).ends_with("JPEGImages/a.png"));
    CHECK_THROWS_AS(data.get(2), IndexError);

    datasets::VOCBboxDatasetOptions options = cells();
    options.use_difficult = options.return_difficult = true;
    const VOCBboxDataset all(root, "train", options);
    CHECK(all.keys() == Keys{"image", "bbox", "label", "difficult"});
    CHECK(all.get(0)[1].to_vector<float>() == std::vector<float>{0, 0, 3, 4, 0, 1, 3, 2.5});
    CHECK(all.get(0)[3].to_vector<bool>() == std::vector<bool>{false, true});
    CHECK(all.annotation(0)[2].to_vector<int>() == std::vector<int>{0, 1});
  }
}

TEST_CASE("VOCBboxDataset: what is wrong is named, or left out and counted") {
  const QuietLog quiet;
  const struct {
    const char* objects;
    const char* message;
  } cases[] = {
      {"<object><name>rbc</name><bndbox/></object>",
       "a.xml: object 0: its class is 'rbc', which is not among the names"},
      {"<object><bndbox/></object>", "a.xml: object 0: it has no name"},
      {"<object><name>RBC</name></object>",
       "a.xml: object 0: its bndbox has no four numbers ymin, xmin, ymax and xmax"},
      {"<object><name>RBC</name><bndbox><xmin>1x</xmin><ymin>1</ymin><xmax>3</xmax><ymax>3</ymax></bndbox></object>",
       "a.xml: object 0: its bndbox has no four numbers ymin, xmin, ymax and xmax"},
      {"<object><name>RBC", "a.xml: it is no XML: "},
  };
  for (const auto& [objects, message] : cases) {
    VocFolder folder;
    folder.annotate("a", objects);
    CHECK_MESSAGE(message_of(folder.path(), cells()).find(message) != std::string::npos,
                  message_of(folder.path(), cells()));
    datasets::VOCBboxDatasetOptions skipping = cells();
    skipping.skip_broken = true;
    const VOCBboxDataset data(folder.path(), "train", skipping);
    CHECK(data.skipped() == 1);
    CHECK(data.size() >= 1);
  }
  VocFolder folder;
  folder.write("ImageSets/Main/train.txt", "a\nc\n");
  CHECK(message_of(folder.path(), cells()).find("c.xml: there is no image JPEGImages/c.jpg") != std::string::npos);
  CHECK(message_of("/no/such/folder", cells()).find("is neither a folder nor a tar archive") != std::string::npos);
  CHECK_THROWS_AS(VOCBboxDataset(folder.path(), "val", cells()), IoError);
  CHECK_THROWS_AS(VOCBboxDataset(folder.path(), "train", {.names = {"a", "a"}}), ValueError);

  // An image that cannot be decoded is known when it is asked for.
  folder.write("ImageSets/Main/train.txt", "a\nb\n");
  folder.write("JPEGImages/b.png", "\x89PNG and nothing more");
  CHECK_THROWS_AS(VOCBboxDataset(folder.path(), "train", cells()).get(1), IoError);
  datasets::VOCBboxDatasetOptions skipping = cells();
  skipping.skip_broken = true;
  const VOCBboxDataset data(folder.path(), "train", skipping);
  CHECK(data.get(1)[1].shape() == Shape{1, 4});  // image a takes its place
  CHECK(data.broken() == 1);
}

TEST_CASE("VOCBboxDataset: BCCD" * doctest::test_suite("needs bccd")) {
  const std::string archive = shared_path("data/bccd/bccd-voc.tar");
  if (archive.empty()) KUSARI_SKIP("no data/bccd");
  const datasets::VOCBboxDatasetOptions options{.names = {"RBC", "WBC", "Platelets"}};
  int64_t boxes = 0, empty = 0, images = 0;
  std::vector<int64_t> of_class(3);
  for (const char* const split : {"trainval", "test"}) {
    const VOCBboxDataset data(archive, split, options);
    images += data.size();
    empty += data.empty_boxes();
    for (int64_t i = 0; i < data.size(); ++i) {
      for (const int label : data.annotation(i)[1].to_vector<int>()) ++of_class[static_cast<size_t>(label)], ++boxes;
    }
  }
  CHECK(images == 364);
  CHECK(empty == 2);
  CHECK(boxes == 4886);
  CHECK(of_class == std::vector<int64_t>{4153, 372, 361});
  const VOCBboxDataset train(archive, "train", options);
  CHECK(train.size() == 205);
  CHECK(train.get(204)[0].shape() == Shape{3, 480, 640});
  CHECK_THROWS_AS(VOCBboxDataset(archive, "train"), IoError);  // none of VOC's classes
}
#endif

namespace {

const char* const kCocoText = R"({
  "images": [{"id": 7, "file_name": "b.png"}, {"id": 3, "file_name": "a.png"}, {"id": 9, "file_name": "sub/c.png"}],
  "categories": [{"id": 18, "name": "dog"}, {"id": 2, "name": "bicycle"}],
  "annotations": [
    {"id": 1, "image_id": 7, "category_id": 18, "bbox": [1, 2, 3.5, 1], "area": 2.5, "iscrowd": 0},
    {"id": 2, "image_id": 7, "category_id": 2, "bbox": [0, 0, 6, 4], "area": 24, "iscrowd": 1},
    {"id": 3, "image_id": 3, "category_id": 2, "bbox": [0, 0, 0, 4], "area": 0, "iscrowd": 0}]})";

/// Three images and their annotations.
class CocoFolder {
 public:
  CocoFolder() {
    fs::create_directories(directory_ / "sub");
    for (const char* const name : {"a.png", "b.png", "sub/c.png"}) {
      datasets::save_png(directory_ / name, full({3, 4, 6}, 9, Dtype::uint8));
    }
    write_file(json(), kCocoText);
  }
  std::string path() const { return directory_.path(); }
  std::string json() const { return directory_ / "boxes.json"; }
  std::string operator/(const std::string& name) const { return directory_ / name; }

 private:
  ScratchDirectory directory_;
};

std::string with(const std::string& what, const std::string& by) {
  std::string text = kCocoText;
  text.replace(text.find(what), what.size(), by);
  return text;
}

}  // namespace

TEST_CASE("COCOBboxDataset") {
  const CocoFolder folder;
  const COCOBboxDataset data(folder.path(), folder.json());
  REQUIRE(data.size() == 3);  // images without boxes too, in the order of their ids
  CHECK(data.keys() == Keys{"image", "bbox", "label"});
  CHECK(data.label_names() == std::vector<std::string>{"bicycle", "dog"});
  CHECK(data.name(0).ends_with("a.png"));
  CHECK(data.get(0)[1].shape() == Shape{0, 4});
  CHECK(data.empty_boxes() == 1);
  const datasets::Example example = data.get(1);
  CHECK(example[0].shape() == Shape{3, 4, 6});
  CHECK(example[1].to_vector<float>() == std::vector<float>{2, 1, 3, 4.5});
  CHECK(example[2].to_vector<int>() == std::vector<int>{1});
  CHECK(data.get(2)[0].shape() == Shape{3, 4, 6});

  const COCOBboxDataset all(folder.path(), folder.json(),
                            {.use_crowded = true, .return_area = true, .return_crowded = true});
  CHECK(all.keys() == Keys{"image", "bbox", "label", "area", "crowded"});
  CHECK(all.get(1)[3].to_vector<float>() == std::vector<float>{2.5, 24});
  CHECK(all.get(1)[4].to_vector<bool>() == std::vector<bool>{false, true});

  // The same in an archive, with its annotations.
  std::string archive = tar_member("set/boxes.json", kCocoText);
  for (const char* const name : {"a.png", "b.png", "sub/c.png"}) {
    archive += tar_member(std::string("set/images/") + name, read_file(folder / name));
  }
  write_file(folder / "set.tar", archive + tar_end());
  const COCOBboxDataset packed(folder / "set.tar", "boxes.json");
  CHECK(packed.size() == 3);
  CHECK(packed.get(1)[1].to_vector<float>() == example[1].to_vector<float>());
  CHECK(packed.name(2).ends_with("set/images/sub/c.png"));
}

TEST_CASE("COCOBboxDataset: what is wrong is named, or left out and counted") {
  const QuietLog quiet;
  const struct {
    std::string text;
    const char* message;
    int64_t skipped;  // -1: it cannot be
  } cases[] = {
      {with("\"category_id\": 18", "\"category_id\": 19"), "annotations[0] has category_id 19, which no category has",
       1},
      {with("\"image_id\": 7", "\"image_id\": 8"), "annotations[0] has image_id 8, which no image has", 1},
      {with("[1, 2, 3.5, 1]", "[1, 2, 3.5]"), "annotations[0] bbox is [1,2,3.5]: it must be four numbers", 1},
      {with("[1, 2, 3.5, 1]", "[1, 2, 3.5, \"x\"]"), "annotations[0] bbox is \"x\": it must be numbers", 1},
      {with("[1, 2, 3.5, 1]", std::string(200'000, '[') + std::string(200'000, ']')),
       "annotations[0] bbox is a list: it must be four numbers", 1},
      {with("\"bbox\": [1, 2, 3.5, 1], ", ""), "annotations[0] has no bbox", 1},
      {with("\"id\": 3,", "\"id\": 7,"), "images[1] has the id 7, which another has too", 2},
      {with("a.png", "z.png"), "z.png, but there is no such file", 1},
      {with("\"name\": \"dog\"", "\"name\": 4"), "categories[0] name is 4: it must be text", 2},
      {with("\"images\"", "\"pictures\""), "has no list images", -1},
      {std::string(kCocoText).substr(0, 300), "is cut off at byte 301", -1},
      {with("[1, 2, 3.5, 1]", "[1, 2, nan, 1]"), "is no JSON at byte ", -1},
      {with("[1, 2, 3.5, 1]", "[1, 2, 1e999, 1]"), "has a number that is too large", -1},
      {"[]", "has no list images", -1},
      {"", "is cut off at byte 1", -1},
  };
  for (const auto& [text, message, skipped] : cases) {
    CAPTURE(message);
    const CocoFolder folder;
    write_file(folder.json(), text);
    std::string error;
    try {
      COCOBboxDataset(folder.path(), folder.json());
    } catch (const IoError& thrown) {
      error = thrown.what();
    }
    CHECK_MESSAGE(error.find(message) != std::string::npos, error);
    CHECK(error.find("boxes.json") != std::string::npos);
    if (skipped < 0) {
      CHECK_THROWS_AS(COCOBboxDataset(folder.path(), folder.json(), {.skip_broken = true}), IoError);
    } else {
      CHECK(COCOBboxDataset(folder.path(), folder.json(), {.skip_broken = true}).skipped() == skipped);
    }
  }
  const CocoFolder folder;
  CHECK_THROWS_AS(COCOBboxDataset(folder.path(), folder / "no.json"), IoError);
}

TEST_CASE("annotations changed at random give a data set or an error that names the file") {
  const QuietLog quiet;
  Random random(4);
  const auto changed = [&](std::string text) {
    for (size_t times = 1 + below(random, 4); times > 0; --times) {
      const size_t at = below(random, text.size());
      switch (below(random, 4)) {
        case 0:
          text[at] = static_cast<char>(below(random, 256));
          break;
        case 1:
          text.erase(at, 1 + below(random, 20));
          break;
        case 2:
          text.insert(at, text.substr(below(random, text.size()), below(random, 30)));
          break;
        default:
          text.resize(chance(random, 20) ? at + 1 : text.size());
      }
      if (text.empty()) text = " ";
    }
    return text;
  };
  const auto expect = [](const std::string& file, const auto& read) {
    try {
      const auto data = read();
      for (int64_t i = 0; i < data.size(); ++i) {
        for (const Box& box : boxes_of(data.annotation(i)[0])) CHECK((box.height() > 0 && box.width() > 0));
      }
    } catch (const IoError& error) {
      CHECK(std::string(error.what()).find(file) != std::string::npos);
    }
  };
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const CocoFolder coco;
    write_file(coco.json(), changed(kCocoText));
    expect("boxes.json", [&] { return COCOBboxDataset(coco.path(), coco.json(), {.skip_broken = i % 2 == 0}); });
#ifdef KUSARI_WITH_PUGIXML
    VocFolder voc;
    voc.write("Annotations/a.xml",
              changed("<annotation>" + object("RBC", "1 1 5 4") + object("wbc", "2 1 3.5 4") + "</annotation>"));
    datasets::VOCBboxDatasetOptions options = cells();
    options.skip_broken = i % 2 == 0;
    expect("a.xml", [&] { return VOCBboxDataset(voc.path(), "train", options); });
#endif
  }
}

TEST_CASE("read_coco_results") {
  const ScratchDirectory directory;
  const std::string path = directory / "results.json";
  write_file(path, R"([{"image_id": 4, "category_id": 2, "bbox": [1, 2, 3, 4.5], "score": 0.25, "id": 9}])");
  const std::vector<datasets::CocoResult> results = datasets::read_coco_results(path);
  REQUIRE(results.size() == 1);
  CHECK(results[0].image == 4);
  CHECK(results[0].category == 2);
  CHECK(results[0].height == 4.5);
  CHECK(results[0].score == 0.25);
  write_file(path, R"([{"image_id": 4, "category_id": 2, "bbox": [1, 2, 3, 4.5]}])");
  CHECK_THROWS_WITH_AS(datasets::read_coco_results(path),
                       ("read_coco_results: " + path + ": entry [0] has no score").c_str(), IoError);
  write_file(path, "{}");
  CHECK_THROWS_AS(datasets::read_coco_results(path), IoError);
}

TEST_CASE("COCOBboxDataset: a part of COCO" * doctest::test_suite("needs coco-mini")) {
  const std::string archive = shared_path("data/coco-mini/coco-mini.tar");
  if (archive.empty()) KUSARI_SKIP("no data/coco-mini");
  int64_t boxes = 0;
  const COCOBboxDataset train(archive, "annotations/instances_train.json",
                              {.use_crowded = true, .return_crowded = true});
  CHECK(train.size() == 20);
  CHECK(train.label_names().size() == 80);
  int crowds = 0;
  for (int64_t i = 0; i < train.size(); ++i) {
    const datasets::Example example = train.get(i);
    CHECK(example[0].shape(0) == 3);  // the grey one too
    boxes += example[1].shape(0);
    for (const bool is_crowd : example[3].to_vector<bool>()) crowds += is_crowd;
    for (const Box& box : boxes_of(example[1])) {
      CHECK(box.y_max <= static_cast<float>(example[0].shape(1)) + 0.01F);
      CHECK(box.x_max <= static_cast<float>(example[0].shape(2)) + 0.01F);
    }
  }
  CHECK(boxes == 119);
  CHECK(crowds == 1);
  CHECK(COCOBboxDataset(archive, "annotations/instances_val.json").size() == 20);
}
