#include "kusari/cuda/kernels/softmax.cuh"

#include <algorithm>
#include <limits>
#include <string>

#include "kusari/cuda/runtime/register.h"
#include "kusari/cuda/runtime/typed_array.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/kernels/softmax.h"

namespace kusari::cuda {
namespace {

/// Calls body.template operator()<T>() with x's type.
template <class Body>
void visit_rows(const char* call, const Array& x, const Body& body) {
  if (!visit_floating(x.dtype(), body)) {
    throw TypeError(std::string(call) + ": x has dtype " + name(x.dtype()) + " but must be floating");
  }
}

LaunchShape warp_shape(const RowPlan& plan) {
  return {dim3(blocks_for(plan.count, kWarpRowBlock / kWarp)), dim3(kWarpRowBlock)};
}
LaunchShape block_shape(const RowPlan& plan) {
  return {dim3(blocks_for(plan.count, plan.columns)), dim3(static_cast<unsigned>(plan.threads))};
}

/// Rows of x into rows of y (which may be undefined) and a value for each.
template <class T>
void run_softmax(int axis, const Array& x, const Array& y, const Array& value, const Array& label,
                 const RowFinish<Compute<T>>& finish) {
  const TypedResult result(y, dtype_of<T>);
  const RowPlan plan = plan_rows({result.array(), x, Array(), value, label}, axis, kPackSize<T>);
  Context& context = Context::of(x);
  T* const to = result.data<T>();
  const T* const from = x.data<T>();
  if (plan.contiguous && plan.n <= kShortRow) {
    enqueue(context, warp_shape(plan), softmax_warp<T, kShortRow / kWarp>, plan, from, to, finish);
  } else if (plan.contiguous && plan.n <= kWarpRow) {
    enqueue(context, warp_shape(plan), softmax_warp<T, kWarpRow / kWarp>, plan, from, to, finish);
  } else {
    enqueue(context, block_shape(plan), softmax_block<T>, plan, from, to, finish);
  }
  result.finish();
}

void forward(const char* call, RowResult kind, int axis, const Array& x, const Array& y) {
  if (x.size() == 0) return;
  visit_rows(call, x, [&]<class T>() {
    run_softmax<T>(axis, x, y, Array(), Array(), {.result = kind, .value = RowValue::none});
  });
}

void backward(const char* call, RowResult kind, int axis, const Array& y, const Array& gy, const Array& gx) {
  if (y.size() == 0) return;
  visit_rows(call, y, [&]<class T>() {
    const Array gradient = gy.astype(dtype_of<T>);
    const TypedResult result(gx, dtype_of<T>);
    const RowPlan plan = plan_rows({result.array(), y, gradient, Array(), Array()}, axis, kPackSize<T>);
    Context& context = Context::of(y);
    const T *const results = y.data<T>(), *const gradients = gradient.data<T>();
    T* const to = result.data<T>();
    if (plan.contiguous && plan.n <= kShortRow) {
      enqueue(context, warp_shape(plan), softmax_grad_warp<T, kShortRow / kWarp>, plan, results, gradients, to, kind);
    } else if (plan.contiguous && plan.n <= kWarpRow) {
      enqueue(context, warp_shape(plan), softmax_grad_warp<T, kWarpRow / kWarp>, plan, results, gradients, to, kind);
    } else {
      enqueue(context, block_shape(plan), softmax_grad_block<T>, plan, results, gradients, to, kind);
    }
    result.finish();
  });
}

void softmax(Params<int> axis, In x, Out y) { forward("softmax", RowResult::softmax, *axis, x, y); }
void log_softmax(Params<int> axis, In x, Out y) { forward("log_softmax", RowResult::log_softmax, *axis, x, y); }
void softmax_grad(Params<int> axis, In y, In gy, Out gx) {
  backward("softmax_grad", RowResult::softmax, *axis, y, gy, gx);
}
void log_softmax_grad(Params<int> axis, In y, In gy, Out gx) {
  backward("log_softmax_grad", RowResult::log_softmax, *axis, y, gy, gx);
}

void logsumexp(Params<int> axis, In x, Out y) {
  if (y->size() == 0) return;
  if (x->size() == 0) {
    y->fill(-std::numeric_limits<double>::infinity());
    return;
  }
  visit_rows("logsumexp", x, [&]<class T>() {
    run_softmax<T>(*axis, x, Array(), y, Array(),
                   {.result = RowResult::none, .value = RowValue::logsumexp, .target = Target(*y)});
  });
}

const void* data_of(const Array& x) { return x.is_defined() ? x.raw_data() : nullptr; }
Dtype dtype_or_float(const Array& x) { return x.is_defined() ? x.dtype() : Dtype::float32; }
int64_t stride_of_vector(const Array& x) { return x.is_defined() ? x.strides()[0] : 0; }

void softmax_cross_entropy(Params<kernels::SoftmaxCrossEntropyOptions> options, In x, In t, In class_weight, Out loss,
                           Out p) {
  if (x->size() == 0) return;
  visit_rows("softmax_cross_entropy", x, [&]<class T>() {
    run_softmax<T>(1, x, p, loss, t,
                   {.result = p ? RowResult::softmax : RowResult::none,
                    .value = RowValue::cross_entropy,
                    .target = Target(*loss),
                    .labels = t->raw_data(),
                    .label_dtype = t->dtype(),
                    .ignored = options->ignore_label,
                    .weights = data_of(class_weight),
                    .weight_dtype = dtype_or_float(class_weight),
                    .weight_stride = stride_of_vector(class_weight)});
  });
}

void mean_loss(Params<kernels::MeanLossOptions> options, In loss, In t, Out mean, Out divisor) {
  constexpr int64_t kMost = 1 << 15;  // more than one block reads quickly
  const bool is_double = loss->dtype() == Dtype::float64;
  if (loss->size() > kMost || !loss->is_contiguous() || !t->is_contiguous() ||
      (!is_double && loss->dtype() != Dtype::float32)) {
    return kernels::mean_loss_by_reductions(*options, loss, t, mean, divisor);
  }
  const int64_t warps = (loss->size() + kWarp - 1) / kWarp;
  const LaunchShape shape{
      dim3(1), dim3(static_cast<unsigned>(std::clamp<int64_t>(warps, 1, kMeanBlock / kWarp)) * unsigned{kWarp})};
  const auto run = [&]<class T>() {
    enqueue(Context::of(*loss), shape, mean_loss_block<T>, loss->size(), loss->data<T>(), t->raw_data(), t->dtype(),
            *options, Target(*mean), divisor->data<T>());
  };
  if (is_double) return run.template operator()<double>();
  run.template operator()<float>();
}

void softmax_cross_entropy_grad(Params<kernels::SoftmaxCrossEntropyOptions> options, In p, In t, In class_weight, In g,
                                In divisor, Out gx) {
  if (p->size() == 0) return;
  visit_rows("softmax_cross_entropy_grad", p, [&]<class T>() {
    const TypedResult result(gx, dtype_of<T>);
    RowPlan plan = plan_rows({result.array(), *p, Array(), *g, *t}, 1, kPackSize<T>);
    int64_t chunk = plan.n;
    if (plan.contiguous) {
      const int64_t packs = (plan.n + kPackSize<T> - 1) / kPackSize<T>;
      plan.threads = plan.columns = kRowBlock;
      while (plan.columns > 1 && plan.threads / plan.columns < packs) plan.columns /= 2;
      if (plan.n >= kLongRow) chunk = kLongRow;
    }
    LaunchShape shape = block_shape(plan);
    shape.grid.y = static_cast<unsigned>((plan.n + chunk - 1) / chunk);
    const CrossEntropyFactors factors{.labels = t->raw_data(),
                                      .factors = g->raw_data(),
                                      .weights = data_of(class_weight),
                                      .divisor = data_of(divisor),
                                      .label_dtype = t->dtype(),
                                      .factor_dtype = g->dtype(),
                                      .weight_dtype = dtype_or_float(class_weight),
                                      .divisor_dtype = dtype_or_float(divisor),
                                      .ignored = options->ignore_label,
                                      .weight_stride = stride_of_vector(class_weight)};
    enqueue(Context::of(*p), shape, cross_entropy_grad<T>, plan, chunk, p->data<T>(), result.data<T>(), factors);
    result.finish();
  });
}

}  // namespace

void register_softmax(Backend& backend) {
  backend.add<kernels::Softmax>(softmax);
  backend.add<kernels::SoftmaxGrad>(softmax_grad);
  backend.add<kernels::LogSoftmax>(log_softmax);
  backend.add<kernels::LogSoftmaxGrad>(log_softmax_grad);
  backend.add<kernels::Logsumexp>(logsumexp);
  backend.add<kernels::SoftmaxCrossEntropy>(softmax_cross_entropy);
  backend.add<kernels::MeanLoss>(mean_loss);
  backend.add<kernels::SoftmaxCrossEntropyGrad>(softmax_cross_entropy_grad);
}

}  // namespace kusari::cuda
