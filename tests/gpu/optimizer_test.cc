#include "kusari/framework/kernels/optimizer.h"

#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/optimizer_step.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

/// Shapes of the tensors of one step: none, one element, ends off the packs, several chunks, and views that are not
/// aligned for packs.
struct Tensor {
  Shape shape;
  int64_t first = 0;  // elements before it in its memory
};
const std::vector<Tensor> kTensors = {{{}},      {{0, 3}},     {{7}},     {{3, 5, 4}},
                                      {{16384}}, {{33001}, 1}, {{40}, 3}, {{64}, 8}};

Array make(const Tensor& tensor, double low, double high, Dtype dtype, uint64_t seed, const Device& device) {
  const int64_t n = numel(tensor.shape);
  const Array memory = uniform_array({n + tensor.first}, low, high, dtype, seed).to_device(device);
  return memory.slice(0, tensor.first, n).reshape(tensor.shape);
}

/// Members of a functor that keep every formula in range.
std::vector<double> numbers_of(size_t count) {
  std::vector<double> numbers = {0.05, 0.9, 0.5, 0.25, 0.75, 0.125, 0.2, 0.3};
  numbers.resize(count);
  return numbers;
}

template <class Op>
std::vector<Array> run_step(const Device& device, Dtype dtype, const Array& numbers, const Array& guard = Array()) {
  std::vector<Array> read, arrays;
  uint64_t seed = 1;
  for (const Tensor& tensor : kTensors) read.push_back(make(tensor, -1, 1, dtype, seed++, device));
  for (int k = 0; k < 1 + Op::kStates; ++k) {
    // The first state is larger than the square of the second, as a mean of squares is: what is left is no rounding.
    for (const Tensor& tensor : kTensors) {
      arrays.push_back(make(tensor, k == 1 ? 5 : 0.5, k == 1 ? 6 : 2, dtype, seed++, device));
    }
  }
  const std::span<const Array> none;
  launch<kernels::OptimizerStep<Op>>(device, numbers.to_device(device),
                                     guard.is_defined() ? guard.to_device(device) : guard, Array(), InList(read),
                                     InOutList(arrays), InOutList(none));
  return arrays;
}

void check_states(const std::vector<Array>& got, const std::vector<Array>& expected, double factor = 4) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    check_same(got[i], expected[i], factor);
  }
}

TEST_CASE_TEMPLATE_DEFINE("optimizer step", Op, optimizer_step) {
  const auto device = gpu_device();
  if (!device) return;
  const Array numbers = array(numbers_of(sizeof(Op) / sizeof(double)));
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    check_states(run_step<Op>(*device, dtype, numbers), run_step<Op>(Device(), dtype, numbers));
  }
}
#define KUSARI_STEP(Op) TEST_CASE_TEMPLATE_INVOKE(optimizer_step, kernels::Op);
KUSARI_OPTIMIZER_STEPS(KUSARI_STEP)
#undef KUSARI_STEP

TEST_CASE("optimizer step: numbers of its own for each tensor") {
  const auto device = gpu_device();
  if (!device) return;
  const auto n = static_cast<int64_t>(kTensors.size());
  const Array numbers = uniform_array({n, 2}, 0.1, 0.9, Dtype::float64);
  check_states(run_step<kernels::LarsHook>(*device, Dtype::float32, numbers),
               run_step<kernels::LarsHook>(Device(), Dtype::float32, numbers));
  const std::vector<Array> arrays =
      run_step<kernels::ScaleHook>(*device, Dtype::float64, numbers.slice(1, 0, 1).copy());
  const double first = numbers.to_vector<double>()[0];
  CHECK(arrays[0].item<double>() == make(kTensors[0], 0.5, 2, Dtype::float64, 9, Device()).item<double>() * first);
}

TEST_CASE("optimizer step: a guard that is not finite stops it, on every device") {
  std::vector<Device> devices = {Device()};
  if (const auto device = gpu_device()) devices.push_back(*device);
  const Array numbers = array(numbers_of(1));
  for (const Device& device : devices) {
    CAPTURE(device.name());
    const std::vector<Array> stepped = run_step<kernels::SgdStep>(device, Dtype::float32, numbers);
    const auto with_guard = [&](double guard) {
      return run_step<kernels::SgdStep>(device, Dtype::float32, numbers, full({}, guard, Dtype::float64));
    };
    check_states(with_guard(1e300), stepped, 0);
    for (const double guard : {std::numeric_limits<double>::infinity(), std::nan("")}) {
      const std::vector<Array> kept = with_guard(guard);
      for (size_t i = 0; i < kept.size(); ++i) {
        check_same(kept[i], make(kTensors[i], 0.5, 2, Dtype::float32, kTensors.size() + 1 + i, Device()), 0);
      }
    }
  }
}

