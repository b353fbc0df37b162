#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/optimizer_step.h"

namespace kusari {
class Optimizer;
}

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

template <class Step>
void run_step(const Optimizer&, const StepLaunch& step) {
  step.run<Step>();
}

/// What all parameters of a group are updated by: numbers, from the hyperparameters as they are now, and who takes
/// them.
struct StepMethod {
  static constexpr size_t kMostNumbers = 16;
  using Launch = void (*)(const Optimizer& self, const StepLaunch& step);

  /// A step whose numbers do not depend on how many there were; by default `numbers` is its functor.
  template <class Numbers>
  static StepMethod constant(const Numbers& numbers, Launch launch = run_step<Numbers>) {
    StepMethod method{.launch = launch};
    method.write(numbers);
    return method;
  }
  /// A step whose numbers are schedule(t), which the device computes where that alone knows t.
  template <class Schedule>
  static StepMethod scheduled(const Schedule& schedule,
                              Launch launch = run_step<decltype(std::declval<Schedule>()(1.0))>) {
    StepMethod method{.launch = launch};
    method.write(schedule);
    static_assert(sizeof(Schedule) < sizeof(numbers), "a count is written behind it");
    method.advance = [](StepMethod& self, double t) {
      Schedule written;
      std::memcpy(&written, self.numbers, sizeof written);
      self.write(written(t));
    };
    method.launch_numbers = [](const NumbersLaunch& numbers) { numbers.run<Schedule>(); };
    return method;
  }
  bool is_scheduled() const noexcept { return advance != nullptr; }
  /// Gets the numbers of step t, which is then all that it has.
  void advance_to(int64_t t) {
    if (is_scheduled()) std::exchange(advance, nullptr)(*this, static_cast<double>(t));
  }

  Launch launch;
  void (*advance)(StepMethod& self, double t) = nullptr;
  void (*launch_numbers)(const NumbersLaunch& numbers) = nullptr;
  size_t count = 0;
  double numbers[kMostNumbers] = {};  // the first `count`: what the kernel, or the schedule, has for members

 private:
  template <class Functor>
  void write(const Functor& functor) {
    static_assert(sizeof(Functor) % sizeof(double) == 0 && std::is_trivially_copyable_v<Functor>);
    static_assert(sizeof(Functor) <= sizeof(numbers));
    std::memcpy(numbers, &functor, sizeof functor);
    count = sizeof functor / sizeof(double);
  }
};

}  // namespace kusari::detail
