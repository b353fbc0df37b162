#include "kusari/framework/core/fusions.h"

#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/tuning.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/framework/functions/normalization/normalized_convolution.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/batch_normalization.h"
#include "kusari/framework/kernels/convolution.h"
#include "kusari/framework/kernels/normalized_convolution.h"
#include "kusari/framework/links/model/resnet.h"
#include "kusari/tests/gpu/convolution_cases.h"
#include "kusari/tests/gpu/testing.h"

// What a device computes in one pass with a neighbour is what it computes in passes of its own.
namespace kusari::testing {
namespace {

namespace F = functions;
using Options = kernels::BatchNormalization;

constexpr AxisMask kImageAxes{0b1101};  // all but the channels of (N, C, H, W)
constexpr Dtype kStorages[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32};

void check_equal(const Array& a, const Array& b) {
  REQUIRE(a.is_defined() == b.is_defined());
  if (a.is_defined()) CHECK(a.to_vector<double>() == b.to_vector<double>());
}

struct Normalized {
  Array y, mean, inv_std, running_mean, running_var, mask;
};

struct Inputs {
  Array x, residual, gy, gamma, beta;

  Inputs(const Device& device, const Shape& shape, Dtype dtype, Layout layout) {
    const auto image = [&](double low, double high, uint64_t seed) {
      return in_layout(uniform_array(shape, low, high, dtype, seed).to_device(device), layout);
    };
    x = image(-1, 3, 1);
    residual = image(-2, 1, 2);
    gy = image(-1, 1, 3);
    gamma = uniform_array({shape[1]}, 0.5, 1.5, Dtype::float32, 4).to_device(device);
    beta = uniform_array({shape[1]}, -0.5, 0.5, Dtype::float32, 5).to_device(device);
  }