TEST_CASE("optimizer step: more tensors than one launch takes") {
  const auto device = gpu_device();
  if (!device) return;
  const auto run = [](const Device& where) {
    std::vector<Array> read, arrays;
    for (uint64_t i = 0; i < 300; ++i) {
      const auto size = static_cast<int64_t>(i % 37);
      read.push_back(uniform_array({size}, -1, 1, Dtype::float32, 2 * i).to_device(where));
      arrays.push_back(uniform_array({size}, -1, 1, Dtype::float32, 2 * i + 1).to_device(where));
    }
    const Array numbers = uniform_array({300, 1}, 0, 1, Dtype::float64).to_device(where);
    launch<kernels::OptimizerStep<kernels::SgdStep>>(where, numbers, Array(), Array(), InList(read), InOutList(arrays),
                                                     InOutList(std::span<const Array>()));
    return arrays;
  };
  check_states(run(*device), run(Device()));
}

/// A step of float32 arrays whose gradients are of another dtype and divided by a scale; `copy`: dtype of the copies.
template <class Op>
std::vector<Array> run_mixed_step(const Device& device, Dtype gradient, std::optional<Dtype> copy, double scale) {
  std::vector<Array> read, arrays, copies;
  uint64_t seed = 1;
  for (const Tensor& tensor : kTensors) read.push_back(make(tensor, -1, 1, gradient, seed++, device));
  for (int k = 0; k < 1 + Op::kStates; ++k) {
    for (const Tensor& tensor : kTensors) arrays.push_back(make(tensor, 0.5, 2, Dtype::float32, seed++, device));
  }
  for (const Tensor& tensor : kTensors) {
    if (copy) copies.push_back(make(tensor, 0, 1, *copy, seed++, device));
  }
  const Array numbers = array(numbers_of(sizeof(Op) / sizeof(double)), device);
  launch<kernels::OptimizerStep<Op>>(device, numbers, Array(), full({}, scale, Dtype::float64, device), InList(read),
                                     InOutList(arrays), InOutList(copies));
  for (size_t i = 0; i < copies.size(); ++i) {
    CHECK(copies[i].to_vector<double>() == arrays[i].astype(*copy).to_vector<double>());
  }
  return arrays;
}

TEST_CASE_TEMPLATE_DEFINE("optimizer step of float32 masters", Op, optimizer_step_of_masters) {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype gradient : {Dtype::float16, Dtype::bfloat16, Dtype::float32}) {
    CAPTURE(name(gradient));
    for (const std::optional<Dtype> copy :
         {std::optional<Dtype>(), std::optional(Dtype::float16), std::optional(Dtype::bfloat16)}) {
      check_states(run_mixed_step<Op>(*device, gradient, copy, 3), run_mixed_step<Op>(Device(), gradient, copy, 3));
    }
  }
}
TEST_CASE_TEMPLATE_INVOKE(optimizer_step_of_masters, kernels::SgdStep, kernels::MomentumSgdStep, kernels::AdamStep,
                          kernels::AmsGradStep, kernels::Smorms3Step);

TEST_CASE("optimizer step: gradients are divided by the loss scale, whatever the dtype") {
  std::vector<Device> devices = {Device()};
  if (const auto device = gpu_device()) devices.push_back(*device);
  for (const Device& device : devices) {
    CAPTURE(device.name());
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array gradient = full({100}, 64, dtype, device), p = zeros({100}, dtype, device);
      launch<kernels::OptimizerStep<kernels::SgdStep>>(device, array<double>({0.5}, device), Array(),
                                                       full({}, 128, Dtype::float64, device), InList({&gradient, 1}),
                                                       InOutList({&p, 1}), InOutList(std::span<const Array>()));
      CHECK(p.to_vector<double>() == std::vector<double>(100, -0.25));
    }
  }
}

