// Learns to say what is in pictures.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/image_captioning/model.h"
#include "kusari/examples/image_captioning/pictures.h"
#include "kusari/examples/training_flags.h"

using namespace kusari;

namespace {

struct Arguments {
  TrainingFlags training{.batchsize = 16, .epoch = 20};
  std::string pictures, captions;
  std::string cnn = "small";
  std::string weights;
  int64_t size = 0;
  int64_t words = 10000;
  int64_t unit = 128;
  int64_t beams = 3;
};

// Says what is in the pictures, and compares; prints some.
template <class Model>
void compare_captions(const Model& model, std::span<const Picture> pictures, const datasets::Vocabulary& words,
                      const Arguments& args, size_t shown) {
  std::vector<Words> found;
  std::vector<std::vector<Words>> expected;
  for (const Picture& picture : pictures) {
    const Array image = CaptionDataset::load(picture.path, model.cnn.preparation);
    found.push_back(words_of(words, model.describe(image.expand_dims(0), args.beams, 30)[0]));
    expected.push_back(picture.captions);
  }
  for (size_t i = 0; i < std::min(shown, found.size()); ++i) {
    std::printf("# %s\n# result : %s\n# expect : %s\n", pictures[i].path.c_str(), join(found[i]).c_str(),
                join(expected[i][0]).c_str());
  }
  std::printf("BLEU: %.4f\nexact captions: %.3f\n",
              metrics::bleu(found, expected, {.smoothing = metrics::BleuSmoothing::epsilon}).score,
              exact_share(found, expected));
}

template <class Cnn>
void train(Arguments args) {
  const TrainingFlags& flags = args.training;
  const Device device = begin_training(flags);
  if (args.pictures.empty()) {
    const random::LocalStream same_pictures(1);
    args.pictures = (std::filesystem::path(flags.out) / "pictures").string();
    args.captions = (std::filesystem::path(args.pictures) / "captions.txt").string();
    draw_pictures(args.pictures, 15);
  }
  const std::vector<Picture> pictures = read_captions(args.pictures, args.captions);
  const std::span<const Picture> all(pictures), known = all.first(all.size() - all.size() / 10),
                                                others = all.last(all.size() / 10);
  if (others.empty()) throw ValueError(args.captions + ": there are fewer than 10 pictures");
  std::vector<Words> captions;
  for (const Picture& picture : known) {
    captions.insert(captions.end(), picture.captions.begin(), picture.captions.end());
  }
  const datasets::Vocabulary words = make_vocabulary(captions, args.words);
  std::printf("# training pictures: %zu\n# validation pictures: %zu\n# words: %lld\n", known.size(), others.size(),
              static_cast<long long>(words.size()));

  constexpr bool kIsFrozen = std::is_same_v<Cnn, FrozenResNet>;
  CaptionNet<Cnn> model(Cnn(args.size > 0 ? args.size : (kIsFrozen ? 224 : 32)), words.size(), args.unit);
  if constexpr (kIsFrozen) model.cnn.load(args.weights);
  model.to(device);
  optimizers::Adam optimizer({.alpha = 5e-3});
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::GradientClipping(5));
  const auto session = set_up_precision(flags.precision, optimizer);

  const CaptionDataset train_set(known, words, model.cnn.preparation),
      validation_set(others, words, model.cnn.preparation);
  iterators::MultithreadIterator train_iter(train_set, flags.batchsize);
  iterators::MultithreadIterator val_iter(validation_set, flags.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.converter = join_captions, .device = device});
  training::Trainer trainer(updater, {flags.epoch, "epoch"}, flags.out);
  trainer.extend(extensions::Evaluator(val_iter, model, {.converter = join_captions, .device = device}));
  const int64_t steps = flags.epoch * train_set.size() / flags.batchsize;
  trainer.extend(extensions::CosineShift("alpha", std::max<int64_t>(steps, 1)), {.trigger = {1, "iteration"}});
  run_training(trainer, flags, {"epoch", "main/loss", "main/perp", "validation/main/perp", "elapsed_time"});
  compare_captions(model, others, words, args, 3);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: captions of pictures");
  Arguments args;
  auto* pictures = parser.add_option("PICTURES", args.pictures, "a folder of JPEG and PNG files; none: drawn ones");
  pictures->needs(parser.add_option("CAPTIONS", args.captions, "lines: the name of a file, a tab, and a caption"));
  auto* cnn = parser.add_option("--cnn", args.cnn, "small, which is trained; resnet50, with --weights, which is not")
                  ->check(CLI::IsMember({"small", "resnet50"}))
                  ->capture_default_str();
  parser.add_option("--weights", args.weights, "Chainer's ResNet-50-model.npz")->needs(cnn);
  parser.add_option("--size", args.size, "Height and width of the pictures for the network; 0: 32, of resnet50 224")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_count(parser, "--words", args.words, "Words of the vocabulary, the most frequent ones");
  add_count(parser, "-u,--unit", args.unit, "Number of units");
  add_count(parser, "--beams", args.beams, "Captions that are looked at side by side");
  add_training_flags(parser, args.training);
  return run_program("train_captions", parser, argc, argv,
                     [&] { args.cnn == "small" ? train<SmallCnn>(args) : train<FrozenResNet>(args); });
}
