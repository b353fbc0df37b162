// The programs of docs/tutorial, compiled and run. tests/docs/blocks_test.cc compares the texts.
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kusari.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari {
namespace {

class Net : public Chain {
 public:
  Net() : l1{*this, "l1", kInfer, 32}, l2{*this, "l2", 32, 3} {}
  Variable operator()(const Variable& x) const { return l2(F::relu(l1(x))); }

 private:
  Child<L::Linear> l1, l2;
};

// Points in three heaps.
datasets::TupleDataset heaps(int64_t count) {
  std::vector<float> x;
  std::vector<int32_t> t;
  datasets::ExampleRandom random(3);
  for (int64_t i = 0; i < count; ++i) {
    const auto heap = static_cast<int32_t>(i % 3);
    x.push_back(static_cast<float>(random.normal(heap == 0 ? 2 : 0, 0.3)));
    x.push_back(static_cast<float>(random.normal(heap == 1 ? 2 : 0, 0.3)));
    t.push_back(heap);
  }
  return datasets::TupleDataset(array(x, {count, 2}), array(t));
}

TEST_CASE("tutorial: numbers and gradients") {
  Variable x(array<float>({1, 2, 3}));
  const Variable y = F::sum(x * x);
  y.backward();
  CHECK(x.grad().to_vector<float>() == std::vector<float>{2, 4, 6});
}

TEST_CASE("tutorial: a first network, and the Trainer") {
  random::seed(0);
  const testing::ScratchDirectory scratch;
  const std::string out = scratch.path();
  const datasets::TupleDataset train = heaps(600), test = heaps(120);
  auto model = L::classifier(Net());
  optimizers::Adam optimizer;
  optimizer.setup(model);

  iterators::SerialIterator batches(train, 50);
  while (batches.epoch() < 20) {
    const auto batch = datasets::concat_examples(batches.next());
    optimizer.update(model, batch[0], batch[1]);
  }
  {
    const auto test_mode = using_config(&Config::train, false);
    const auto no_graph = no_backprop_mode();
    const auto points = datasets::concat_examples(test.slice({.stop = 100}));
    const Variable scores = model.predictor(points[0]);
    const double accuracy = F::accuracy(scores, points[1]).item<double>();
    CHECK(accuracy > 0.9);
  }

  iterators::SerialIterator train_iter(train, 50);
  iterators::SerialIterator test_iter(test, 50, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer);
  training::Trainer trainer(updater, {2, "epoch"}, out);
  trainer.extend(extensions::Evaluator(test_iter, model));
  trainer.extend(extensions::snapshot({.n_retains = 1}), {.trigger = {1, "epoch"}});
  extensions::LogReport log;
  trainer.extend(log);
  trainer.extend(extensions::PrintReport({"epoch", "main/loss", "validation/main/loss", "validation/main/accuracy"}));
  trainer.extend(extensions::HtmlReport({.title = "My first run"}));
  trainer.run();
  CHECK(log.last().at("validation/main/accuracy") > 0.9);
  CHECK(std::filesystem::exists(scratch / "report.html"));

  const std::string snapshot = scratch / "snapshot_iter_24", weights = scratch / "net.npz";
  serializers::load_npz(snapshot, trainer);

  serializers::save_npz(weights, model.predictor);
  Net net;
  net(zeros({1, 2}));  // makes what the first batch decides
  serializers::load_npz(weights, net);
  CHECK(net(zeros({1, 2})).to_vector<float>() == model.predictor(zeros({1, 2})).to_vector<float>());
}

TEST_CASE("tutorial: your own photos") {
  const testing::ScratchDirectory scratch;
  const std::string folder = scratch / "photos", out = scratch / "result";
  for (const char* name : {"cat", "dog"}) {
    std::filesystem::create_directories(std::filesystem::path(folder) / name);
    for (int i = 0; i < 10; ++i) {
      const Array photo = random::uniform({3, 40, 50});
      datasets::save_png((std::filesystem::path(folder) / name / (std::to_string(i) + ".png")).string(), photo);
    }
  }
  const datasets::ImageFolderDataset photos(folder,
                                            {.dtype = Dtype::uint8, .decode = {.mode = datasets::ImageMode::rgb}});
  const auto [train, valid] = datasets::split_dataset_random(photos, photos.size() * 8 / 10, 0);
  const int64_t size = 32;
  const datasets::TransformDataset train_set(
      train, transforms::on_image(transforms::RandomSizedCrop{{size, size}}, transforms::RandomFlip{}));
  const datasets::TransformDataset valid_set(valid, transforms::on_image(transforms::Resize{{size, size}}));
  const auto converter = datasets::image_converter({.mean = {127}, .deviation = {64}});
  auto model = L::classifier(
      L::ResNet18({.n_classes = static_cast<int64_t>(photos.classes().size()), .stem = L::ResNetStem::cifar}));
  optimizers::MomentumSGD optimizer({.lr = 0.01, .momentum = 0.9});
  optimizer.setup(model);
  iterators::MultithreadIterator train_iter(train_set, 8);
  iterators::SerialIterator valid_iter(valid_set, 8, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.converter = converter});
  training::Trainer trainer(updater, {1, "epoch"}, out);
  trainer.extend(extensions::Evaluator(valid_iter, model, {.converter = converter}));
  extensions::LogReport log;
  trainer.extend(log);
  trainer.extend(extensions::snapshot_object(model, "best.npz"),
                 {.trigger = triggers::MaxValueTrigger("validation/main/accuracy")});
  trainer.run();
  CHECK(std::isfinite(log.last().at("main/loss")));
  CHECK(std::filesystem::exists(std::filesystem::path(out) / "best.npz"));
}

}  // namespace
}  // namespace kusari
