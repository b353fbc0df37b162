#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/links/detection/detection_train_chain.h"
#include "kusari/framework/links/detection/efficientdet.h"
#include "kusari/framework/links/detection/retinanet.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tools/kusari-bench/cases.h"
#include "kusari/tools/kusari-bench/training.h"

namespace bench {
namespace {

namespace L = kusari::links;

constexpr int64_t kSize = 300, kClasses = 80, kBoxes = 8;

const char* image_layout() { return kusari::config().channels_last ? "channels_last" : "plain"; }

/// Images and the targets of some boxes in each.
struct DetectionBatch {
  kusari::Array x, loc, label;

  DetectionBatch(const L::Detector& model, int64_t n) {
    const L::AnchorCoder coder = model.coder(kSize, kSize);
    const auto anchors = static_cast<int64_t>(coder.anchors().size());
    x = draw_normal({n, 3, kSize, kSize}).channels_last();
    loc = kusari::empty({n, anchors, 4}, kusari::Dtype::float32);
    label = kusari::empty({n, anchors}, kusari::Dtype::int32);
    const auto side = [] { return static_cast<float>(40 + 200 * draw()); };
    for (int64_t i = 0; i < n; ++i) {
      std::vector<kusari::Box> bbox;
      std::vector<int32_t> classes;
      for (int64_t k = 0; k < kBoxes; ++k) {
        const float height = side(), width = side();
        const float y = static_cast<float>(draw()) * (kSize - height),
                    left = static_cast<float>(draw()) * (kSize - width);
        bbox.push_back({y, left, y + height, left + width});
        classes.push_back(static_cast<int32_t>(draw() * kClasses));
      }
      const L::AnchorTargets targets = coder.encode(bbox, classes);
      loc.at(i).copy_from(targets.loc);
      label.at(i).copy_from(targets.label);
    }
  }
};

/// Training of a detector on one batch, as Training is of a classifier.
template <class Model>
class DetectionTraining {
 public:
  DetectionTraining(const Settings& settings, Model model, int64_t n)
      : chain_{std::move(model)}, optimizer_{0.01, 0.9} {
    const DetectionBatch batch(chain_.model, n);
    const auto on_device = [&](const kusari::Array& array) {
      return kusari::Variable(array.to_device(settings.device), false);
    };
    inputs_ = {kusari::Variable(batch.x.to_device(settings.device).astype(settings.dtype.dtype()), false),
               on_device(batch.loc), on_device(batch.label)};
    chain_.to(settings.device);
    optimizer_.setup(chain_);
    prepare_for(settings, optimizer_);
    if (settings.static_graph == "step") static_step_.emplace(kusari::StaticGraphOptions{}, loss_of(), false);
    if (settings.static_graph == "model") static_chain_.emplace(chain_);
  }
  DetectionTraining(const DetectionTraining&) = delete;
  DetectionTraining& operator=(const DetectionTraining&) = delete;

  void step() {
    if (static_step_) return static_step_->update(optimizer_, inputs_);
    optimizer_.update([this] {
      return static_chain_ ? (*static_chain_)(inputs_[0], inputs_[1], inputs_[2])
                           : chain_(inputs_[0], inputs_[1], inputs_[2]);
    });
  }
  int64_t parameters() { return chain_.count_params(); }
  int64_t batch() const { return inputs_[0].shape()[0]; }

 private:
  kusari::updaters::StaticStep::LossOf loss_of() {
    return [this](kusari::Optimizer&, std::span<const kusari::Variable> inputs) {
      return chain_(inputs[0], inputs[1], inputs[2]);
    };
  }

  L::DetectionTrainChain<Model> chain_;
  kusari::optimizers::MomentumSGD optimizer_;
  std::vector<kusari::Variable> inputs_;
  std::optional<kusari::updaters::StaticStep> static_step_;
  std::optional<kusari::StaticGraph<L::DetectionTrainChain<Model>&>> static_chain_;
};

template <class Model>
void train_detector(const Settings& settings, const char* name, Model model) {
  const int64_t batch = batch_of(settings, 2, 32);
  DetectionTraining<Model> training(settings, std::move(model), batch);
  kusari::memory::reset_max_allocated();
  training.step();
  const int64_t held = kusari::memory::statistics().max_allocated >> 20;  // of arrays, parameters among them
  report_training(settings, training, (std::string(name) + "_bs" + std::to_string(batch)).c_str(), name, "ms/step", 1e3,
                  ",\"peak_arrays_mib\":" + std::to_string(held) + (settings.autotune ? ",\"autotune\":true" : ""),
                  image_layout());
}

/// One photo of 480 x 640 as a detector finds things in it, and the network alone.
template <class Model>
void detect_with(const Settings& settings, const std::string& name, Model model) {
  model.preparation = {.fit = L::DetectorFit::longer_side, .size = 512};
  model.decoding.score_thresh = 0.05;
  model.to(settings.device);
  const kusari::Array photo = (draw_normal({3, 480, 640}) * 50.0 + 128.0).astype(kusari::Dtype::uint8);
  const auto evaluation = kusari::using_config(&kusari::Config::train, false);
  const auto no_graph = kusari::no_backprop_mode();
  const kusari::Variable x(model.batch_of({model.prepare(photo)}), false);
  const Samples network = sample(settings, [&] { model(x); });
  const Samples whole = sample(settings, [&] { model.predict({photo}); });
  report(settings, ("detect." + name + ".network").c_str(), "ms", network, 1e3, "", image_layout());
  report(settings, ("detect." + name).c_str(), "ms", whole, 1e3, "", image_layout());
}

}  // namespace

void retinanet_train(const Settings& settings) {
  train_detector(settings, "retinanet_train", L::RetinaNet({.n_classes = kClasses, .depth = 18}));
}

void efficientdet_train(const Settings& settings) {
  train_detector(settings, "efficientdet_train", L::EfficientDet({.n_classes = kClasses}));
}

void detect(const Settings& settings) {
  detect_with(settings, "retinanet", L::RetinaNet({.n_classes = kClasses, .depth = 18}));
  detect_with(settings, "efficientdet", L::EfficientDet({.n_classes = kClasses}));
}

}  // namespace bench
