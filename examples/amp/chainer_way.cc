// Chainer's way: parameters and batches are float16, the optimizer updates float32 copies and scales the loss. A
// program without the first line of train() does the same with KUSARI_DTYPE=float16 (or mixed16, bfloat16, mixed_bf16)
// in the environment (run_recipe sets float32 for all recipes).
#include "kusari/examples/amp/recipe.h"

using namespace kusari;

namespace {

void train(const Task& task) {
  global_config().dtype = Dtype::float16;

  auto model = L::classifier(Mlp(1000, 10));
  model.to(task.device);
  optimizers::Adam optimizer;
  optimizer.setup(model);
  optimizer.use_fp32_update();
  optimizer.loss_scaling();  // dynamic; set_loss_scale(128) for a fixed one

  iterators::SerialIterator train_iter(task.digits.train, 100);
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = task.device});
  training::Trainer trainer(updater, {task.epoch, "epoch"});
  trainer.extend(extensions::ProgressBar());
  trainer.run();

  print_accuracy(task, model);
}

}  // namespace

int main(int argc, char** argv) { return run_recipe(argc, argv, "Mixed precision as in Chainer", train); }
