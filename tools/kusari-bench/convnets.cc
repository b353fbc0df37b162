#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/version.h"
#include "kusari/framework/inference/inference_session.h"
#include "kusari/framework/links/model/cifar_cnn.h"
#include "kusari/framework/links/model/mobilenet_v2.h"
#include "kusari/framework/links/model/resnet.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tools/kusari-bench/cases.h"
#include "kusari/tools/kusari-bench/training.h"

namespace bench {
namespace {

namespace L = kusari::links;

kusari::Array draw_images(int64_t n, int64_t size) { return draw_normal({n, 3, size, size}).channels_last(); }

const char* layout() { return kusari::config().channels_last ? "channels_last" : "plain"; }

std::string switches(const Settings& settings) {
  return std::string(settings.autotune ? ",\"autotune\":true" : "") +
         (settings.save_memory ? ",\"save_memory\":true" : "");
}

template <class Model>
using ImageTraining = Training<Model, kusari::optimizers::MomentumSGD>;

kusari::optimizers::MomentumSGD optimizer() { return kusari::optimizers::MomentumSGD(0.01, 0.9); }

struct Images {
  int64_t cpu_batch, gpu_batch, size, classes;
};

template <class Model>
void train_convnet(const Settings& settings, const char* name, const char* gpu_name, Model model,
                   const Images& images) {
  const int64_t batch = batch_of(settings, images.cpu_batch, images.gpu_batch);
  ImageTraining<Model> training(settings, std::move(model), optimizer(), draw_images(batch, images.size),
                                draw_labels(batch, images.classes));
  report_training(settings, training, name, gpu_name, "ms/step", 1e3, switches(settings), layout());
}

/// The same images without a graph: define-by-run, as a static graph, or in an InferenceSession that writes into an
/// array of the caller.
template <class Model>
void infer(const Settings& settings, const char* name, Model model, int64_t size) {
  const int64_t batch = batch_of(settings, 1, 1);
  const kusari::Dtype dtype = settings.dtype.dtype();
  model.to(settings.device);
  const kusari::Array images = draw_images(batch, size).to_device(settings.device);
  const kusari::Variable x(images.astype(dtype), false);
  const auto evaluation = kusari::using_config(&kusari::Config::train, false);
  const auto no_graph = kusari::no_backprop_mode();
  auto replayed = kusari::static_graph(model);
  std::optional<kusari::InferenceSession> session;
  kusari::Arrays results;
  if (settings.session) {
    session.emplace(model, kusari::InferenceSessionOptions{.dtype = dtype});
    results = session->run({images});
  }
  const bool replays = settings.static_graph != "off";
  const Samples samples = sample(settings, [&] {
    if (session) return session->run({images}, results);
    replays ? replayed(x) : model(x);
  });
  if (settings.device.is_cpu()) {
    report(settings, (std::string(name) + "_bs" + std::to_string(batch)).c_str(), "ms", samples, 1e3,
           switches(settings) + static_graph_field(settings) + (session ? ",\"session\":true" : "") +
               training_fields(model.count_params()),
           layout());
  } else {
    report_device(settings, name, batch, samples);
  }
}

}  // namespace

void cnn_seed(const Settings& settings) {
  train_convnet(settings, "cnn_seed", "cnn", L::CifarCnn(), {32, 128, 32, 10});
}

void resnet18_cifar(const Settings& settings) {
  train_convnet(settings, "resnet18_cifar", "resnet18_cifar",
                L::ResNet18({.n_classes = 10, .stem = L::ResNetStem::cifar}), {64, 256, 32, 10});
}

void resnet50_train(const Settings& settings) {
  train_convnet(settings, "resnet50_train_bs8", "resnet50", L::ResNet50(), {8, 256, 224, 1000});
}

void mobilenet_train(const Settings& settings) {
  train_convnet(settings, "mobilenet_train_bs8", "mobilenet_v2", L::MobileNetV2(), {8, 256, 224, 1000});
}

void resnet50_infer(const Settings& settings) { infer(settings, "resnet50_infer", L::ResNet50(), 224); }

void resnet18_infer(const Settings& settings) {
  infer(settings, "resnet18_infer", L::ResNet18({.n_classes = 10, .stem = L::ResNetStem::cifar}), 32);
}

void mobilenet_infer(const Settings& settings) { infer(settings, "mobilenet_infer", L::MobileNetV2(), 224); }

void mem(const Settings& settings) {
  ImageTraining<L::ResNet50> training(settings, L::ResNet50(), optimizer(), draw_images(8, 224), draw_labels(8, 1000));
  const double before = resident_mib();
  for (int i = 0; i < 3; ++i) training.step();
  std::printf(
      "{\"bench\":\"mem.resnet50_train_bs8\",\"impl\":\"kusari-%s\","
      "\"threads\":%d,\"layout\":\"%s\",\"unit\":\"MiB\","
      "\"peak_rss\":%.0f,\"rss_before_first_step\":%.0f%s}\n",
      KUSARI_VERSION, settings.threads, layout(), peak_resident_mib(), before,
      (switches(settings) + static_graph_field(settings)).c_str());
}

}  // namespace bench
