#include "kusari/framework/functions/array/reverse_sequence.h"

#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/index_plan.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/array_math.h"

namespace kusari::functions {

Variable reverse_sequence(const Variable& x, const Variable& lengths, int64_t time_axis, int64_t batch_axis) {
  const char* const call = "F::reverse_sequence";
  expect_given(x, call, "x");
  expect_given(lengths, call, "lengths");
  const int time = normalize_axis(time_axis, x.ndim(), call), batch = normalize_axis(batch_axis, x.ndim(), call);
  if (time == batch) {
    throw ValueError(std::string(call) + ": time_axis is " + std::to_string(time_axis) + " and batch_axis is " +
                     std::to_string(batch_axis) + ": they must differ");
  }
  const int64_t steps = x.shape()[time], examples = x.shape()[batch];
  if (!is_integral(lengths.dtype()) || lengths.dtype() == Dtype::bool_ || lengths.shape() != Shape{examples}) {
    throw TypeError(std::string(call) + ": lengths has shape " + to_string(lengths.shape()) + " and dtype " +
                    name(lengths.dtype()) + ": it must be an integer for each of the " + std::to_string(examples) +
                    " examples");
  }
  const Array length = lengths.array().astype(Dtype::int64);
  if (length.device().is_cpu() && GraphCapture::current() == nullptr) {
    for (const int64_t each : length.to_vector<int64_t>()) {
      if (each < 0 || each > steps) {
        throw ValueError(std::string(call) + ": lengths has " + std::to_string(each) + " but x has " +
                         std::to_string(steps) + " elements along axis " + std::to_string(time) +
                         ": lengths must be from 0 to that");
      }
    }
  }
  if (x.size() == 0) return x;

  const Array step = host_constant([&] { return arange(steps, Dtype::int64, length.device()).reshape({steps, 1}); });
  const Array example = host_constant([&] { return arange(examples, Dtype::int64, length.device()); });
  const Index places[] = {xp::where(step < length, length - 1 - step, step), example};
  const int64_t source[] = {time, batch}, front[] = {0, 1};
  const Variable moved = moveaxis(x, source, front);
  return moveaxis(IndexPlan(call, moved.shape(), places).take(moved), front, source);
}

}  // namespace kusari::functions
