// apex's way: one line makes a float32 model and its optimizer mixed. "O1" converts the inputs of functions, "O2" makes
// the model float16 with float32 normalization and masters, "O3" all of it float16, "O0" nothing.
#include "kusari/examples/amp/recipe.h"

using namespace kusari;

namespace {

void train(const Task& task) {
  auto model = L::classifier(Mlp(1000, 10));
  model.to(task.device);
  optimizers::Adam optimizer;
  optimizer.setup(model);
  const auto session = amp::initialize(model, optimizer, "O2");

  for_each_batch(task, [&](const Array& x, const Array& t) {
    const Variable loss = model(x, t);
    model.cleargrads();
    amp::scale_loss(loss, optimizer).backward();
    optimizer.update();
  });

  print_accuracy(task, model);
}

}  // namespace

int main(int argc, char** argv) { return run_recipe(argc, argv, "Mixed precision as in apex", train); }
