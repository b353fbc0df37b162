#include "kusari/framework/functions/pooling/windows.h"

#include <limits>
#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"

namespace kusari::functions {
namespace {

using kernels::AveragePooling;
using kernels::Pooling;

constexpr int kPrefix = 3;  // a node's name is the call without "F::"

// Between a result and the windows of a larger array, whose spatial sizes are `outsize` when it is given.
void check_windows(const TypeCheck& c, const type_check::Argument& x, const Pooling& windows, const Dims& outsize,
                   bool cover_all) {
  c.expect(x.is_floating(), x.ndim() == 2 + windows.ndim);
  for (int i = 0; i < outsize.ndim(); ++i) {
    c.expect(x.shape(2 + i) == window_count(windows, i, outsize[i], cover_all));
  }
}

Shape with_spatial(const Shape& shape, const Dims& sizes) {
  Shape result{shape[0], shape[1]};
  for (const int64_t size : sizes) result.push_back(size);
  return result;
}

Shape unpooled_shape(const char* call, const Pooling& windows, const Shape& x, const Dims& outsize, bool cover_all) {
  if (!outsize.empty()) return with_spatial(x, outsize);
  Dims sizes;
  for (int i = 0; i < windows.ndim; ++i) {
    const int64_t stride = windows.stride[i], spared = cover_all ? stride - 1 : 0;
    sizes.push_back(stride * (x[2 + i] - 1) + windows.ksize[i] - spared - 2 * windows.pad[i]);
    if (sizes[i] < 1) {
      throw ValueError(std::string(call) + ": x has shape " + to_string(x) + " and pad is " +
                       to_string(Dims(windows.pad, windows.pad + windows.ndim)) + ": nothing is left of axis " +
                       std::to_string(2 + i) + " (" + std::to_string(sizes[i]) + " < 1)");
    }
  }
  return with_spatial(x, sizes);
}

const char* divisor_name(const AveragePooling& average) {
  switch (average.divisor) {
    case kernels::PoolingDivisor::window:
      return "window";
    case kernels::PoolingDivisor::inside:
      return "inside";
    case kernels::PoolingDivisor::one:
      break;
  }
  return "one";
}

class SumWindows final : public FunctionNode {
 public:
  SumWindows(const char* call, const AveragePooling& average, bool cover_all)
      : call_{call}, average_{average}, cover_all_{cover_all} {}
  const char* name() const override { return call_ + kPrefix; }
  void describe(Attributes& options) const override {
    describe_windows(average_.pooling, cover_all_, options);
    options.set("divisor", divisor_name(average_));
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    check_windows(c, x, average_.pooling, {}, cover_all_);
  }

  Arrays forward(const ArrayRefs& in) override {
    const Array& x = in[0];
    const Array y =
        empty_channels_last(pooled_shape(call_, average_.pooling, x.shape(), cover_all_), x.dtype(), x.device());
    launch<kernels::AveragePoolingForward>(x.device(), average_, x, y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    return {spread_windows("F::average_pooling_grad", gy[0], average_, spatial_sizes(input_shape(0)), cover_all_)};
  }

  const char* call_;
  AveragePooling average_;
  bool cover_all_;
};

class SpreadWindows final : public FunctionNode {
 public:
  SpreadWindows(const char* call, const AveragePooling& average, const Dims& outsize, bool cover_all)
      : call_{call}, average_{average}, outsize_{outsize}, cover_all_{cover_all} {}
  const char* name() const override { return call_ + kPrefix; }
  void describe(Attributes& options) const override {
    describe_windows(average_.pooling, cover_all_, options);
    options.set("divisor", divisor_name(average_));
    options.set("outsize", outsize_);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    check_windows(c, x, average_.pooling, outsize_, cover_all_);
  }

  Arrays forward(const ArrayRefs& in) override {
    const Array& x = in[0];
    const Array y = empty_channels_last(unpooled_shape(call_, average_.pooling, x.shape(), outsize_, cover_all_),
                                        x.dtype(), x.device());
    launch<kernels::AveragePoolingGrad>(x.device(), average_, x, y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    return {sum_windows("F::unpooling_grad", gy[0], average_, cover_all_)};
  }

  const char* call_;
  AveragePooling average_;
  Dims outsize_;
  bool cover_all_;
};

class ScatterWindows final : public FunctionNode {
 public:
  ScatterWindows(const char* call, const Pooling& windows, const Dims& outsize, bool cover_all)
      : call_{call}, windows_{windows}, outsize_{outsize}, cover_all_{cover_all} {}
  const char* name() const override { return call_ + kPrefix; }
  void describe(Attributes& options) const override {
    describe_windows(windows_, cover_all_, options);
    options.set("outsize", outsize_);
  }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, indexes] = c.args("x", "indexes");
    check_windows(c, x, windows_, outsize_, cover_all_);
    c.expect(indexes.is_integral(), x.shape() == indexes.shape());
  }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({1});
    const Array& x = in[0];
    const Array y =
        empty_channels_last(unpooled_shape(call_, windows_, x.shape(), outsize_, cover_all_), x.dtype(), x.device());
    launch<kernels::MaxPoolingGrad>(x.device(), windows_, x, in[1], y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    Variables gradients(2);
    gradients[0] = pick_windows("F::max_pooling_pick", gy[0], retained_input(1).array(), windows_, cover_all_);
    return gradients;
  }

