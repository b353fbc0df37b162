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

#include "kusari/examples/image_captioning/model.h"
#include "kusari/examples/image_captioning/pictures.h"
#include "kusari/examples/training_flags.h"

using namespace kusari;

namespace {

struct Arguments : TrainingArguments {
  Arguments() : TrainingArguments({.batchsize = 16, .epoch = 20}) {}
  std::string pictures = text("PICTURES", "", "a folder of JPEG and PNG files; none: drawn ones", needs("CAPTIONS"));
  std::string captions = text("CAPTIONS", "", "lines: the name of a file, a tab, and a caption");
  std::string cnn = choice("--cnn", {"small", "resnet50"}, "small",
                           "small, which is trained; resnet50, with --weights, which is not");
  std::string weights = text("--weights", "", "Chainer's ResNet-50-model.npz", needs("--cnn"));
  int64_t size =
      number("--size", 0, "Height and width of the pictures for the network; 0: 32, of resnet50 224", not_negative());
  int64_t words = count("--words", 10000, "Words of the vocabulary, the most frequent ones");
  int64_t unit = count("-u,--unit", 128, "Number of units");
  int64_t beams = count("--beams", 3, "Captions that are looked at side by side");
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
  const Device device = get_device(args.device);
  if (args.pictures.empty()) {
    const random::LocalStream same_pictures(1);
    args.pictures = (std::filesystem::path(args.out) / "pictures").string();
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
  const auto session = set_up_precision(args.precision, optimizer);

  const CaptionDataset train_set(known, words, model.cnn.preparation),
      validation_set(others, words, model.cnn.preparation);
  iterators::MultithreadIterator train_iter(train_set, args.batchsize);
  iterators::MultithreadIterator val_iter(validation_set, args.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.converter = join_captions, .device = device});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);
  trainer.extend(extensions::Evaluator(val_iter, model, {.converter = join_captions, .device = device}));
  const int64_t steps = args.epoch * train_set.size() / args.batchsize;
  trainer.extend(extensions::CosineShift("alpha", std::max<int64_t>(steps, 1)), {.trigger = {1, "iteration"}});
  run_training(trainer, args, {"epoch", "main/loss", "main/perp", "validation/main/perp", "elapsed_time"});
  compare_captions(model, others, words, args, 3);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: captions of pictures", [](const Arguments& args) {
    args.cnn == "small" ? train<SmallCnn>(args) : train<FrozenResNet>(args);
  });
}