  Normalized made() const {
    Normalized r;
    r.y = empty_channels_last(x.shape(), x.dtype(), x.device());
    for (Array* const numbers : {&r.mean, &r.inv_std}) *numbers = empty(gamma.shape(), Dtype::float32, x.device());
    r.running_mean = full(gamma.shape(), 0.5, Dtype::float32, x.device());
    r.running_var = full(gamma.shape(), 2, Dtype::float32, x.device());
    return r;
  }
  Normalized plain(const Options& options, bool has_residual) const {
    const Normalized r = made();
    launch<kernels::BatchNormalizationForward>(x.device(), options, x, has_residual ? residual : Array(), gamma, beta,
                                               r.running_mean, r.running_var, r.mean, r.inv_std, r.y);
    return r;
  }
  Normalized fused(const Options& options, bool has_residual, const Array& sums, bool has_mask) const {
    Normalized r = made();
    if (has_mask) r.mask = full({kernels::mask_bytes(r.y)}, 0xA5, Dtype::uint8, x.device());
    launch<kernels::BatchNormalizationFusedForward>(x.device(), options, x, sums, has_residual ? residual : Array(),
                                                    gamma, beta, r.running_mean, r.running_var, r.mean, r.inv_std, r.y,
                                                    r.mask);
    return r;
  }
};

// (2, C) of x (N, C, ...), with sums in float64.
std::vector<double> sums_of(const Array& x) {
  const auto channels = static_cast<size_t>(x.shape()[1]);
  const int64_t rest = x.size() / std::max<int64_t>(1, x.shape()[0] * x.shape()[1]);
  const std::vector<double> values = x.to_vector<double>();
  std::vector<double> sums(2 * channels);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = i / static_cast<size_t>(rest) % channels;
    sums[c] += values[i];
    sums[channels + c] += values[i] * values[i];
  }
  return sums;
}
Array array_of_sums(const Array& x) {
  return array(sums_of(x), {2, x.shape()[1]}).astype(Dtype::float32).to_device(x.device());
}

TEST_CASE("normalization fusions: gradients from a mask are those from the result, bit for bit") {
  const auto device = gpu_device();
  if (!device) return;
  const Options options{.axes = kImageAxes, .eps = 1e-3, .decay = 0.75, .relu = true};
  for (const Dtype dtype : kStorages) {
    // Few rows are one kernel's work, more that of several; every second element is no place for packs.
    for (const Shape& shape : {Shape{2, 8, 5, 7}, Shape{3, 24, 14, 13}, Shape{2, 256, 17, 16}}) {
      for (const Layout layout : {Layout::channels_last, Layout::contiguous, Layout::every_second}) {
        CAPTURE(dtype);
        CAPTURE(shape);
        CAPTURE(static_cast<int>(layout));
        const Inputs in(*device, shape, dtype, layout);
        const Normalized plain = in.plain(options, true), fused = in.fused(options, true, Array(), true);
        check_equal(fused.y, plain.y);
        check_equal(fused.mean, plain.mean);
        check_equal(fused.inv_std, plain.inv_std);
        check_equal(fused.running_var, plain.running_var);
        for (int wanted = 1; wanted < 16; wanted += 2) {
          std::vector<Array> from_y(4), from_mask(4);
          for (std::vector<Array>* const out : {&from_y, &from_mask}) {
            if (wanted & 1) (*out)[0] = empty_like(in.x);
            if (wanted & 2) (*out)[1] = empty_like(in.x);
            if (wanted & 4) (*out)[2] = empty_like(in.gamma);
            if (wanted & 8) (*out)[3] = empty_like(in.gamma);
          }
          launch<kernels::BatchNormalizationBackward>(*device, options, in.x, plain.y, in.gy, in.gamma, Array(),
                                                      plain.mean, plain.inv_std, from_y[0], from_y[1], from_y[2],
                                                      from_y[3]);
          launch<kernels::BatchNormalizationMaskedBackward>(*device, options, in.x, fused.mask, in.gy, in.gamma,
                                                            plain.mean, plain.inv_std, from_mask[0], from_mask[1],
                                                            from_mask[2], from_mask[3]);
          for (size_t i = 0; i < from_y.size(); ++i) check_equal(from_mask[i], from_y[i]);
        }
      }
    }
  }
}

TEST_CASE("normalization fusions: images that are not aligned for packs have a mask too") {
  const auto device = gpu_device();
  if (!device) return;
  const Options options{.axes = kImageAxes, .eps = 1e-3, .decay = 0.75, .relu = true};
  for (const Dtype dtype : kStorages) {
    Inputs in(*device, {2, 16, 6, 6}, dtype, Layout::channels_last);
    const Array block = empty({in.x.size() + 1}, dtype, *device);
    const Array shifted = block.slice(0, 1, in.x.size()).reshape({2, 6, 6, 16}).transpose({0, 3, 1, 2});
    const Normalized plain = in.fused(options, true, Array(), true);
    shifted.copy_from(in.x);
    in.x = shifted;
    const Normalized fused = in.fused(options, true, Array(), true);
    check_same(fused.y, plain.y, 4);
    const Normalized from_shifted = in.plain(options, true);
    check_equal(fused.y, from_shifted.y);
    const std::vector<double> y = fused.y.transpose({0, 2, 3, 1}).contiguous().to_vector<double>();
    const std::vector<int64_t> mask = fused.mask.to_vector<int64_t>();
    const size_t pack = y.size() / mask.size();
    int64_t wrong = 0;
    for (size_t i = 0; i < y.size(); ++i) wrong += (mask[i / pack] >> (i % pack) & 1) != (y[i] > 0 ? 1 : 0);
    CHECK(wrong == 0);
  }
}

TEST_CASE("normalization fusions: statistics from sums that a convolution took") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kStorages) {
    for (const Shape& shape : {Shape{2, 8, 5, 7}, Shape{2, 3, 14, 20}, Shape{3, 72, 14, 13}}) {
      for (const bool has_residual : {false, true}) {
        CAPTURE(dtype);
        CAPTURE(shape);
        CAPTURE(has_residual);
        const Options options{.axes = kImageAxes, .eps = 1e-3, .decay = 0.75, .relu = has_residual};
        const Inputs in(*device, shape, dtype, Layout::channels_last);
        const Array sums = array_of_sums(in.x);
        const bool has_mask = has_residual && shape[1] % kernels::kMaskChannels == 0;
        const Normalized plain = in.plain(options, has_residual),
                         fused = in.fused(options, has_residual, sums, has_mask);
        check_same(fused.mean, plain.mean, 4);
        check_same(fused.inv_std, plain.inv_std, 4);
        check_same(fused.running_mean, plain.running_mean, 4);
        check_same(fused.running_var, plain.running_var, 4);
        check_same(fused.y, plain.y, 4);
        // They are what is used: twice the sums are another mean.
        const Normalized other = in.fused(options, has_residual, 2 * sums, has_mask);
        CHECK(other.mean.to_vector<double>()[0] ==
              doctest::Approx(2 * plain.mean.to_vector<double>()[0]).epsilon(1e-3));
      }
    }
  }
}

