// fastai's way: an extension of the trainer sets mixed precision up when the training begins, and gives the float32
// model back when it ends. {.recipe = extensions::MixedPrecisionRecipe::to_fp16} makes the model itself float16
// meanwhile.
#include "kusari/examples/amp/recipe.h"

using namespace kusari;

namespace {

void train(const Task& task) {
  auto model = L::classifier(Mlp(1000, 10));
  model.to(task.device);
  optimizers::Adam optimizer;
  optimizer.setup(model);

  iterators::SerialIterator train_iter(task.digits.train, 100);
  updaters::StandardUpdater updater(train_iter, optimizer, {.device = task.device});
  training::Trainer trainer(updater, {task.epoch, "epoch"});
  trainer.extend(extensions::MixedPrecision());
  trainer.extend(extensions::ProgressBar());
  trainer.run();

  print_accuracy(task, model);
}

}  // namespace

int main(int argc, char** argv) { return run_recipe(argc, argv, "Mixed precision as in fastai", train); }
