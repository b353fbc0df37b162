// What float16 does to small gradients, and what loss scaling does about it. A deep autoencoder of sigmoid layers is
// trained in float32, in float16, and in float16 with loss scaling. The tables tell which share of each layer's
// gradients is zero or subnormal in float16; where all are zero, a layer learns nothing.
#include "kusari/examples/amp/recipe.h"

using namespace kusari;

namespace {

// Gives its input again through 16 numbers. The mean over all pixels of a batch makes gradients small, and each sigmoid
// makes them smaller.
class Autoencoder : public Chain {
 public:
  Autoencoder() : layers{*this, "layers"} {
    const int64_t sizes[] = {784, 256, 64, 16, 64, 256, 784};
    for (size_t i = 0; i < 6; ++i) layers.append(L::Linear(sizes[i], sizes[i + 1]));
  }
  Variable operator()(const Variable& x, const Variable&) const {
    Variable h = x;
    for (size_t i = 0; i < layers.size(); ++i) h = F::sigmoid(layers[i](h));
    const Variable loss = F::mean_squared_error(h, x);
    report({{"loss", loss}}, *this);
    return loss;
  }

  Child<ChainList<L::Linear>> layers;
};

void train_in(const Task& task, const std::string& name, Dtype dtype, bool scales_loss) {
  random::seed(0);
  global_config().dtype = dtype;
  Autoencoder model;
  model.to(task.device);
  optimizers::Adam optimizer;
  optimizer.setup(model);
  optimizer.use_fp32_update();
  if (scales_loss) optimizer.loss_scaling();

  iterators::SerialIterator train_iter(task.digits.train, 100);
  iterators::SerialIterator test_iter(task.digits.test, 100, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = task.device});
  training::Trainer trainer(updater, {task.epoch, "epoch"});
  extensions::GradientStatistics statistics({.depth = 2, .range = Dtype::float16, .filename = "gradients_" + name});
  trainer.extend(statistics);
  trainer.run();
  const auto means = extensions::Evaluator(test_iter, model, {.device = task.device})();
  std::printf("%s: test loss %.5f\n%s\n", name.c_str(), means.front().second, statistics.table().c_str());
}

void train(const Task& task) {
  train_in(task, "float32", Dtype::float32, false);
  train_in(task, "float16", Dtype::float16, false);
  train_in(task, "float16_scaled", Dtype::float16, true);
}

}  // namespace

int main(int argc, char** argv) { return run_recipe(argc, argv, "Overflow lab: gradients in float16", train); }
