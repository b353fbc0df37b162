// TensorFlow's way: one line, and every training function of the optimizer runs in 16 bits where that is safe, with a
// loss scale. Model and training loop know nothing of it.
#include "kusari/examples/amp/recipe.h"

using namespace kusari;

namespace {

void train(const Task& task) {
  auto model = L::classifier(Mlp(1000, 10));
  model.to(task.device);
  optimizers::Adam optimizer;
  optimizer.setup(model);
  amp::auto_mixed_precision(optimizer);

  for_each_batch(task, [&](const Array& x, const Array& t) { optimizer.update(model, x, t); });

  print_accuracy(task, model);
}

}  // namespace

int main(int argc, char** argv) { return run_recipe(argc, argv, "Mixed precision as in TensorFlow", train); }