TEST_CASE("normalization fusions: sums beside the result of a convolution") {
  const auto device = gpu_device();
  if (!device) return;
  const std::vector<ConvolutionCase> cases = {{{2, 16, 9, 8}, {24, 16, 3, 3}, {}, {1, 1}},
                                              {{2, 3, 15, 15}, {8, 3, 7, 7}, {2, 2}, {3, 3}},
                                              {{3, 8, 10, 10}, {16, 8, 1, 1}, {2, 2}},
                                              {{2, 8, 7, 7}, {8, 1, 3, 3}, {}, {1, 1}, {}, 8},
                                              {{0, 8, 7, 7}, {8, 8, 1, 1}}};
  for (const Dtype dtype : kStorages) {
    for (const Use use : {Use::automatic, Use::always, Use::never}) {
      const auto guard = using_config(&Config::use_cudnn, use);
      for (const ConvolutionCase& c : cases) {
        CAPTURE(dtype);
        CAPTURE(c.x);
        CAPTURE(static_cast<int>(use));
        const Array x = in_layout(uniform_array(c.x, -1, 1, dtype, 1), Layout::channels_last).to_device(*device);
        const Array w = uniform_array(c.w, -1, 1, dtype, 2).to_device(*device);
        const Array plain = empty_channels_last(c.y(), dtype, *device), y = empty_like(plain);
        const Array sums = full({2, c.w[0]}, -7, Dtype::float32, *device);
        launch<kernels::ConvolutionForward>(*device, c.geometry(), x, w, Array(), plain);
        launch<kernels::ConvolutionForwardWithSums>(*device, c.geometry(), x, w, y, sums);
        check_same(y, plain, 2);
        // Sums of both signs cancel: their error is one of the terms' size, which those of the squares tell.
        const std::vector<double> expected = sums_of(y), found = sums.to_vector<double>();
        const size_t channels = expected.size() / 2;
        const double rows = static_cast<double>(y.size()) / static_cast<double>(channels);
        for (size_t i = 0; i < channels; ++i) {
          const double scale = std::sqrt(rows * expected[channels + i]);
          CHECK(std::abs(found[i] - expected[i]) <= 1e-3 * scale);
          CHECK(std::abs(found[channels + i] - expected[channels + i]) <= 2e-3 * expected[channels + i]);
        }
      }
    }
  }
}

// A convolution that normalizes what it loads, and its parts one after the other.
struct NormalizedParts {
  Array mean, inv_std, running_mean, running_var, y, sums, gx, ggamma, gbeta, gW;
};

