// PyTorch's way: a float32 model whose products run in 16 bits within an Autocast, and a GradScaler around the backward
// pass. The loop is written by hand, with gradients clipped where PyTorch's documentation clips them.
#include "kusari/examples/amp/recipe.h"

using namespace kusari;

namespace {

void train(const Task& task) {
  auto model = L::classifier(Mlp(1000, 10));
  model.to(task.device);
  optimizers::Adam optimizer;
  optimizer.setup(model);
  amp::GradScaler scaler;

  for_each_batch(task, [&](const Array& x, const Array& t) {
    Variable loss;
    {
      const amp::Autocast autocast({.dtype = Dtype::float16});
      loss = model(x, t);
    }
    model.cleargrads();
    scaler.scale(loss).backward();
    scaler.unscale_(optimizer);
    optimizer_hooks::GradientClipping(1.0)(model.params());
    scaler.step(optimizer);
    scaler.update();
  });
  std::printf("Loss scale: %g\n", scaler.get_scale());

  print_accuracy(task, model);
}

}  // namespace

int main(int argc, char** argv) { return run_recipe(argc, argv, "Mixed precision as in PyTorch", train); }