  const char* call_;
  Pooling windows_;
  Dims outsize_;
  bool cover_all_;
};

class PickWindows final : public FunctionNode {
 public:
  PickWindows(const char* call, const Pooling& windows, bool cover_all)
      : call_{call}, windows_{windows}, cover_all_{cover_all} {}
  const char* name() const override { return call_ + kPrefix; }
  void describe(Attributes& options) const override { describe_windows(windows_, cover_all_, options); }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({1});
    const Array& x = in[0];
    const Array y = empty_channels_last(in[1].shape(), x.dtype(), x.device());
    launch<kernels::MaxPoolingPick>(x.device(), windows_, x, in[1], y);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    Variables gradients(2);
    gradients[0] = scatter_windows("F::max_pooling_grad", gy[0], retained_input(1).array(), windows_,
                                   spatial_sizes(input_shape(0)), cover_all_);
    return gradients;
  }

  const char* call_;
  Pooling windows_;
  bool cover_all_;
};

// Sums of sizes stay far from the end of int64.
constexpr int64_t kLargestOption = std::numeric_limits<int32_t>::max();

void require_at_least(const char* call, const char* argument, const Dims& values, int64_t least) {
  for (const int64_t value : values) {
    if (value < least) {
      throw ValueError(std::string(call) + ": " + argument + " is " + to_string(values) + ": it must be at least " +
                       std::to_string(least) + " along each axis");
    }
    if (value > kLargestOption) {
      throw ValueError(std::string(call) + ": " + argument + " is " + to_string(values) + ": it must be at most " +
                       std::to_string(kLargestOption) + " along each axis");
    }
  }
}

}  // namespace

Dims window_option(const char* call, const char* option, const PerAxis& values, int ndim, int64_t least) {
  const Dims result = values.resolve(ndim, call, option);
  require_at_least(call, option, result, least);
  return result;
}

Pooling make_windows(const char* call, int ndim, const PerAxis& ksize, const PerAxis& stride, const PerAxis& pad) {
  const Dims sizes = window_option(call, "ksize", ksize, ndim, 1);
  const Dims strides = window_option(call, "stride", stride.given().empty() ? PerAxis(sizes) : stride, ndim, 1);
  const Dims pads = window_option(call, "pad", pad, ndim, 0);
  Pooling windows;
  windows.ndim = ndim;
  for (int i = 0; i < ndim; ++i) {
    windows.ksize[i] = sizes[i];
    windows.stride[i] = strides[i];
    windows.pad[i] = pads[i];
  }
  return windows;
}

void describe_windows(const Pooling& windows, bool cover_all, Attributes& options) {
  options.set("ksize", Dims(windows.ksize, windows.ksize + windows.ndim));
  options.set("stride", Dims(windows.stride, windows.stride + windows.ndim));
  options.set("pad", Dims(windows.pad, windows.pad + windows.ndim));
  options.set("cover_all", cover_all);
}

int64_t window_count(const Pooling& windows, int i, int64_t size, bool cover_all) {
  const int64_t stride = windows.stride[i];
  const int64_t space = size + 2 * windows.pad[i] - windows.ksize[i] + (cover_all ? stride - 1 : 0);
  return space < 0 ? 0 : space / stride + 1;
}

Shape pooled_shape(const char* call, const Pooling& windows, const Shape& x, bool cover_all) {
  Dims sizes;
  for (int i = 0; i < windows.ndim; ++i) {
    sizes.push_back(window_count(windows, i, x[2 + i], cover_all));
    if (sizes[i] < 1) {
      throw ValueError(std::string(call) + ": ksize is " +
                       to_string(Dims(windows.ksize, windows.ksize + windows.ndim)) + " and pad is " +
                       to_string(Dims(windows.pad, windows.pad + windows.ndim)) + " but x has shape " + to_string(x) +
                       ": no window fits into axis " + std::to_string(2 + i));
    }
  }
  return with_spatial(x, sizes);
}

Variable sum_windows(const char* call, const Variable& x, const AveragePooling& average, bool cover_all) {
  return apply<SumWindows>({x}, call, average, cover_all);
}

Variable spread_windows(const char* call, const Variable& x, const AveragePooling& average, const Dims& outsize,
                        bool cover_all) {
  return apply<SpreadWindows>({x}, call, average, outsize, cover_all);
}

Variable scatter_windows(const char* call, const Variable& x, const Array& index, const Pooling& windows,
                         const Dims& outsize, bool cover_all) {
  return apply<ScatterWindows>({x, Variable(index, false)}, call, windows, outsize, cover_all);
}

Variable pick_windows(const char* call, const Variable& x, const Array& index, const Pooling& windows, bool cover_all) {
  return apply<PickWindows>({x, Variable(index, false)}, call, windows, cover_all);
}

}  // namespace kusari::functions
