#include "kusari/framework/functions/connection/convolution_node.h"

#include <limits>
#include <string>
#include <utility>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/fusions.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/pointwise_function.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/reduce.h"

namespace kusari::functions::detail {
namespace {

Dims spatial(const Shape& shape) { return Dims(shape.begin() + 2, shape.end()); }

Shape image_shape(int64_t batch, int64_t channels, const Dims& sizes) {
  Shape shape = {batch, channels};
  for (const int64_t size : sizes) shape.push_back(size);
  return shape;
}

Dims axes_of_bias(int ndim) {
  Dims axes = {0};
  for (int axis = 2; axis < ndim; ++axis) axes.push_back(axis);
  return axes;
}

int64_t floor_divide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// Positions of a kernel of k elements along spatial axis i of that size.
int64_t positions(const kernels::Convolution& g, int i, int64_t size, int64_t k, bool cover_all) {
  const int64_t room = size + 2 * g.pad[i] - g.dilate[i] * (k - 1) - 1 + (cover_all ? g.stride[i] - 1 : 0);
  return floor_divide(room, g.stride[i]) + 1;
}

std::string call_with(const ConvolutionSettings& s, const Shape& x, const Shape& W) {
  return std::string("F::") + s.name + ": x has shape " + to_string(x) + " but W has shape " + to_string(W);
}

}  // namespace

Dims convolved_size(const ConvolutionSettings& s, const Shape& x, const Shape& W) {
  if (!s.outsize.empty()) return s.outsize;
  Dims out;
  for (int i = 0; i < s.geometry.ndim; ++i) {
    out.push_back(positions(s.geometry, i, x[i + 2], W[i + 2], s.cover_all));
    if (out[i] < 1) {
      throw ValueError(call_with(s, x, W) + ": the kernel does not fit into axis " + std::to_string(i + 2) +
                       " with pad " + std::to_string(s.geometry.pad[i]) + " and dilate " +
                       std::to_string(s.geometry.dilate[i]) + " (the output would have size " + std::to_string(out[i]) +
                       ")");
    }
  }
  return out;
}

namespace {

Dims transposed_size(const ConvolutionSettings& s, const Shape& x, const Shape& W) {
  const kernels::Convolution& g = s.geometry;
  const bool has_outsize = !s.outsize.empty();
  Dims out;
  for (int i = 0; i < g.ndim; ++i) {
    const int64_t in = x[i + 2], k = W[i + 2];
    out.push_back(has_outsize ? s.outsize[i] : g.stride[i] * (in - 1) + g.dilate[i] * (k - 1) + 1 - 2 * g.pad[i]);
    const std::string where = "axis " + std::to_string(i + 2);
    if (out[i] < 0 || (out[i] == 0 && in > 0)) {
      throw ValueError(call_with(s, x, W) + ": " + where + " of the output would have size " + std::to_string(out[i]) +
                       " with stride " + std::to_string(g.stride[i]) + " and pad " + std::to_string(g.pad[i]));
    }
    const int64_t least = positions(g, i, out[i], k, false), most = positions(g, i, out[i], k, true);
    if (has_outsize && (in < least || in > most)) {
      throw ValueError(call_with(s, x, W) + " and outsize is " + to_string(s.outsize) +
                       ": a convolution of that size has " + std::to_string(least) + " to " + std::to_string(most) +
                       " positions along " + where + ", not " + std::to_string(in));
    }
  }
  return out;
}

// Whether channels == in_group * groups, without the product: groups may be any number.
bool are_in_groups(int64_t channels, int64_t in_group, int64_t groups) {
  return channels % groups == 0 && channels / groups == in_group;
}

// What x, W and b must be; `own` is the axis of W with the channels of x. Axis 0 has all channels, axis 1 those of one
// group.
void check_arguments(const TypeCheck& c, const ConvolutionSettings& s, int own) {
  const int other = 1 - own;
  const auto [x, W, b] = c.args("x", "W", "b");
  const int ndim = s.geometry.ndim + 2;
  const int64_t groups = s.geometry.groups;
  c.expect(x.ndim() == ndim, W.ndim() == ndim, x.is_floating(), W.is_floating());
  for (int axis = 2; axis < ndim; ++axis) c.expect(W.shape(axis) >= 1);
  const int64_t scale = own == 1 ? groups : 1, result_scale = other == 1 ? groups : 1;
  const Shape &x_shape = x.array().shape(), &W_shape = W.array().shape();
  const auto fail = [&](const std::string& rule) {
    throw TypeError(call_with(s, x_shape, W_shape) + " and groups is " + std::to_string(groups) + ": " + rule);
  };
  if (scale == 1) {
    c.expect(x.shape(1) == W.shape(own));
  } else if (!are_in_groups(x.shape(1).value, W.shape(own).value, scale)) {
    fail("x.shape[1] must equal W.shape[1] * groups (" + std::to_string(x.shape(1).value) +
         " != " + std::to_string(W.shape(own).value) + " * " + std::to_string(scale) + ")");
  }
  if (W.shape(0).value % groups != 0) fail("W.shape[0] must be a multiple of groups");
  if (!b.is_given()) return;
  c.expect(b.ndim() == 1, b.dtype() == x.dtype());
  if (result_scale == 1) {
    c.expect(b.shape(0) == W.shape(other));
  } else if (!are_in_groups(b.shape(0).value, W.shape(other).value, result_scale)) {
    fail("b.shape[0] must equal W.shape[1] * groups (" + std::to_string(b.shape(0).value) +
         " != " + std::to_string(W.shape(other).value) + " * " + std::to_string(result_scale) + ")");
  }
}

// For a derivative whose result has that shape.
ConvolutionSettings with_size(const ConvolutionSettings& s, const Shape& result) {
  return {"convolution_nd", s.geometry, s.cover_all, spatial(result)};  // without relu
}

// The geometry for a kernel that runs now. During a backward pass without double backprop nothing is recorded although
// the weights are about to change.
kernels::Convolution configured(kernels::Convolution geometry, bool in_backward) {
  geometry.autotune = config().autotune;
  geometry.weights_are_fixed = !config().train || (!in_backward && !config().enable_backprop);
  return geometry;
}

Array run(bool transposed, const kernels::Convolution& geometry, const Array& x, const Array& W, const Array& b,
          const Dims& size, bool relu = false) {
  const int64_t channels = transposed ? W.shape()[1] * geometry.groups : W.shape()[0];
  const Array y = empty_channels_last(image_shape(x.shape()[0], channels, size), x.dtype(), x.device());
  if (transposed) {
    launch<kernels::ConvolutionDataGrad>(x.device(), geometry, x, W, b, y);
  } else if (relu) {
    launch<kernels::ConvolutionFusedForward>(x.device(), geometry, kernels::ConvolutionActivation::relu, x, W, Array(),
                                             b, y);
  } else {
    launch<kernels::ConvolutionForward>(x.device(), geometry, x, W, b, y);
  }
  return y;
}

Array run_filter_grad(const kernels::Convolution& geometry, const Array& x, const Array& gy, const Shape& shape,
                      Dtype dtype) {
  const Array gW = empty_channels_last(shape, dtype, x.device());
  launch<kernels::ConvolutionFilterGrad>(x.device(), geometry, x, gy, gW);
  return gW;
}

Array run_bias_grad(const Array& gy) {
  const Dims axes = axes_of_bias(gy.ndim());
  return reduce(kernels::Sum{}, gy, axis_mask({axes.begin(), axes.size()}, gy.ndim(), "convolution"));
}

Variable bias_grad(const Variable& gy) {
  const Dims axes = axes_of_bias(gy.ndim());
  return sum(gy, Axes(std::span<const int64_t>(axes.begin(), axes.size())));
}

Variable without_graph(const Array& array) { return Variable(array, false); }

void describe_settings(const ConvolutionSettings& settings, Attributes& options) {
  const kernels::Convolution& g = settings.geometry;
  options.set("stride", Dims(g.stride, g.stride + g.ndim));
  options.set("pad", Dims(g.pad, g.pad + g.ndim));
  options.set("dilate", Dims(g.dilate, g.dilate + g.ndim));
  options.set("groups", g.groups);
  options.set("cover_all", settings.cover_all);
  options.set("outsize", settings.outsize);
  options.set("relu", settings.relu);
}

// The gradient of W. x: (N, C, in...), gy: (N, O, out...).
class FilterGrad final : public FunctionNode {
 public:
  FilterGrad(const ConvolutionSettings& settings, const Shape& shape, Dtype dtype)
      : settings_{settings}, shape_{shape}, dtype_{dtype} {}
  const char* name() const override { return "convolution_filter_grad"; }
  void describe(Attributes& options) const override {
    describe_settings(settings_, options);
    options.set("shape", shape_);
    options.set("dtype", dtype_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    return {run_filter_grad(configured(settings_.geometry, false), in[0], in[1], shape_, dtype_)};
  }

  Variables backward(const Variables& ggW) override;

  ConvolutionSettings settings_;
  Shape shape_;
  Dtype dtype_;
};

// The convolution, or the one transposed to it, which is its gradient with respect to x.
class Convolution final : public FunctionNode {
 public:
  Convolution(const ConvolutionSettings& settings, bool transposed, Array* sums = nullptr)
      : settings_{settings}, transposed_{transposed}, sums_{sums} {}
  const char* name() const override { return settings_.name; }
  void describe(Attributes& options) const override {
    describe_settings(settings_, options);
    options.set("transposed", transposed_);
  }