NormalizedParts run_normalized(const Inputs& in, const ConvolutionCase& c, const Array& W, const Array& gy,
                               bool fused) {
  const Options options{.axes = kImageAxes, .eps = 1e-3, .decay = 0.75, .relu = true};
  const Device device = in.x.device();
  const Array sums = array_of_sums(in.x);
  NormalizedParts r;
  for (Array* const numbers : {&r.mean, &r.inv_std, &r.ggamma, &r.gbeta}) *numbers = empty_like(in.gamma);
  r.running_mean = full(in.gamma.shape(), 0.5, Dtype::float32, device);
  r.running_var = full(in.gamma.shape(), 2, Dtype::float32, device);
  r.y = empty_channels_last(c.y(), in.x.dtype(), device);
  r.sums = empty({2, c.w[0]}, Dtype::float32, device);
  r.gx = empty_like(in.x);
  r.gW = empty_like(W);
  if (fused) {
    const Array load = empty({2, in.gamma.size()}, Dtype::float16, device);
    launch<kernels::NormalizedConvolutionForward>(device, options, c.geometry(), in.x, sums, in.gamma, in.beta,
                                                  r.running_mean, r.running_var, W, r.mean, r.inv_std, load, r.y,
                                                  r.sums);
    launch<kernels::NormalizedConvolutionBackward>(device, options, c.geometry(), in.x, in.gamma, in.beta, r.mean,
                                                   r.inv_std, load, W, gy, r.gx, r.ggamma, r.gbeta, r.gW);
    return r;
  }
  const Array h = empty_like(in.x), gh = empty_like(in.x);
  launch<kernels::BatchNormalizationForward>(device, options, in.x, Array(), in.gamma, in.beta, r.running_mean,
                                             r.running_var, r.mean, r.inv_std, h);
  launch<kernels::ConvolutionForwardWithSums>(device, c.geometry(), h, W, r.y, r.sums);
  launch<kernels::ConvolutionFilterGrad>(device, c.geometry(), h, gy, r.gW);
  launch<kernels::ConvolutionDataGrad>(device, c.geometry(), gy, W, Array(), gh);
  launch<kernels::BatchNormalizationBackward>(device, options, in.x, Array(), gh, in.gamma, in.beta, r.mean, r.inv_std,
                                              r.gx, Array(), r.ggamma, r.gbeta);
  return r;
}

// Within `tolerance` of the largest element.
void check_near(const Array& a, const Array& b, double tolerance) {
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  REQUIRE(x.size() == y.size());
  double largest = 0, difference = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(y[i]));
    difference = std::max(difference, std::isnan(x[i]) ? 1e30 : std::abs(x[i] - y[i]));
  }
  CHECK(difference <= tolerance * largest);
}

TEST_CASE("normalization fusions: convolutions that normalize what they load") {
  const auto device = gpu_device();
  if (!device) return;
  const std::vector<ConvolutionCase> cases = {{{2, 16, 9, 8}, {24, 16, 3, 3}, {}, {1, 1}},
                                              {{3, 8, 11, 11}, {16, 8, 1, 1}},
                                              {{2, 8, 13, 13}, {8, 8, 3, 3}, {2, 2}, {1, 1}},
                                              {{2, 8, 12, 12}, {8, 8, 3, 3}, {2, 2}, {1, 1}},  // the last is not seen
                                              {{2, 12, 9, 9}, {8, 12, 3, 3}, {}, {1, 1}}};
  for (const Use use : {Use::automatic, Use::never}) {  // never: in parts
    const auto guard = using_config(&Config::use_cudnn, use);
    for (const ConvolutionCase& c : cases) {
      CAPTURE(c.x);
      CAPTURE(c.w);
      CAPTURE(static_cast<int>(use));
      const Inputs in(*device, c.x, Dtype::float16, Layout::channels_last);
      const Array W = in_layout(uniform_array(c.w, -1, 1, Dtype::float16, 6), Layout::channels_last).to_device(*device);
      const Array gy =
          in_layout(uniform_array(c.y(), -1, 1, Dtype::float16, 7), Layout::channels_last).to_device(*device);
      const NormalizedParts parts = run_normalized(in, c, W, gy, false), fused = run_normalized(in, c, W, gy, true);
      // Twice what float16 rounds: factors and summands are, too.
      check_near(fused.mean, parts.mean, 1e-4);
      check_near(fused.inv_std, parts.inv_std, 1e-4);
      check_near(fused.running_mean, parts.running_mean, 1e-4);
      check_near(fused.running_var, parts.running_var, 1e-4);
      check_near(fused.y, parts.y, 2e-3);
      check_near(fused.sums, parts.sums, 2e-3);
      check_near(fused.gW, parts.gW, 2e-3);
      check_near(fused.ggamma, parts.ggamma, 2e-3);
      check_near(fused.gbeta, parts.gbeta, 2e-3);
      check_near(fused.gx, parts.gx, 4e-3);
    }
  }
}

