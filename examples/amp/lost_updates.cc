// What 16 bits do to small updates, and what float32 copies of the parameters do about it. A network is trained for one
// sweep over the digits, then again with a five-hundredth of the learning rate, as late in a training. A step that is
// smaller than half a unit in the last place of its parameter leaves the parameter as it was.
#include <cstddef>

#include "kusari/examples/amp/recipe.h"

using namespace kusari;

namespace {

using Model = L::Classifier<Mlp>;

constexpr double kRate = 0.05, kLateRate = 0.0001;

void train_for(int64_t epoch, const Task& task, Model& model, double rate, bool use_fp32_update) {
  optimizers::MomentumSGD optimizer(rate);
  optimizer.setup(model);
  if (use_fp32_update) optimizer.use_fp32_update();
  if (get_dtype() == Dtype::float16) optimizer.set_loss_scale(1024);  // small gradients are not what is shown here
  for_each_batch({task.device, epoch, task.digits},
                 [&](const Array& x, const Array& t) { optimizer.update(model, x, t); });
}

// By the parameters as they are, in float32.
void print_results(const Task& task, const char* name, Model model, Model start) {
  double changed = 0, size = 0;
  for (const auto& [path, parameter] : model.namedparams()) {
    const auto before = start.param(path).array().astype(parameter->dtype()).to_vector<double>();
    const auto after = parameter->array().to_vector<double>();
    for (size_t i = 0; i < after.size(); ++i) changed += after[i] != before[i];
    size += static_cast<double>(after.size());
  }
  const auto float32 = using_config(&Config::dtype, Dtype::float32);
  model.to(Dtype::float32);
  iterators::SerialIterator digits(task.digits.test, 1000, {.repeat = false, .shuffle = false});
  const auto means = extensions::Evaluator(digits, model, {.device = task.device})();
  std::printf("%-24s test loss %.5f, parameters that changed %5.1f %%\n", name, means.front().second,
              100 * changed / size);
}

void train_in(const Task& task, const char* name, Dtype dtype, bool use_fp32_update, const Model& start) {
  const auto guard = using_config(&Config::dtype, dtype);
  Model model = start;
  model.to(dtype);
  train_for(task.epoch, task, model, kLateRate, use_fp32_update);
  print_results(task, name, model, start);
}

void train(const Task& task) {
  Model start(Mlp(100, 10));
  start.to(task.device);
  train_for(1, task, start, kRate, false);
  print_results(task, "start", start, start);
  train_in(task, "float32", Dtype::float32, false, start);
  train_in(task, "float16, float32 copies", Dtype::float16, true, start);
  train_in(task, "float16", Dtype::float16, false, start);
  train_in(task, "bfloat16, float32 copies", Dtype::bfloat16, true, start);
  train_in(task, "bfloat16", Dtype::bfloat16, false, start);
}

}  // namespace

int main(int argc, char** argv) { return run_recipe(argc, argv, "Lost updates: small steps in 16 bits", train); }
