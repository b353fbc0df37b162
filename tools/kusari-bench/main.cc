#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <CLI/CLI.hpp>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/threads.h"
#include "kusari/tools/kusari-bench/cases.h"

namespace {

const std::map<std::string, kusari::DtypePolicy> kDtypes = {
    {"float32", kusari::Dtype::float32}, {"float16", kusari::Dtype::float16}, {"bfloat16", kusari::Dtype::bfloat16},
    {"mixed16", kusari::mixed16},        {"mixed_bf16", kusari::mixed_bf16},  {"float64", kusari::Dtype::float64}};

/// Those that train by Optimizer::update, of which --gradient-times can tell something.
const std::set<std::string> kTrainings = {
    "mlp",     "small_mlp",   "cnn_seed",  "resnet18_cifar", "resnet50_train", "mobilenet_train",
    "lstm_lm", "lstm_ragged", "gpt_small", "gpt_nano"};

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(const bench::Settings&)>> cases = {
      {"op_overhead", bench::op_overhead},
      {"mlp", bench::mlp},
      {"small_mlp", bench::small_mlp},
      {"lstm_lm", bench::lstm_lm},
      {"lstm_ragged", bench::lstm_ragged},
      {"n_step", bench::n_step},
      {"gpt_small", bench::gpt_small},
      {"gpt_nano", bench::gpt_nano},
      {"attention", bench::attention},
      {"transformer_infer", bench::transformer_infer},
      {"door", bench::door},
      {"steady_state", bench::steady_state},
      {"graph_million", bench::graph_million},
      {"cnn_seed", bench::cnn_seed},
      {"resnet18_cifar", bench::resnet18_cifar},
      {"resnet50_train", bench::resnet50_train},
      {"mobilenet_train", bench::mobilenet_train},
      {"resnet50_infer", bench::resnet50_infer},
      {"resnet18_infer", bench::resnet18_infer},
      {"mobilenet_infer", bench::mobilenet_infer},
      {"retinanet_train", bench::retinanet_train},
      {"efficientdet_train", bench::efficientdet_train},
      {"detect", bench::detect},
      {"mem", bench::mem},
      {"jpeg", bench::jpeg},
      {"iterator", bench::iterator},
      {"iterator_overhead", bench::iterator_overhead},
      {"iterator_memory", bench::iterator_memory},
      {"host_cost", bench::host_cost},
      {"static_overhead", bench::static_overhead},
      {"static_chain", bench::static_chain},
      {"all_reduce", bench::all_reduce},
      {"exchange", bench::exchange}};
  CLI::App app(
      "Measures Kusari. One line of JSON per number: median and least "
      "over the timed windows.");
  std::string name;
  bench::Settings settings;
  std::optional<size_t> workspace_mib;
  app.add_option("case", name, "what to measure")->required()->check(CLI::IsMember(cases));
  app.add_option("--threads", settings.threads, "threads that Kusari uses")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seconds", settings.seconds, "time for one measurement")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--patience", settings.patience, "seconds to wait for a quiet machine")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  std::string device = "cpu";
  bool no_tf32 = false;
  app.add_option("-d,--device", device, "cpu, or cuda:N")->capture_default_str();
  app.add_option("--dtype", settings.mode, "of parameters and activations")
      ->check(CLI::IsMember(kDtypes))
      ->capture_default_str();
  app.add_option("--batch", settings.batch, "examples in a batch; 0: the case's own")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--no-tf32", no_tf32, "compute float32 products of a GPU in full precision");
  app.add_option("--workspace-mib", workspace_mib,
                 "scratch memory that a convolution on a GPU may use; otherwise the library's default")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--autotune", settings.autotune, "time the ways of computing a convolution and keep the fastest");
  app.add_flag("--save-memory", settings.save_memory,
               "compute normalizations again in backward instead of keeping them");
  app.add_option("--static-graph", settings.static_graph,
                 "record once and replay: the forward and backward computations of the model, or whole training steps")
      ->check(CLI::IsMember({"off", "model", "step"}))
      ->capture_default_str();
  app.add_flag("--session", settings.session, "in the cases of convolutional networks that infer: an InferenceSession");
  app.add_flag("--traffic", settings.traffic,
               "count kernels, bytes and memory of one training step instead of timing it; twice: list every launch");
  app.add_flag("--gradient-times", settings.gradient_times,
               "tell when in a training step each parameter's gradient is final, for tools/scaling_model");
  app.add_flag("--replay-overhead", settings.replay_overhead,
               "in the cases lstm_lm, lstm_ragged and gpt_*: a replayed step beside the sum of its kernels");
  app.add_option("--images", settings.images,
                 "tar archive of photos, for the cases jpeg and iterator, which are skipped without; iterator takes a "
                 "folder too");
  app.add_option("--workers", settings.workers, "numbers of threads or processes of the iterators")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--kinds", settings.kinds, "iterators to measure")
      ->check(CLI::IsMember({"serial", "threads", "processes"}))
      ->capture_default_str();
  app.add_option("--pixels", settings.pixels,
                 "of the batches of the case iterator: uint8, or float32 normalized by the converter")
      ->check(CLI::IsMember({"uint8", "float32"}))
      ->capture_default_str();
  app.add_option("--decode", settings.decode,
                 "of a photo in the case iterator: the whole, only the part that the crop takes, or that reduced to a "
                 "half, quarter or eighth when it is large enough")
      ->check(CLI::IsMember({"whole", "part", "reduced"}))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (settings.gradient_times && !kTrainings.contains(name)) {
    std::cerr << "kusari-bench: --gradient-times tells nothing about " << name << ", which is no training\n";
    return 1;
  }
  try {
    settings.device = kusari::get_device(device);
    settings.dtype = kDtypes.at(settings.mode);
    kusari::global_config().dtype = settings.dtype;
    kusari::global_config().use_tf32 = !no_tf32;
    if (no_tf32) settings.mode += "_strict";
    if (workspace_mib) kusari::cuda::set_max_workspace_size(*workspace_mib << 20);
    kusari::set_num_threads(settings.threads);
    kusari::random::seed(1);
    kusari::global_config().autotune = settings.autotune;
    kusari::global_config().save_memory = settings.save_memory;
    cases.at(name)(settings);
  } catch (const std::exception& error) {
    std::cerr << "kusari-bench: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