TEST_CASE("normalization fusions: which convolutions normalize what they load") {
  const auto device = gpu_device();
  if (!device) return;
  const auto plans = reinterpret_cast<kernels::NormalizedConvolutionPlans::Signature*>(
      device->backend().find(kernel_id<kernels::NormalizedConvolutionPlans>()));
  const bool is_there = plans != nullptr;
  REQUIRE(is_there);
  const ConvolutionCase c{{2, 16, 9, 8}, {24, 16, 3, 3}, {}, {1, 1}};
  const auto guard = using_config(&Config::use_cudnn, Use::never);
  CHECK_FALSE(plans(c.geometry(), *device, c.x, c.w, c.y()));
}

TEST_CASE("normalization fusions: with autotune a normalized load has to take less time than its parts") {
  const auto device = gpu_device();
  if (!device) return;
  const auto plans = reinterpret_cast<kernels::NormalizedConvolutionPlans::Signature*>(
      device->backend().find(kernel_id<kernels::NormalizedConvolutionPlans>()));
  const ConvolutionCase c{{2, 16, 7, 6}, {24, 16, 3, 3}, {}, {1, 1}};
  kernels::Convolution g = c.geometry();
  if (!plans(g, *device, c.x, c.w, c.y())) KUSARI_SKIP("this cuDNN normalizes no load here");
  g.autotune = true;
  const bool chosen = plans(g, *device, c.x, c.w, c.y());
  const std::string choices = tuning::choices();
  const size_t family = choices.find("cuda.convolution_fused/1 "), shape = choices.find(" x 2x16x7x6 ", family);
  const size_t equals = choices.find(" = ", choices.find(" load sums", shape));
  REQUIRE(equals != std::string::npos);
  const size_t line = choices.rfind('\n', equals) + 1;
  const std::string problem = choices.substr(line, equals - line);
  REQUIRE(problem.starts_with("cuda.convolution_fused/1 "));
  CHECK(tuning::find(problem) == (chosen ? "fused" : "parts"));
  CHECK(plans(g, *device, c.x, c.w, c.y()) == chosen);
  for (const bool other : {!chosen, chosen}) {
    tuning::restore(problem + (other ? " = fused\n" : " = parts\n"));
    CHECK(plans(g, *device, c.x, c.w, c.y()) == other);
  }
}

TEST_CASE("normalization fusions: the function of both has the gradients of its parts, to the second order") {
  const auto device = gpu_device();
  if (!device) return;
  const ConvolutionCase c{{2, 8, 6, 6}, {8, 8, 3, 3}, {}, {1, 1}};
  const Inputs in(*device, c.x, Dtype::float16, Layout::channels_last);
  const Array w = in_layout(uniform_array(c.w, -1, 1, Dtype::float16, 6), Layout::channels_last).to_device(*device);
  const Array sums = array_of_sums(in.x);
  const auto gradients = [&](bool fused) {
    const Fusions before = fusions();
    fusions().normalized_convolutions = fused;
    const Variable x(in.x), gamma(in.gamma), beta(in.beta), W(w);
    const Variable y =
        F::batch_normalization_relu_convolution(x, gamma, beta, W, {.eps = 1e-3, .sums = sums}, {.pad = 1}).y;
    fusions() = before;
    const Variables first =
        grad({F::sum(F::square(F::cast(y, Dtype::float32)))}, {x, gamma, beta, W}, {.enable_double_backprop = true});
    std::vector<Array> all = {y.array()};
    for (const Variable& g : first) all.push_back(g.array());
    const Variables second = grad({F::sum(F::square(F::cast(first[3], Dtype::float32)) * 1e-4)}, {gamma, W});
    for (const Variable& g : second) all.push_back(g.array());
    return all;
  };
  const std::vector<Array> parts = gradients(false), fused = gradients(true);
  REQUIRE(parts.size() == fused.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    CAPTURE(i);
    check_near(fused[i], parts[i], 1e-2);
  }
}

