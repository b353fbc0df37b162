// Trains a small transformer on the characters of a text, as nanoGPT does (github.com/karpathy/nanoGPT).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/gpt/corpus.h"
#include "kusari/examples/gpt/model.h"
#include "kusari/examples/precision.h"

using namespace kusari;

namespace {

struct Arguments {
  Sizes sizes;
  int64_t batchsize = 12;
  int64_t iterations = 2000;
  double lr = 1e-3;
  double min_lr = 1e-4;
  int64_t warmup = 100;
  int64_t interval = 250;
  int64_t eval_batches = 50;
  std::string device = "cpu";
  std::string out = "result";
  std::string resume;
  std::string data = "auto";
  bool static_graph = false;
  int64_t seed = -1;
  PrecisionFlags precision;
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  const auto positive = [&](const std::string& name, int64_t& value, const std::string& what) {
    parser.add_option(name, value, what)->check(CLI::PositiveNumber)->capture_default_str();
  };
  positive("--layers", args.sizes.layers, "Number of transformer blocks");
  positive("--heads", args.sizes.heads, "Heads of each, a divisor of the width");
  positive("--width", args.sizes.width, "Numbers of each place");
  positive("--block", args.sizes.block, "Characters that the model sees at once");
  parser.add_option("--dropout", args.sizes.dropout, "Dropout ratio")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  positive("-b,--batchsize", args.batchsize, "Number of blocks in each mini-batch");
  positive("-i,--iterations", args.iterations, "Number of training steps");
  parser.add_option("--lr", args.lr, "Highest learning rate")->check(CLI::PositiveNumber)->capture_default_str();
  parser.add_option("--min-lr", args.min_lr, "Learning rate of the last step")->capture_default_str();
  parser.add_option("--warmup", args.warmup, "Steps in which the learning rate rises")->capture_default_str();
  positive("--interval", args.interval, "Steps between two evaluations and snapshots");
  positive("--eval-batches", args.eval_batches, "Mini-batches of an evaluation");
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-o,--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_option("-r,--resume", args.resume, "Resume the training from this snapshot");
  parser.add_option("--data", args.data, "shakespeare, generated, a file, or auto: the first there is")
      ->capture_default_str();
  parser.add_flag("--static-graph", args.static_graph, "Record a training step once, then replay it");
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  add_precision_flags(parser, args.precision);
  parser.parse(argc, argv);
  return args;
}

void train(const Arguments& args) {
  if (args.seed >= 0) random::seed(static_cast<uint64_t>(args.seed));
  const auto device = get_device(args.device);
  set_dtype(args.precision);

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
  CLI::App parser("Kusari example: a small transformer that writes characters");
  try {
    train(parse(parser, argc, argv));
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_gpt: %s\n", error.what());
    return 1;
  }
}
