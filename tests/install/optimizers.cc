// Usage: optimizers [DEVICE]
// Trains digits with each optimizer of user_optimizers.h: in float32, by a static graph, and in 16 bits with float32
// copies and dynamic loss scaling; each saved and resumed in the middle, to the same bits. MNIST, where
// $KUSARI_DATASET_ROOT has it, else digits that are made on the spot.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "user_optimizers.h"

using namespace kusari;

class Mlp : public Chain {
 public:
  Mlp() : l1{*this, "l1", 784, 100}, l2{*this, "l2", 100, 10} {}
  Variable operator()(const Variable& x) const { return l2(F::relu(l1(F::cast(x, l1.W.dtype())))); }

 private:
  Child<L::Linear> l1, l2;
};

struct Case {
  const char* name;
  Dtype dtype = Dtype::float32;
  bool static_graph = false;
};

template <class Method>
class Training {
 public:
  Training(const datasets::TrainTest& digits, const Device& device, const Case& with, double lr)
      : device_{device}, digits_{digits}, model_{L::classifier(Mlp())}, iterator_{digits.train, 100} {
    model_.to(with.dtype);
    method_.lr = lr;
    method_.setup(model_);
    updaters::StandardUpdaterOptions options{.device = device, .static_graph = with.static_graph};
    if (is_half(with.dtype)) {
      method_.use_fp32_update();
      options.loss_scaling = LossScalingOptions{};
    }
    updater_.emplace(iterator_, method_, options);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) updater_->update();
  }
  void save(const std::string& path) { serializers::save_npz(path, *updater_); }
  void load(const std::string& path) { serializers::load_npz(path, *updater_); }
  std::vector<float> values() {
    std::vector<float> all;
    for (const Parameter* parameter : model_.params()) {
      for (const float value : parameter->array().to_vector<float>()) all.push_back(value);
    }
    return all;
  }
  double accuracy() {
    const auto arrays = datasets::concat_examples(digits_.test.slice({.stop = 1000}), device_);
    const auto no_graph = no_backprop_mode();
    model_(arrays[0], arrays[1]);
    return model_.accuracy.item<double>();
  }

 private:
  Device device_;
  const datasets::TrainTest& digits_;
  L::Classifier<Mlp> model_;
  Method method_;
  iterators::SerialIterator iterator_;
  std::optional<updaters::StandardUpdater> updater_;
};

template <class Method>
void try_out(const datasets::TrainTest& digits, const Device& device, double lr) {
  constexpr int kHalf = 150;
  const std::string path = "optimizers_" + std::string(Method().name()) + ".npz";
  const Case cases[] = {{"float32"},
                        {"float32, static graph", Dtype::float32, true},
                        {"float16", Dtype::float16},
                        {"float16, static graph", Dtype::float16, true}};
  for (const Case& with : cases) {
    Training<Method> whole(digits, device, with, lr), resumed(digits, device, with, lr);
    whole.run(kHalf);
    whole.save(path);
    whole.run(kHalf);
    resumed.load(path);
    resumed.run(kHalf);
    const double accuracy = whole.accuracy();
    std::printf("%s, %s, %s: accuracy %.3f\n", Method().name(), with.name, device.name().c_str(), accuracy);
    std::fflush(stdout);
    if (whole.values() != resumed.values()) throw std::runtime_error("the resumed run ends elsewhere");
    if (!(accuracy > 0.85)) throw std::runtime_error("it learns too little");
  }
}

int main(int argc, char** argv) {
  const char* const root = std::getenv("KUSARI_DATASET_ROOT");
  const bool has_mnist = root != nullptr && std::filesystem::exists(std::string(root) + "/mnist");
  const datasets::TrainTest digits =
      has_mnist ? datasets::get_mnist() : datasets::get_stroke_digits({.n_train = 30000, .n_test = 1000});
  const Device device = get_device(argc > 1 ? argv[1] : "cpu");
  try_out<user::Lion>(digits, device, 1e-3);
  try_out<user::Adafactor>(digits, device, 0.02);
}