// The loss of a step and the lengths of the gradients.
std::vector<double> trained(const Device& device, DtypePolicy policy, const Fusions& wanted) {
  const Fusions before = fusions();
  fusions() = wanted;
  const auto guard = using_config(&Config::dtype, policy);
  links::ResNet18 model({.n_classes = 10, .stem = links::ResNetStem::cifar});
  uint64_t seed = 10;
  for (Parameter* const parameter : model.params()) {
    const Shape& shape = parameter->shape();
    if (shape.ndim() != 4 && shape.ndim() != 2) continue;
    const double limit = std::sqrt(3.0 * static_cast<double>(shape[0]) / static_cast<double>(numel(shape)));
    parameter->array().copy_from(uniform_array(shape, -limit, limit, parameter->dtype(), seed++));
  }
  model.to(device);
  const Array x = uniform_array({4, 3, 16, 16}, -1, 1, get_dtype(), 1).to_device(device);
  const Array t = array(std::vector<int64_t>{1, 3, 5, 7}, {4}).astype(Dtype::int32).to_device(device);
  std::vector<double> results;
  const Variable loss = F::softmax_cross_entropy(model(Variable(x, false)), Variable(t, false));
  model.cleargrads();
  loss.backward();
  results.push_back(loss.array().item<double>());
  for (Parameter* const parameter : model.params()) {
    double square = 0;
    for (const double g : parameter->grad().to_vector<double>()) square += g * g;
    results.push_back(std::sqrt(square));
  }
  fusions() = before;
  return results;
}

TEST_CASE("normalization fusions: a residual network has the same loss and gradients with them and without") {
  const auto device = gpu_device();
  if (!device) return;
  for (const DtypePolicy policy : {mixed16, mixed_bf16}) {
    const std::vector<double> plain = trained(
        *device, policy, {.normalization_masks = false, .convolution_sums = false, .normalized_convolutions = false});
    const std::vector<double> fused = trained(*device, policy, {});
    REQUIRE(plain.size() == fused.size());
    REQUIRE(plain.size() > 40);
    const double tolerance = policy == mixed16 ? 0.06 : 0.1;
    for (size_t i = 0; i < plain.size(); ++i) {
      CAPTURE(i);
      CHECK(fused[i] == doctest::Approx(plain[i]).epsilon(tolerance));
    }
  }
}

TEST_CASE("normalization fusions: sums of another shape or dtype are refused") {
  const Variable x(ones({2, 8, 3, 3}, Dtype::float32)), gamma(ones({8})), beta(zeros({8}));
  CHECK_THROWS_WITH_AS(F::batch_normalization(x, gamma, beta, {.sums = zeros({3, 8})}),
                       "F::batch_normalization: sums has shape (3, 8): sums.shape[0] must equal 2 (3 != 2)", TypeError);
  CHECK_THROWS_AS(F::batch_normalization(x, gamma, beta, {.sums = zeros({2, 7})}), TypeError);
  CHECK_THROWS_AS(F::batch_normalization(x, gamma, beta, {.sums = zeros({2, 8}, Dtype::float64)}), TypeError);
}

}  // namespace
}  // namespace kusari::testing