TEST_CASE("optimizer step: dtypes that do not go together") {
  std::vector<Device> devices = {Device()};
  if (const auto device = gpu_device()) devices.push_back(*device);
  for (const Device& device : devices) {
    CAPTURE(device.name());
    const auto step = [&](Dtype gradient, Dtype array, std::optional<Dtype> copy) {
      const Array g = zeros({3}, gradient, device), p = zeros({3}, array, device);
      const Array c = copy ? zeros({3}, *copy, device) : Array();
      launch<kernels::OptimizerStep<kernels::SgdStep>>(device, zeros({1}, Dtype::float64, device), Array(), Array(),
                                                       InList({&g, 1}), InOutList({&p, 1}),
                                                       InOutList({&c, copy ? size_t{1} : size_t{0}}));
    };
    CHECK_NOTHROW(step(Dtype::bfloat16, Dtype::float32, Dtype::float16));
    CHECK_THROWS_AS(step(Dtype::float16, Dtype::bfloat16, std::nullopt), TypeError);
    CHECK_THROWS_AS(step(Dtype::float16, Dtype::float64, std::nullopt), TypeError);
    CHECK_THROWS_AS(step(Dtype::int32, Dtype::int32, std::nullopt), TypeError);
    CHECK_THROWS_AS(step(Dtype::float32, Dtype::float32, Dtype::float64), TypeError);
    CHECK_THROWS_AS(step(Dtype::float16, Dtype::float16, Dtype::float16), TypeError);
  }
}

TEST_CASE("numbers of a step whose count the device knows") {
  const auto device = gpu_device();
  if (!device) return;
  const auto check = [&]<class Schedule>(const Schedule& schedule) {
    std::vector<double> counted(sizeof(Schedule) / sizeof(double) + 1, 12);
    std::memcpy(counted.data(), &schedule, sizeof(schedule));
    const auto expected = schedule(7);
    const auto n = static_cast<int64_t>(sizeof(expected) / sizeof(double));
    const Array numbers = empty({n}, Dtype::float64, *device);
    launch<kernels::StepNumbers<Schedule>>(*device, array(counted, *device), full({}, 5, Dtype::float64, *device),
                                           numbers);
    check_same(numbers, from_host(&expected, {n}, Dtype::float64), 10);
  };
  const kernels::AdamSchedule adam{0.1, 0.9, 0.999, 1e-8, 1, 0.01};
  check(adam);
  check(kernels::AdaBoundSchedule{adam, 0.5, 0.25});
  check(kernels::MsvagSchedule{0.1, 0.9, 1, 0.01});
  check(kernels::NoiseSchedule{0.5});
  check(kernels::RAdamSchedule{0.1, 0.9, 0.999, 1e-8, 0.01});
  check(kernels::NAdamSchedule{0.1, 0.9, 0.999, 1e-8, 0.01, 0.25});
}

TEST_CASE("the loss scale follows its rule on the device as on the host") {
  const auto device = gpu_device();
  if (!device) return;
  const double infinity = std::numeric_limits<double>::infinity();
  const kernels::LossScaleRule rules[] = {
      {2, 0.5, 2, 1, infinity, 0}, {1.25, 0.5, 1, 1, 40, 2}, {1, 1, 1, 0, infinity, 0}};
  const double norms[] = {1, 2, 0, infinity, 1, 1, std::nan(""), -infinity, 1, 1, 1, 1, 1};
  for (const kernels::LossScaleRule& rule : rules) {
    kernels::LossScaleState expected{8, 0, 0, 0, 1};
    const Array state = from_host(&expected, {5}, Dtype::float64, *device);
    for (const double norm : norms) {
      expected = rule(expected, norm);
      launch<kernels::LossScaleUpdate>(*device, full({}, norm, Dtype::float64, *device), rule, state);
      check_same(state, from_host(&expected, {5}, Dtype::float64), 1);
    }
  }
}

TEST_CASE("tensors are converted together") {
  const auto device = gpu_device();
  if (!device) return;
  const auto convert = [](const Device& where, Dtype source, Dtype target, double factor) {
    std::vector<Array> from, to;
    uint64_t seed = 1;
    for (const Tensor& tensor : kTensors) {
      from.push_back(make(tensor, -2, 2, source, seed, where));
      to.push_back(make(tensor, 0, 1, target, 100 + seed++, where));
    }
    launch<kernels::ConvertTensors>(where, factor, Array(), InList(from), InOutList(to));
    return to;
  };
  for (const Dtype source : kFloatingDtypes) {
    for (const Dtype target : kFloatingDtypes) {
      CAPTURE(name(source));
      CAPTURE(name(target));
      for (const double factor : {1.0, 0.3}) {
        check_states(convert(*device, source, target, factor), convert(Device(), source, target, factor), 0);
      }
    }
  }
}

