// Trains a small transformer on the characters of a text, as nanoGPT does (github.com/karpathy/nanoGPT).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/gpt/corpus.h"
#include "kusari/examples/gpt/model.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  Sizes sizes{.layers = count("--layers", 4, "Number of transformer blocks"),
              .heads = count("--heads", 4, "Heads of each, a divisor of the width"),
              .width = count("--width", 128, "Numbers of each place"),
              .block = count("--block", 64, "Characters that the model sees at once"),
              .dropout = real("--dropout", 0, "Dropout ratio", between(0.0, 0.99))};
  int64_t batchsize = count("-b,--batchsize", 12, "Number of blocks in each mini-batch");
  int64_t iterations = count("-i,--iterations", 2000, "Number of training steps");
  double lr = real("--lr", 1e-3, "Highest learning rate", positive());
  double min_lr = real("--min-lr", 1e-4, "Learning rate of the last step");
  int64_t warmup = number("--warmup", 100, "Steps in which the learning rate rises");
  int64_t interval = count("--interval", 250, "Steps between two evaluations and snapshots");
  int64_t eval_batches = count("--eval-batches", 50, "Mini-batches of an evaluation");
  std::string device = device_flag();
  std::string out = out_flag();
  std::string resume = resume_flag();
  std::string data = text("--data", "auto", "shakespeare, generated, a file, or auto: the first there is");
  bool static_graph = flag("--static-graph", "Record a training step once, then replay it");
  int64_t seed = seed_flag();
  PrecisionFlags precision = precision_flags(*this);
};

void train(const Arguments& args) {
  const auto device = get_device(args.device);

  // Blocks of the text, and evenly spaced ones of its end
  const Characters text = load_characters(args.data);
  const datasets::BlockDataset train_set(text.train, args.sizes.block);
  const datasets::BlockDataset val_blocks(text.val, args.sizes.block);
  const int64_t n_val = std::min(args.eval_batches * args.batchsize, val_blocks.size());
  std::vector<int64_t> order(static_cast<size_t>(val_blocks.size()));
  for (int64_t i = 0; i < val_blocks.size(); ++i) order[static_cast<size_t>(i)] = i;
  for (int64_t i = 0; i < n_val; ++i) {
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(i * (val_blocks.size() / n_val))]);
  }
  const datasets::SubDataset val_set(val_blocks, 0, n_val, order);

  auto model =
      L::classifier(make_model(text.vocabulary.size(), args.sizes),
                    {.lossfun = [](const Variable& y, const Variable& t) { return F::token_cross_entropy(y, t); },
                     .compute_accuracy = false});
  model.to(device);
  std::printf("Device: %s\n# characters: %lld\n# parameters: %lld\n\n", device.name().c_str(),
              static_cast<long long>(text.vocabulary.size()), static_cast<long long>(model.count_params()));

  optimizers::DecoupledAdamW optimizer({.lr = args.lr, .beta2 = 0.99, .weight_decay_rate = 0.1});
  optimizer.setup(model);
  for (Parameter* p : model.params()) {  // biases and factors do not decay
    if (p->ndim() < 2) p->update_rule().hyperparam()["weight_decay_rate"] = 0;
  }
  optimizer.add_hook(optimizer_hooks::GradientClipping(1));
  const auto session = set_up_precision(args.precision, optimizer);

  iterators::SerialIterator train_iter(train_set, args.batchsize);
  iterators::SerialIterator val_iter(val_set, args.batchsize, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = device, .static_graph = args.static_graph});
  training::Trainer trainer(updater, {args.iterations, "iteration"}, args.out);

  const int64_t warmup = std::min(args.warmup, args.iterations - 1);
  trainer.extend(extensions::CosineShift("lr", args.iterations - warmup,
                                         {.init = args.lr, .final_value = args.min_lr, .warmup = warmup}),
                 {.trigger = {1, "iteration"}});
  trainer.extend(extensions::Evaluator(val_iter, model, {.device = device}), {.trigger = {args.interval, "iteration"}});
  trainer.extend(extensions::snapshot({.n_retains = 1}), {.trigger = {args.interval, "iteration"}});
  trainer.extend(extensions::LogReport({.trigger = {args.interval, "iteration"}}));
  trainer.extend(extensions::PrintReport({"iteration", "main/loss", "validation/main/loss", "elapsed_time"}),
                 {.trigger = {args.interval, "iteration"}});
  trainer.extend(extensions::ProgressBar());
  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  trainer.run();

  const auto path = [&](const char* name) { return (std::filesystem::path(args.out) / name).string(); };
  serializers::save_npz(path("gpt.model"), model.predictor);
  save_sizes(path("gpt.json"), args.sizes, args.data);
  std::printf("A text:\n");
  print_text(model.predictor, text.vocabulary, text.val.slice(0, 0, 1), 300, {.temperature = 0.8, .top_k = 40});
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: a small transformer that writes characters", train);
}
