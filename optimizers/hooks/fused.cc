#include "kusari/optimizers/hooks/fused.h"

#include "kusari/framework/kernels/optimizer.h"

namespace kusari::optimizer_hooks {

std::vector<GradientBatch> batch_gradients(std::span<Parameter* const> parameters) {
  std::vector<GradientBatch> batches;
  for (Parameter* const parameter : parameters) {
    const detail::VariableNode* const held = parameter->node()->grad;
    if (held == nullptr) continue;
    if (!held->array.is_unique()) parameter->set_grad(held->array.copy());
    const Array& array = parameter->array();
    GradientBatch* batch = nullptr;
    for (GradientBatch& other : batches) {
      const Array& first = other.parameters.front();
      if (first.device() == array.device() && first.dtype() == array.dtype()) batch = &other;
    }
    if (batch == nullptr) batch = &batches.emplace_back();
    batch->parameters.push_back(array);
    batch->gradients.push_back(parameter->node()->grad->array);
  }
  return batches;
}

void scale_gradients(std::span<Parameter* const> parameters, double rate) {
  change_gradients(parameters, kernels::ScaleHook{rate});
}

namespace {

double square_sum(const Device& device, std::span<const Array> arrays) {
  const Array sum = empty({}, Dtype::float64, device);
  launch<kernels::SquaredNorm>(device, InList(arrays), sum);
  return sum.item<double>();
}

}  // namespace

double gradient_square_sum(std::span<Parameter* const> parameters) {
  double sum = 0;
  std::vector<Array> gradients;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const detail::VariableNode* const held = parameters[i]->node()->grad;
    if (held != nullptr) gradients.push_back(held->array.is_dense() ? held->array : held->array.contiguous());
    const bool last = i + 1 == parameters.size();
    if (gradients.empty() || (!last && parameters[i + 1]->device() == parameters[i]->device())) continue;
    sum += square_sum(gradients.front().device(), gradients);
    gradients.clear();
  }
  return sum;
}

double square_sum(const Array& array) {
  const Array dense = array.is_dense() ? array : array.contiguous();
  return square_sum(dense.device(), {&dense, 1});
}

}  // namespace kusari::optimizer_hooks
