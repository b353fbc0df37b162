// Trains a recurrent language model on the words of a text with truncated backpropagation through time.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/precision.h"
#include "kusari/examples/ptb/corpus.h"
#include "kusari/examples/ptb/models.h"

using namespace kusari;

namespace {

struct Arguments {
  int64_t batchsize = 20;
  int64_t bproplen = 35;
  int64_t epoch = 39;
  std::string device = "cpu";
  double gradclip = 5;
  std::string out = "result";
  std::string resume;
  bool test = false;
  int64_t unit = 650;
  std::string model = "model.npz";
  std::string layers = "lstm";
  std::string data = "auto";
  bool static_graph = false;
  int64_t seed = -1;
  PrecisionFlags precision;
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  parser.add_option("-b,--batchsize", args.batchsize, "Number of places of the text in each mini-batch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-l,--bproplen", args.bproplen, "Number of words in each mini-batch (length of truncated BPTT)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-e,--epoch", args.epoch, "Number of sweeps over the dataset to train")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("-c,--gradclip", args.gradclip, "Gradient norm threshold to clip")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-o,--out", args.out, "Directory to output the result")->capture_default_str();
  parser.add_option("-r,--resume", args.resume, "Resume the training from this snapshot");
  parser.add_flag("--test", args.test, "Use tiny datasets for quick tests");
  parser.add_option("-u,--unit", args.unit, "Number of LSTM units in each layer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-m,--model", args.model, "Model file name to serialize, in the output directory")
      ->capture_default_str();
  parser.add_option("--layers", args.layers, "What the two layers are; tanh: an Elman network")
      ->check(CLI::IsMember(kLayers))
      ->capture_default_str();
  parser.add_option("--data", args.data, "ptb, wikitext2, generated, a file of words, or auto: the first there is")
      ->capture_default_str();
  parser.add_flag("--static-graph", args.static_graph, "Record a training step once, then replay it");
  parser.add_flag_callback(
      "--fp16", [&] { args.precision.amp = "autocast"; }, "Short for --amp autocast");
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  add_precision_flags(parser, args.precision);
  parser.parse(argc, argv);
  return args;
}

void add_perplexity(extensions::LogEntry& entry) {
  entry.set("perplexity", std::exp(entry.at("main/loss")));
  if (entry.find("validation/main/loss") != nullptr) {
    entry.set("val_perplexity", std::exp(entry.at("validation/main/loss")));
  }
}

template <class Model>
void train(const Arguments& args, const Corpus& corpus, Model& model) {
  const auto device = get_device(args.device);
  const int64_t most = args.test ? 100 : corpus.texts.train.size();
  const auto some = [&](const Array& text) { return text.slice(0, 0, std::min(most, text.size())); };
  model.to(device);

  // Set up an optimizer
  optimizers::SGD optimizer({.lr = 1});
  optimizer.setup(model);
  optimizer.add_hook(optimizer_hooks::GradientClipping(args.gradclip));
  const auto session = set_up_precision(args.precision, optimizer);

  iterators::ParallelSequentialIterator train_iter(some(corpus.texts.train), args.batchsize, {.window = args.bproplen});
  iterators::ParallelSequentialIterator val_iter(some(corpus.texts.valid), 1,
                                                 {.repeat = false, .window = args.bproplen});

  // The state goes on from step to step, gradients end where a step begins. Chainer's example adds the losses of all
  // words of a step, and clips the gradient of that sum.
  updaters::BPTTUpdater updater(
      train_iter, optimizer,
      {.device = device,
       .loss_func = [&](const Variable& x, const Variable& t) { return model(x, t) * static_cast<double>(x.shape(0)); },
       .static_graph = args.static_graph});
  training::Trainer trainer(updater, {args.epoch, "epoch"}, args.out);

  // Evaluate with the same parameters and a state of its own
  Model eval_model = copy(model, CopyMode::share);
  const int64_t interval = args.test ? 10 : 500;
  trainer.extend(extensions::Evaluator(val_iter, eval_model,
                                       {.device = device, .eval_hook = [&](auto&) { reset_states(eval_model); }}));
  trainer.extend(extensions::LogReport({.trigger = {interval, "iteration"}, .postprocess = add_perplexity}));
  trainer.extend(extensions::PrintReport({"epoch", "iteration", "perplexity", "val_perplexity", "elapsed_time"}),
                 {.trigger = {interval, "iteration"}});
  trainer.extend(extensions::ProgressBar({.update_interval = args.test ? 1 : 10}));
  trainer.extend(extensions::snapshot({.n_retains = 1}), {.trigger = {1, "epoch"}});
  if (!args.resume.empty()) serializers::load_npz(args.resume, trainer);

  trainer.run();

  // Evaluate the final model
  std::printf("test\n");
  std::printf("test perplexity: %g\n", perplexity(model, some(corpus.texts.test), args.bproplen));

  // Serialize the final model
  serializers::save_npz((std::filesystem::path(args.out) / args.model).string(), model);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: a recurrent language model");
  try {
    const Arguments args = parse(parser, argc, argv);
    if (args.seed >= 0) random::seed(static_cast<uint64_t>(args.seed));
    set_dtype(args.precision);
    const Corpus corpus = load_corpus(args.data);
    std::printf("#vocab = %lld\n", static_cast<long long>(corpus.vocabulary.size()));
    with_model(args.layers, corpus.vocabulary.size(), args.unit, [&](auto& model) { train(args, corpus, model); });
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_ptb: %s\n", error.what());
    return 1;
  }
}
