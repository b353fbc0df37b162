#include "kusari/framework/functions/array/scatter_elements.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/element_plan.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/maximum.h"
#include "kusari/framework/functions/math/minimum.h"
#include "kusari/framework/kernels/array_math.h"

namespace kusari::functions {
namespace {

/// The dtype of the arithmetic.
Dtype scatter_dtype(Dtype dtype) {
  if (is_integral(dtype)) return Dtype::int64;
  return is_half(dtype) ? Dtype::float32 : dtype;
}

/// How many updates each element of x gets.
Array update_counts(const IndexPlan& plan, const Array& flags, Dtype dtype) {
  return plan.put(Variable(flags.astype(dtype), false)).array();
}

Variable combined(const Variable& a, const Variable& b, ScatterReduction reduction) {
  if (reduction == ScatterReduction::mul) return a * b;
  const bool is_max = reduction == ScatterReduction::max;
  if (is_floating(a.dtype())) return is_max ? maximum(a, b) : minimum(a, b);
  return Variable(is_max ? xp::maximum(a.array(), b.array()) : xp::minimum(a.array(), b.array()), false);
}

/// For each update the number of earlier ones that meet in its element.
std::vector<int64_t> ranks_of_updates(const char* call, const IndexPlan& plan, const Variable& x) {
  const Array numbers = arange(x.size(), Dtype::int64, x.device()).reshape(x.shape());
  const std::vector<int64_t> places = plan.take(Variable(numbers, false)).array().to_vector<int64_t>();
  std::vector<int64_t> met = host_vector<int64_t>(x.shape(), call);
  std::vector<int64_t> ranks;
  for (const int64_t place : places) ranks.push_back(met[static_cast<size_t>(place)]++);
  return ranks;
}

/// Step by step, in each of which no two updates meet.
Variable reduce_in_steps(const char* call, const IndexPlan& plan, const Variable& x, const Variable& updates,
                         ScatterReduction reduction) {
  const std::vector<int64_t> ranks = ranks_of_updates(call, plan, x);
  const int64_t steps = ranks.empty() ? 0 : *std::max_element(ranks.begin(), ranks.end()) + 1;
  const Array rank = array(ranks, updates.shape(), x.device());
  const Variable zero(zeros({}, x.dtype(), x.device()), false);
  Variable y = x;
  for (int64_t step = 0; step < steps; ++step) {
    const Array now = rank == step;
    const Array meets = update_counts(plan, now, Dtype::int32) > 0;
    const Variable put = plan.put(where(Variable(now, false), updates, zero));
    y = where(Variable(meets, false), combined(y, put, reduction), y);
  }
  return y;
}

Variable scatter(const char* call, const IndexPlan& plan, const Variable& x, const Variable& updates,
                 ScatterReduction reduction) {
  expect_given(updates, call, "updates");
  if (x.dtype() != updates.dtype()) {
    throw TypeError(std::string(call) + ": x has dtype " + name(x.dtype()) + " but updates has dtype " +
                    name(updates.dtype()) + ": x.dtype must equal updates.dtype");
  }
  if (updates.shape() != plan.result_shape()) {
    throw TypeError(std::string(call) + ": updates has shape " + to_string(updates.shape()) + ": it must be " +
                    to_string(plan.result_shape()) + ", as the indices say");
  }
  if (x.dtype() == Dtype::bool_ && reduction != ScatterReduction::none) {
    throw TypeError(std::string(call) + ": x has dtype bool: bools can only be replaced");
  }
  if (x.size() == 0 || updates.size() == 0) return x;
  if (reduction == ScatterReduction::none) return plan.replace(x, updates);

  const Dtype dtype = scatter_dtype(x.dtype());
  const Variable wide = cast(updates, dtype);
  if (reduction == ScatterReduction::add) return cast(cast(x, dtype) + plan.put(wide), x.dtype());
  return cast(reduce_in_steps(call, plan, cast(x, dtype), wide, reduction), x.dtype());
}

}  // namespace

Variable scatter_elements(const Variable& x, const Variable& indices, const Variable& updates, int64_t axis,
                          ScatterReduction reduction) {
  const char* const call = "F::scatter_elements";
  return scatter(call, element_plan(call, x, indices, axis), x, updates, reduction);
}

Variable scatter_nd(const Variable& x, const Variable& indices, const Variable& updates, ScatterReduction reduction) {
  const char* const call = "F::scatter_nd";
  return scatter(call, vector_plan(call, x, indices, 0), x, updates, reduction);
}

}  // namespace kusari::functions
