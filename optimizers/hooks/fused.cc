#include "kusari/optimizers/hooks/fused.h"

#include <cmath>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/number_text.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/optimizers/optimizer_impl.h"

namespace kusari::optimizer_hooks {

double checked_rate(const char* hook, const char* argument, double rate) {
  if (rate >= 0 && std::isfinite(rate)) return rate;
  throw ValueError(std::string(hook) + ": " + argument + " is " + general_text(rate) +
                   ": it must be finite and not negative");
}

std::vector<GradientBatch> batch_gradients(std::span<Parameter* const> parameters) {
  std::vector<GradientBatch> batches;
  for (Parameter* const parameter : parameters) {
    if (parameter->node()->grad == nullptr) continue;
    const Array& gradient = detail::own_gradient(*parameter);
    const Array& array = parameter->array();
    GradientBatch* batch = nullptr;
    for (GradientBatch& other : batches) {
      const Array& first = other.parameters.front();
      if (first.device() == array.device() && first.dtype() == array.dtype()) batch = &other;
    }
    if (batch == nullptr) batch = &batches.emplace_back();
    batch->parameters.push_back(array);
    batch->gradients.push_back(gradient);
  }
  return batches;
}

Array constant_numbers(const double* numbers, int64_t count, const Device& device) {
  GraphCapture* const capture = GraphCapture::current();
  const ScopedGraphCapture once(nullptr);
  Array kept = from_host(numbers, {count}, Dtype::float64, device);
  if (capture != nullptr) capture->on_replay(GraphCapture::When::after, [kept] {});  // holds them
  return kept;
}

void scale_gradients(std::span<Parameter* const> parameters, double rate) {
  change_gradients(parameters, kernels::ScaleHook{rate});
}

Array gradient_square_sum(std::span<Parameter* const> parameters) {
  Array sum;
  std::vector<Array> gradients;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const detail::VariableNode* const held = parameters[i]->node()->grad;
    if (held != nullptr) gradients.push_back(held->array.is_dense() ? held->array : held->array.contiguous());
    const bool last = i + 1 == parameters.size();
    if (gradients.empty() || (!last && parameters[i + 1]->device() == parameters[i]->device())) continue;
    const Device& device = gradients.front().device();
    const Array part = empty({}, Dtype::float64, device);
    launch<kernels::SquaredNorm>(device, InList(gradients), part);
    sum = sum.is_defined() ? pointwise(kernels::Add{}, sum, part.to_device(sum.device())) : part;
    gradients.clear();
  }
  return sum;
}

}  // namespace kusari::optimizer_hooks
