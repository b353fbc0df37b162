#include "kusari/framework/static_graph/passes/steps_of_results.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kusari/framework/core/basic_kernels.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/static_graph/passes/constants.h"

namespace kusari::graphs {

namespace {
using Kind = LaunchArgument::Kind;
}  // namespace

bool StepsOfResults::is_fixed(const View& numbers) const {
  if (!numbers.is_defined()) return true;
  return numbers.dtype == Dtype::float32 && is_constant(program_, dependencies_, numbers.slot);
}

View StepsOfResults::constant(const Shape& shape, const Device& device) {
  const auto bytes = static_cast<size_t>(numel(shape) * itemsize(Dtype::float32));
  const SlotIndex slot = program_.add_slot({.kind = Slot::Kind::constant, .device = device, .bytes = bytes});
  return view_of(slot, shape, contiguous_strides(shape), Dtype::float32);
}

View StepsOfResults::divided(const View& numbers, const View& scale, const Device& device) {
  const View result = constant(numbers.shape, device);
  View spread = scale;
  spread.shape = numbers.shape;
  spread.strides = Strides::filled(numbers.shape.ndim(), 0);
  steps_.push_back(
      make_step<kernels::Pointwise<kernels::Div>>(device, Phase::constant,
                                                  {params_of(kernels::Div{}), operand_of(Kind::in, numbers),
                                                   operand_of(Kind::in, spread), operand_of(Kind::out, result)}));
  return result;
}

View StepsOfResults::one(const Device& device) {
  if (!one_) {
    one_ = constant({}, device);
    steps_.push_back(
        make_step<kernels::Fill>(device, Phase::constant, {params_of(Scalar(1.0f)), operand_of(Kind::out, *one_)}));
  }
  return *one_;
}

void StepsOfResults::insert() {
  const auto at = std::ranges::find_if(program_.steps, [](const Step& s) { return s.phase != Phase::constant; });
  program_.steps.insert(at, std::move_iterator(steps_.begin()), std::move_iterator(steps_.end()));
  steps_.clear();
}

}  // namespace kusari::graphs
