#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/optimizer_step.h"

namespace kusari::detail {

/// The step of a group of parameters; see kernels::OptimizerStep.
struct StepLaunch {
  const Device& device;
  const Array& numbers;
  const Array& guard;
  const Array& loss_scale;
  InList gradients;
  InOutList arrays;
  InOutList copies;

  template <class Step>
  void run() const {
    launch<kernels::OptimizerStep<Step>>(device, numbers, guard, loss_scale, gradients, arrays, copies);
  }
  /// The parameters, or their float32 copies.
  std::span<const Array> parameters() const { return arrays.arrays().first(gradients.arrays().size()); }
  /// The numbers of Rule::Step for each parameter, by its norm and that of another tensor; see kernels::LayerNumbers.
  template <class Rule>
  Array layer_numbers(std::span<const Array> others, const Array& others_scale) const {
    const auto n = static_cast<int64_t>(others.size());
    const auto squared_norms = [&](std::span<const Array> tensors) {
      const Array squares = empty({n}, Dtype::float64, device);
      launch<kernels::SquaredNorm>(device, InList(tensors), squares);
      return squares;
    };
    const Array rows =
        empty({n, static_cast<int64_t>(sizeof(typename Rule::Step) / sizeof(double))}, Dtype::float64, device);
    launch<kernels::LayerNumbers<Rule>>(device, numbers, squared_norms(parameters()), squared_norms(others),
                                        others_scale, rows);
    return rows;
  }
};

/// The numbers of a step whose count the device knows; see kernels::StepNumbers.
struct NumbersLaunch {
  const Device& device;
  const Array& schedule;
  const Array& skipped;
  const Array& numbers;

  template <class Schedule>
  void run() const {
    launch<kernels::StepNumbers<Schedule>>(device, schedule, skipped, numbers);
  }
};

}  // namespace kusari::detail