 private:
  bool is_optional(size_t input) const noexcept override { return input == 2; }
  void check(const TypeCheck& c) const override { check_arguments(c, settings_, transposed_ ? 0 : 1); }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1});
    if (settings_.relu) retain_outputs({0});
    const Shape &x = in[0].shape(), &W = in[1].shape();
    const Dims size = transposed_ ? transposed_size(settings_, x, W) : convolved_size(settings_, x, W);
    Array* const sums = std::exchange(sums_, nullptr);
    if (sums != nullptr && has_sums(in)) return {run_with_sums(in[0], in[1], size, *sums)};
    return {run(transposed_, configured(settings_.geometry, false), in[0], in[1], in[2], size, settings_.relu)};
  }

  Variables backward(const Variables& gys) override {
    Variables g(3);
    const Variable gy =
        settings_.relu ? apply<PiecewiseLinearGrad<kernels::ReluGrad>>({retained_output(0), gys[0]}) : gys[0];
    const bool has_bias_grad = has_input(2) && needs_grad(2);
    if (config().enable_backprop) {
      if (needs_grad(0)) {
        g[0] =
            apply<Convolution>({gy, retained_input(1), Variable()}, with_size(settings_, input_shape(0)), !transposed_);
      }
      if (needs_grad(1)) {
        const Variable x = retained_input(0);
        g[1] =
            apply<FilterGrad>({transposed_ ? gy : x, transposed_ ? x : gy}, settings_, input_shape(1), input_dtype(1));
      }
      if (has_bias_grad) g[2] = bias_grad(gy);
      return g;
    }
    // Nobody differentiates further: the same results without functions.
    const kernels::Convolution geometry = configured(settings_.geometry, true);
    const Array& gradient = gy.array();
    if (needs_grad(0)) {
      const Array W = retained_input(1).array();
      const Array sum = adds_gradients(gradient.device()) ? take_gradient_so_far(0) : Array();
      if (sum.is_defined()) {
        launch<kernels::ConvolutionDataGradAdded>(sum.device(), geometry, gradient, W, sum);
        g[0] = without_graph(sum);
      } else {
        g[0] = without_graph(run(!transposed_, geometry, gradient, W, Array(), spatial(input_shape(0))));
      }
    }
    if (needs_grad(1)) {
      const Array x = retained_input(0).array();
      g[1] = without_graph(run_filter_grad(geometry, transposed_ ? gradient : x, transposed_ ? x : gradient,
                                           input_shape(1), input_dtype(1)));
    }
    if (has_bias_grad) g[2] = without_graph(run_bias_grad(gradient));
    return g;
  }

