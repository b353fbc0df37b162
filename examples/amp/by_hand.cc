// By hand, as before there were libraries for it: a float16 model (network_to_half), a list of float32 masters that the
// optimizer changes, and a fixed loss scale.
#include "kusari/examples/amp/recipe.h"

using namespace kusari;

namespace {

constexpr double kLossScale = 1024;

void train(const Task& task) {
  auto model = L::classifier(Mlp(1000, 10));
  model.to(task.device);
  amp::to_fp16(model);
  global_config().dtype = Dtype::float16;  // of the batches
  model.predictor(
      zeros({1, task.digits.train[0][0].size()}, Dtype::float16, task.device));  // gives the layers their sizes

  auto [model_params, master_params] = amp::prep_param_lists(model);
  optimizers::Adam optimizer;
  optimizer.setup(master_params);

  for_each_batch(task,
                 [&, &model_params = model_params, &master_params = master_params](const Array& x, const Array& t) {
                   const Variable loss = model(x, t);
                   model.cleargrads();
                   loss.backward({.loss_scale = kLossScale});
                   amp::model_grads_to_master_grads(model_params, master_params);
                   optimizer.update();
                   amp::master_params_to_model_params(model_params, master_params);
                 });

  print_accuracy(task, model);
}

}  // namespace

int main(int argc, char** argv) { return run_recipe(argc, argv, "Mixed precision by hand", train); }
