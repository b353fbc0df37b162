#include "kusari/framework/functions/pooling/max_pooling_nd.h"

#include <limits>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/pooling/uneven_windows.h"
#include "kusari/framework/functions/pooling/windows.h"
#include "kusari/framework/kernels/pooling.h"

namespace kusari::functions {
namespace {

class MaxPooling final : public FunctionNode {
 public:
  /// `index` gets the places of the largest elements, unless it is null.
  MaxPooling(const char* call, const kernels::Pooling& windows, bool cover_all, Array* index)
      : call_{call}, windows_{windows}, cover_all_{cover_all}, wanted_index_{index} {}
  const char* name() const override { return call_ + 3; }
  void describe(Attributes& options) const override { describe_windows(windows_, cover_all_, options); }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating(), x.ndim() == 2 + windows_.ndim);
  }

  Arrays forward(const ArrayRefs& in) override {
    const Array& x = in[0];
    const Shape shape = pooled_shape(call_, windows_, x.shape(), cover_all_);
    const Array y = empty_channels_last(shape, x.dtype(), x.device());
    if (is_recording() || wanted_index_ != nullptr) {
      index_ = empty_channels_last(shape, kernels::pooling_index_dtype(windows_), x.device());
    }
    launch<kernels::MaxPoolingForward>(x.device(), windows_, x, y, index_);
    if (wanted_index_ != nullptr) *wanted_index_ = index_;
    wanted_index_ = nullptr;  // the caller's, who does not wait for this node to die
    return {y};
  }

  Variables backward(const Variables& gy) override {
    return {scatter_windows("F::max_pooling_grad", gy[0], index_, windows_, spatial_sizes(input_shape(0)), cover_all_)};
  }

  const char* call_;
  kernels::Pooling windows_;
  bool cover_all_;
  Array* wanted_index_;
  Array index_;
};

Variable pool(const char* call, int ndim, const Variable& x, const PerAxis& ksize, const MaxPoolingOptions& options,
              Array* index = nullptr) {
  const GivenWindows given{ksize, options.stride, options.pad, options.pad_end, options.dilate, options.cover_all};
  if (are_uneven(given)) {
    const PlainWindows plain = plain_windows(call, ndim, x, given, -std::numeric_limits<double>::infinity());
    const kernels::Pooling windows = make_windows(call, ndim, PerAxis(plain.ksize), PerAxis(plain.stride), 0);
    return apply<MaxPooling>({plain.x}, call, windows, false, index);
  }
  const kernels::Pooling windows = make_windows(call, ndim, ksize, options.stride, options.pad);
  return apply<MaxPooling>({x}, call, windows, options.cover_all, index);
}

std::pair<Variable, Array> pool_with_indices(const char* call, int ndim, const Variable& x, const PerAxis& ksize,
                                             const MaxPoolingOptions& options) {
  expect_given(x, call, "x");

  Array index;
  const Variable y = pool(call, ndim, x, ksize, options, &index);
  return {y, index};
}

}  // namespace

Variable max_pooling_nd(const Variable& x, const PerAxis& ksize, const MaxPoolingOptions& options) {
  expect_given(x, "F::max_pooling_nd", "x");

  return pool("F::max_pooling_nd", spatial_ndim(x), x, ksize, options);
}
Variable max_pooling_1d(const Variable& x, const PerAxis& ksize, const MaxPoolingOptions& options) {
  return pool("F::max_pooling_1d", 1, x, ksize, options);
}
Variable max_pooling_2d(const Variable& x, const PerAxis& ksize, const MaxPoolingOptions& options) {
  return pool("F::max_pooling_2d", 2, x, ksize, options);
}
Variable max_pooling_3d(const Variable& x, const PerAxis& ksize, const MaxPoolingOptions& options) {
  return pool("F::max_pooling_3d", 3, x, ksize, options);
}

std::pair<Variable, Array> max_pooling_nd_with_indices(const Variable& x, const PerAxis& ksize,
                                                       const MaxPoolingOptions& options) {
  expect_given(x, "F::max_pooling_nd_with_indices", "x");
  return pool_with_indices("F::max_pooling_nd_with_indices", spatial_ndim(x), x, ksize, options);
}
std::pair<Variable, Array> max_pooling_1d_with_indices(const Variable& x, const PerAxis& ksize,
                                                       const MaxPoolingOptions& options) {
  return pool_with_indices("F::max_pooling_1d_with_indices", 1, x, ksize, options);
}
std::pair<Variable, Array> max_pooling_2d_with_indices(const Variable& x, const PerAxis& ksize,
                                                       const MaxPoolingOptions& options) {
  return pool_with_indices("F::max_pooling_2d_with_indices", 2, x, ksize, options);
}
std::pair<Variable, Array> max_pooling_3d_with_indices(const Variable& x, const PerAxis& ksize,
                                                       const MaxPoolingOptions& options) {
  return pool_with_indices("F::max_pooling_3d_with_indices", 3, x, ksize, options);
}

}  // namespace kusari::functions
