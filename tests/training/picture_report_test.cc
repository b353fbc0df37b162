#include "kusari/framework/training/extensions/picture_report.h"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/image/decode.h"
#include "kusari/framework/training/extensions/html_report.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/extensions/tensorboard_report.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/tests/text_search.h"
#include "kusari/tests/training/fake_updater.h"

using namespace kusari;
using extensions::PictureReport;
using testing::contains;
using testing::read_file;
using testing::ScratchDirectory;

TEST_CASE("PictureReport shows what its function draws") {
  const ScratchDirectory dir;
  testing::FakeUpdater updater(2);
  training::Trainer trainer(updater, {2, "epoch"}, dir / "out");
  trainer.extend(extensions::LogReport());
  trainer.extend(extensions::HtmlReport());
  trainer.extend(extensions::TensorBoardReport());
  trainer.extend(PictureReport([&] {
    CHECK_FALSE(config().train);
    CHECK_FALSE(config().enable_backprop);
    return std::vector<extensions::TitledImage>{{"samples <1>", full({3, 4, 6}, 1, Dtype::float32)},
                                                {"grey", full({2, 5}, updater.count, Dtype::uint8)}};
  }));
  trainer.run();
  const auto& report = trainer.get_extension<PictureReport>("PictureReport");
  CHECK(report.drawn() == 2);
  REQUIRE(report.pictures().size() == 2);
  CHECK(report.pictures()[0].height == 4);
  CHECK(report.pictures()[1].width == 5);
  CHECK(read_file(dir / "out/picture_iter=4_idx=0.png") == report.pictures()[0].png);
#ifdef KUSARI_WITH_PNG
  CHECK(datasets::read_image(dir / "out/picture_iter=2_idx=1.png").to_vector<int>()[0] == 2);
  CHECK(datasets::read_image(dir / "out/picture_iter=2_idx=0.png").to_vector<int>()[0] == 255);
#endif
  CHECK(contains(read_file(dir / "out/report.html"), "<figcaption>samples &lt;1&gt;</figcaption>"));
  std::string events;
  for (const auto& file : std::filesystem::recursive_directory_iterator(dir / "out")) {
    if (file.path().filename().string().starts_with("events.out.tfevents.")) events += read_file(file.path().string());
  }
  CHECK(contains(events, "PictureReport/grey"));
}

TEST_CASE("PictureReport: no files, and what it refuses") {
  const ScratchDirectory dir;
  testing::FakeUpdater updater(1);
  training::Trainer trainer(updater, {1, "epoch"}, dir / "out");
  Array image = full({1, 2, 2}, 0.5, Dtype::float32);
  trainer.extend(PictureReport([&] { return std::vector<extensions::TitledImage>{{"a", image}}; }, {.filename = ""}));
  trainer.run();
  CHECK(std::filesystem::is_empty(dir / "out"));
  training::Trainer failing(updater, {2, "epoch"}, dir / "out");
  image = full({2, 2, 2}, 0.5, Dtype::float32);
  failing.extend(PictureReport([&] { return std::vector<extensions::TitledImage>{{"a", image}}; }));
  CHECK_THROWS_AS(failing.run(false), ValueError);
  CHECK_THROWS_AS(PictureReport(PictureReport::Draw()), ValueError);
}
