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