  bool has_sums(const ArrayRefs& in) const {
    return fusions().convolution_sums && !settings_.relu && !in[2].is_defined() && in[0].dtype() == Dtype::float16 &&
           in[0].device().backend().find(kernel_id<kernels::ConvolutionForwardWithSums>()) != nullptr;
  }

  Array run_with_sums(const Array& x, const Array& W, const Dims& size, Array& sums) const {
    const int64_t channels = W.shape()[0];
    const Array y = empty_channels_last(image_shape(x.shape()[0], channels, size), x.dtype(), x.device());
    sums = empty({2, channels}, Dtype::float32, x.device());
    launch<kernels::ConvolutionForwardWithSums>(x.device(), configured(settings_.geometry, false), x, W, y, sums);
    return y;
  }

  // Whether the gradient of x can be added to others in the pass that computes it.
  bool adds_gradients(const Device& device) const {
    return !transposed_ && device.backend().find(kernel_id<kernels::ConvolutionDataGradAdded>()) != nullptr;
  }

  ConvolutionSettings settings_;
  bool transposed_;
  Array* sums_;  // the caller's, until forward has run
};

Variables FilterGrad::backward(const Variables& ggW) {
  Variables g(2);
  const auto like = [&](size_t input, bool transposed) {
    return apply<Convolution>({retained_input(1 - input), ggW[0], Variable()}, with_size(settings_, input_shape(input)),
                              transposed);
  };
  if (needs_grad(0)) g[0] = like(0, true);
  if (needs_grad(1)) g[1] = like(1, false);
  return g;
}