TEST_CASE("tensors are divided by a scale in device memory, in place as well") {
  std::vector<Device> devices = {Device()};
  if (const auto device = gpu_device()) devices.push_back(*device);
  for (const Device& device : devices) {
    CAPTURE(device.name());
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array x = full({1001}, 48, dtype, device), wide = empty({1001}, Dtype::float64, device);
      const Array scale = full({}, 16, Dtype::float64, device);
      launch<kernels::ConvertTensors>(device, Params<double>(0.5), scale, InList({&x, 1}), InOutList({&wide, 1}));
      CHECK(wide.to_vector<double>() == std::vector<double>(1001, 1.5));
      launch<kernels::ConvertTensors>(device, Params<double>(1.0), scale, InList({&x, 1}), InOutList({&x, 1}));
      CHECK(x.to_vector<double>() == std::vector<double>(1001, 3));
    }
  }
}

TEST_CASE("squared norms of all tensors and of each") {
  const auto device = gpu_device();
  if (!device) return;
  const auto norms = [](const Device& where, std::vector<Dtype> dtypes, size_t repeat, bool each) {
    std::vector<Array> x;
    uint64_t seed = 1;
    for (size_t r = 0; r < repeat; ++r) {
      for (const Tensor& tensor : kTensors) {
        x.push_back(make(tensor, -2, 2, dtypes[seed % dtypes.size()], seed, where));
        ++seed;
      }
    }
    const Array y = empty(each ? Shape{static_cast<int64_t>(x.size())} : Shape{}, Dtype::float64, where);
    launch<kernels::SquaredNorm>(where, InList(x), y);
    return y;
  };
  for (const bool each : {false, true}) {
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      check_same(norms(*device, {dtype}, 1, each), norms(Device(), {dtype}, 1, each), 10);
    }
    const std::vector<Dtype> mixed = {Dtype::float32, Dtype::float16, Dtype::float64};
    check_same(norms(*device, mixed, 30, each), norms(Device(), mixed, 30, each), 10);
    CHECK(norms(*device, mixed, 30, each).to_vector<double>() == norms(*device, mixed, 30, each).to_vector<double>());
  }
  const Array none = full({}, 7, Dtype::float64, *device);
  launch<kernels::SquaredNorm>(*device, InList({}), none);
  CHECK(none.item<double>() == 0);
  const Array integers = ones({2}, Dtype::int32, *device);
  CHECK_THROWS_AS(launch<kernels::SquaredNorm>(*device, InList({&integers, 1}), none), TypeError);
}

TEST_CASE("squared norms: infinities and NaN are seen") {
  const auto device = gpu_device();
  if (!device) return;
  for (const double value : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    const Array x = zeros({40000}, Dtype::float16, *device);
    x.slice(0, 39999, 1).fill(value);
    const Array y = empty({}, Dtype::float64, *device);
    launch<kernels::SquaredNorm>(*device, InList({&x, 1}), y);
    CHECK(!std::isfinite(y.item<double>()));
  }
}

TEST_CASE("numbers of gradient clipping and LARS") {
  std::vector<Device> devices = {Device()};
  if (const auto device = gpu_device()) devices.push_back(*device);
  for (const Device& device : devices) {
    CAPTURE(device.name());
    const auto clipping = [&](double square) {
      const Array numbers = empty({1}, Dtype::float64, device);
      launch<kernels::GradientClippingNumbers>(device, full({}, square, Dtype::float64, device),
                                               kernels::ClippingRate{2}, numbers);
      return numbers.item<double>();
    };
    CHECK(clipping(16) == 0.5);
    CHECK(clipping(4) == 1);
    CHECK(clipping(std::nan("")) == 1);
    const Array numbers = empty({2, 2}, Dtype::float64, device);
    launch<kernels::GradientLarsNumbers>(device, array<double>({16, 0.25}, device), array<double>({1, 1}, device),
                                         kernels::LarsRate{1, 0.25, 0}, numbers);
    CHECK(numbers.to_vector<double>() == std::vector<double>{0.25, 2, 0.25, 1});  // 4 / (1 + 0.25 * 4); a norm <= 1
  }
}

}  // namespace
}  // namespace kusari::testing
