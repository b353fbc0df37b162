#pragma once

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/optimizer_step.h"
#include "kusari/framework/links/parameter.h"

// What the hooks do to gradients, for all parameters of a device and dtype in one launch.
namespace kusari::optimizer_hooks {

/// A rate, variance or the like. Throws ValueError unless it is finite and not negative. hook: its name.
KUSARI_API double checked_rate(const char* hook, const char* argument, double rate);

/// Parameters of one device and dtype with gradients that nobody else sees.
struct GradientBatch {
  std::vector<Array> parameters;
  std::vector<Array> gradients;
};

/// Every gradient is afterwards its parameter's own array, in its memory order, so that it may be changed in place.
KUSARI_API std::vector<GradientBatch> batch_gradients(std::span<Parameter* const> parameters);
/// Op::operator()(p, g) on every element; `numbers` are the members of Op, a functor of kernels/optimizer.h, as the
/// kernel takes them.
template <class Op>
void change_gradients(const GradientBatch& batch, const Array& numbers) {
  const Device& device = batch.parameters.front().device();
  const std::span<const Array> none;
  launch<kernels::OptimizerStep<Op>>(device, numbers.to_device(device), Array(), Array(), InList(batch.parameters),
                                     InOutList(batch.gradients), InOutList(none));
}
/// Numbers in the memory of a device. Those that a recorded step reads stay for its replays.
KUSARI_API Array constant_numbers(const double* numbers, int64_t count, const Device& device);
/// The same for all parameters, with numbers that the host knows, and that depend on nothing but the hook.
template <class Op>
void change_gradients(std::span<Parameter* const> parameters, const Op& op) {
  constexpr int64_t kCount = sizeof(Op) / sizeof(double);
  for (const GradientBatch& batch : batch_gradients(parameters)) {
    double numbers[kCount];
    std::memcpy(numbers, &op, sizeof(Op));
    change_gradients<Op>(batch, constant_numbers(numbers, kCount, batch.parameters.front().device()));
  }
}

/// Calls visit(some, loss_scale) for the parameters of each loss scale that their gradients carry.
template <class Visit>
void for_each_loss_scale(std::span<Parameter* const> parameters, const Visit& visit) {
  std::vector<Parameter*> rest(parameters.begin(), parameters.end());
  while (!rest.empty()) {
    const double scale = rest.front()->loss_scale();
    std::vector<Parameter*> some, others;
    for (Parameter* const parameter : rest) (parameter->loss_scale() == scale ? some : others).push_back(parameter);
    visit(std::span<Parameter* const>(some), scale);
    rest = std::move(others);
  }
}

KUSARI_API void scale_gradients(std::span<Parameter* const> parameters, double rate);
/// The sum of squares of all gradients: 0-d, float64, on the device of the first; undefined without gradients.
KUSARI_API Array gradient_square_sum(std::span<Parameter* const> parameters);

}  // namespace kusari::optimizer_hooks