// Sums of sizes stay far from the end of int64.
constexpr int64_t kLargestOption = std::numeric_limits<int32_t>::max();

void check_option(const char* name, const char* option, const Dims& values, int64_t least) {
  for (const int64_t value : values) {
    if (value >= least && value <= kLargestOption) continue;
    const bool is_small = value < least;
    throw ValueError(std::string("F::") + name + ": " + option + " is " + to_string(values) + ": each must be at " +
                     (is_small ? "least " : "most ") + std::to_string(is_small ? least : kLargestOption));
  }
}

}  // namespace

ConvolutionSettings convolution_settings(const char* name, int ndim, const PerAxis& stride, const PerAxis& pad,
                                         const PerAxis& dilate, int64_t groups) {
  const std::string call = std::string("F::") + name;
  const auto resolve = [&](const PerAxis& given, const char* option, int64_t least, int64_t* to) {
    const Dims values = given.resolve(ndim, call.c_str(), option);
    check_option(name, option, values, least);
    for (int i = 0; i < ndim; ++i) to[i] = values[i];
  };
  ConvolutionSettings settings = {name, {}};
  settings.geometry.ndim = ndim;
  settings.geometry.groups = groups;
  resolve(stride, "stride", 1, settings.geometry.stride);
  resolve(pad, "pad", 0, settings.geometry.pad);
  resolve(dilate, "dilate", 1, settings.geometry.dilate);
  if (groups < 1) throw ValueError(call + ": groups is " + std::to_string(groups) + ": it must be at least 1");
  return settings;
}

Variable convolve(const Variable& x, const Variable& W, const Variable& b, const ConvolutionSettings& settings,
                  Array* sums) {
  return apply<Convolution>({x, W, b}, settings, false, sums);
}

Variable convolve_transposed(const Variable& x, const Variable& W, const Variable& b,
                             const ConvolutionSettings& settings) {
  return apply<Convolution>({x, W, b}, settings, true);
}

}  // namespace kusari::functions::detail
