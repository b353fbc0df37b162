#include "kusari/framework/training/extensions/detection_vis_report.h"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/dict_dataset.h"
#include "kusari/framework/datasets/image/save_png.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/training/extensions/html_report.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/tensorboard_report.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/text_search.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
using extensions::DetectionVisReport;
using testing::contains;
using testing::read_file;
using testing::ScratchDirectory;

namespace {

class Fixed : public Link {
 public:
  std::vector<Detections> predict(const std::vector<Array>& images) {
    return std::vector<Detections>(images.size(), {{{2, 2, 12, 12}}, {0}, {0.5F}});
  }
};

/// Three images of 16 x 20 with one box each.
datasets::DictDataset boxed_images() {
  return datasets::DictDataset({{"label", zeros({3, 1}, Dtype::int32)},
                                {"image", zeros({3, 3, 16, 20}, Dtype::uint8)},
                                {"bbox", array<float>({1, 1, 9, 9}).broadcast_to({3, 1, 4})}});
}

}  // namespace

TEST_CASE("DetectionVisReport draws files, and pictures for the reports") {
  const ScratchDirectory dir;
  const auto data = boxed_images();
  Fixed model;
  testing::FakeUpdater updater(2);
  training::Trainer trainer(updater, {2, "epoch"}, dir / "out");
  trainer.extend(extensions::LogReport());
  trainer.extend(extensions::HtmlReport());
  trainer.extend(extensions::TensorBoardReport());
  trainer.extend(DetectionVisReport(iterators::SerialIterator(data, 2, {.repeat = false, .shuffle = false}), model,
                                    {.vis = {.label_names = {"cell"}}, .images = 3}));
  trainer.run();

  for (const char* const name :
       {"detection_iter=2_idx=0.png", "detection_iter=2_idx=2.png", "detection_iter=4_idx=1.png"}) {
    CHECK(std::filesystem::exists(dir / ("out/" + std::string(name))));
  }
  CHECK_FALSE(std::filesystem::exists(dir / "out/detection_iter=2_idx=3.png"));
  const auto& report = trainer.get_extension<DetectionVisReport>("DetectionVisReport");
  CHECK(report.drawn() == 2);
  REQUIRE(report.pictures().size() == 3);
  CHECK(report.pictures()[1].width == 2 * 20 + 4);  // what is to be found beside what was
  CHECK(report.pictures()[1].png == read_file(dir / "out/detection_iter=4_idx=1.png"));

  const std::string page = read_file(dir / "out/report.html");
  CHECK(contains(page, "<h2>DetectionVisReport</h2>"));
  CHECK(contains(page, "src=\"data:image/png;base64,iVBORw0KGgo"));
  CHECK(contains(page, "<figcaption>image 2</figcaption>"));
  std::string events;
  for (const auto& file : std::filesystem::recursive_directory_iterator(dir / "out")) {
    if (file.path().filename().string().starts_with("events.out.tfevents.")) events += read_file(file.path().string());
  }
  size_t written = 0;
  for (size_t at = events.find("\x89PNG"); at != std::string::npos; at = events.find("\x89PNG", at + 1)) ++written;
  CHECK(written == 6);  // each picture once
  CHECK(contains(events, "DetectionVisReport/image 0"));
}

TEST_CASE("DetectionVisReport leaves out what is not sure") {
  const ScratchDirectory dir;
  const datasets::TupleDataset images(zeros({1, 3, 16, 20}, Dtype::uint8));
  Fixed model;
  testing::FakeUpdater updater(1);
  std::vector<std::string> drawn;
  for (const double thresh : {0.5, 0.51}) {
    training::Trainer trainer(updater, {1, "iteration"}, dir / "out");
    updater.count = 0;
    trainer.extend(DetectionVisReport(iterators::SerialIterator(images, 2, {.repeat = false, .shuffle = false}), model,
                                      {.score_thresh = thresh, .filename = ""}));
    trainer.run();
    drawn.push_back(trainer.get_extension<DetectionVisReport>("DetectionVisReport").pictures()[0].png);
  }
  const Array black = zeros({3, 16, 20}, Dtype::uint8);
  CHECK(drawn[0] == datasets::encode_png(datasets::vis_bbox(black, Detections{{{2, 2, 12, 12}}, {0}, {0.5F}})));
  CHECK(drawn[1] == datasets::encode_png(black));
}

TEST_CASE("DetectionVisReport: examples without boxes, and what it refuses") {
  const ScratchDirectory dir;
  const datasets::TupleDataset images(zeros({2, 3, 16, 20}, Dtype::uint8));
  Fixed model;
  testing::FakeUpdater updater(1);
  training::Trainer trainer(updater, {1, "epoch"}, dir / "out");
  trainer.extend(DetectionVisReport(iterators::SerialIterator(images, 2, {.repeat = false, .shuffle = false}), model,
                                    {.images = 1, .filename = ""}));
  trainer.run();
  const auto& report = trainer.get_extension<DetectionVisReport>("DetectionVisReport");
  REQUIRE(report.pictures().size() == 1);
  CHECK(report.pictures()[0].width == 20);
  CHECK(std::filesystem::is_empty(dir / "out"));
  CHECK_THROWS_AS(DetectionVisReport(iterators::SerialIterator(images, 2), model), ValueError);
  CHECK_THROWS_WITH_AS(DetectionVisReport(iterators::SerialIterator(images, 2, {.repeat = false, .shuffle = false}),
                                          model, {.images = 0}),
                       "DetectionVisReport: images is 0: it must be in [1, 1000]", ValueError);
}
