#include "kusari/framework/kernels/convolution.h"

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/core/tuning.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/tests/gpu/convolution_cases.h"
#include "kusari/tests/gpu/testing.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

using Activation = kernels::ConvolutionActivation;

struct NamedConvolution {
  const char* name;
  Shape x, w;
  int64_t stride = 1, pad = 0, dilate = 1, groups = 1;
  bool cover_all = false;

  kernels::Convolution geometry() const {
    kernels::Convolution g;
    g.ndim = x.ndim() - 2;
    for (int i = 0; i < g.ndim; ++i) {
      g.stride[i] = stride;
      g.pad[i] = pad;
      g.dilate[i] = dilate;
    }
    g.groups = groups;
    return g;
  }
  Shape y() const {
    Shape shape = {x[0], w[0]};
    for (int i = 2; i < x.ndim(); ++i) {
      const int64_t room = x[i] + 2 * pad - dilate * (w[i] - 1) - 1 + (cover_all ? stride - 1 : 0);
      shape.push_back(room / stride + 1);
    }
    return shape;
  }
};

const std::vector<NamedConvolution>& convolution_cases() {
  static const std::vector<NamedConvolution> all = {
      {"plain", {2, 8, 6, 7}, {16, 8, 3, 3}, 1, 1},
      {"1x1", {2, 16, 5, 5}, {8, 16, 1, 1}},
      {"image of three channels", {2, 3, 12, 12}, {8, 3, 7, 7}, 2, 3},
      {"odd channels", {3, 5, 7, 6}, {7, 5, 3, 2}, 1, 1},
      {"stride", {2, 8, 9, 9}, {8, 8, 3, 3}, 2, 1},
      {"stride that leaves elements behind", {1, 4, 8, 8}, {4, 4, 3, 3}, 2, 0},
      {"cover all", {1, 4, 8, 8}, {4, 4, 3, 3}, 2, 0, 1, 1, true},
      {"cover all of one axis", {2, 3, 8}, {4, 3, 3}, 2, 0, 1, 1, true},
      {"dilation", {1, 8, 9, 8}, {8, 8, 3, 3}, 1, 2, 2},
      {"groups", {2, 12, 6, 6}, {8, 3, 3, 3}, 1, 1, 1, 4},
      {"one channel a group", {2, 16, 7, 7}, {16, 1, 3, 3}, 2, 1, 1, 16},
      {"one axis", {2, 8, 13}, {4, 8, 5}, 2, 2},
      {"three axes", {1, 4, 5, 6, 5}, {8, 4, 3, 3, 3}, 1, 1},
      {"four axes", {1, 2, 4, 3, 4, 3}, {3, 2, 2, 2, 2, 2}, 1, 1},
      {"one output", {2, 8, 3, 3}, {1, 8, 3, 3}},
      {"empty batch", {0, 4, 5, 5}, {4, 4, 3, 3}, 1, 1},
  };
  return all;
}

constexpr Use kUses[] = {Use::automatic, Use::always, Use::never};
const char* text(Use use) { return use == Use::always ? "always" : use == Use::never ? "never" : "auto"; }

// Rounding of sums of some hundred products.
constexpr double kConvolutionFactor = 8;

Array convolved(const NamedConvolution& c, const kernels::Convolution& g, const Array& x, const Array& w,
                const Array& b) {
  const Array y = empty_channels_last(c.y(), x.dtype(), x.device());
  launch<kernels::ConvolutionForward>(x.device(), g, x, w, b, y);
  return y;
}
Array data_grad(const NamedConvolution& c, const kernels::Convolution& g, const Array& gy, const Array& w,
                const Array& b) {
  const Array gx = empty_channels_last(c.x, gy.dtype(), gy.device());
  launch<kernels::ConvolutionDataGrad>(gy.device(), g, gy, w, b, gx);
  return gx;
}
Array filter_grad(const NamedConvolution& c, const kernels::Convolution& g, const Array& x, const Array& gy,
                  Dtype dtype) {
  const Array gw = empty_channels_last(c.w, dtype, x.device());
  launch<kernels::ConvolutionFilterGrad>(x.device(), g, x, gy, gw);
  return gw;
}

// Where choices are kept for other runs.
class CacheFolder {
 public:
  explicit CacheFolder(const std::string& path) {
    if (const char* const value = std::getenv(kName)) before_ = value;
    setenv(kName, path.c_str(), 1);
  }
  ~CacheFolder() {
    if (before_) {
      setenv(kName, before_->c_str(), 1);
    } else {
      unsetenv(kName);
    }
  }

 private:
  static constexpr const char* kName = "KUSARI_CACHE_DIR";
  std::optional<std::string> before_;
};

// All three kernels, with and without bias, against the CPU.
void check_kernels(const Device& device, const NamedConvolution& c, Dtype dtype, Dtype w_dtype, Layout layout,
                   const kernels::Convolution& g) {
  const auto make = [&](const Shape& shape, uint64_t seed, Dtype element) {
    return in_layout(uniform_array(shape, -1, 1, element, seed), layout);
  };
  const Array x = make(c.x, 1, dtype), w = make(c.w, 2, w_dtype), gy = make(c.y(), 3, dtype);
  const Array b = uniform_array({c.w[0]}, -1, 1, dtype, 4), bx = uniform_array({c.x[1]}, -1, 1, dtype, 5);
  const auto run_forward = [&](const Array& a, const Array& k, const Array& bias) {
    return convolved(c, g, a, k, bias);
  };
  const auto run_data_grad = [&](const Array& a, const Array& k, const Array& bias) {
    return data_grad(c, g, a, k, bias);
  };
  const auto run_filter_grad = [&](const Array& a, const Array& k) { return filter_grad(c, g, a, k, w_dtype); };
  check_on_gpu(device, run_forward, kConvolutionFactor, x, w, Array());
  check_on_gpu(device, run_forward, kConvolutionFactor, x, w, b);
  check_on_gpu(device, run_data_grad, kConvolutionFactor, gy, w, Array());
  check_on_gpu(device, run_data_grad, kConvolutionFactor, gy, w, bx);
  const Array held = make(c.x, 6, dtype);
  const auto add_data_grad = [&](const Array& a, const Array& k, const Array& sum) {
    const Array gx = sum.copy();
    if (gx.device().is_cpu()) {
      gx.copy_from((gx.astype(Dtype::float64) + data_grad(c, g, a, k, Array()).astype(Dtype::float64)).astype(dtype));
    } else {
      launch<kernels::ConvolutionDataGradAdded>(gx.device(), g, a, k, gx);
    }
    return gx;
  };
  check_on_gpu(device, add_data_grad, kConvolutionFactor, gy, w, held);
  if (dtype == w_dtype) {
    check_on_gpu(device, run_filter_grad, kConvolutionFactor, x, gy);
  } else {  // the sums are rounded to the images' dtype first
    const Array expected = run_filter_grad(x, gy);
    const Array got = run_filter_grad(on_device(x, device), on_device(gy, device));
    CHECK(got.dtype() == w_dtype);
    check_same(got.to_device(Device()).astype(dtype), expected.astype(dtype), kConvolutionFactor);
  }
}

}  // namespace

TEST_CASE("convolution: every geometry, dtype and use of cuDNN") {
  const auto device = gpu_device();
  if (!device) return;
  const auto strict = using_config(&Config::use_tf32, false);
  for (const Use use : kUses) {
    const auto guard = using_config(&Config::use_cudnn, use);
    for (const NamedConvolution& c : convolution_cases()) {
      for (const Dtype dtype : kFloatingDtypes) {
        CAPTURE(text(use));
        CAPTURE(c.name);
        CAPTURE(name(dtype));
        check_kernels(*device, c, dtype, dtype, Layout::channels_last, c.geometry());
      }
    }
  }
}

TEST_CASE("convolution: images of few channels that are folded for a stride of two") {
  const auto device = gpu_device();
  if (!device) return;
  for (const int64_t channels : {1, 2, 3, 4}) {
    for (const int64_t kernel : {1, 2, 3, 5, 7}) {
      for (const int64_t pad : {0, 1, 2, 3}) {
        const int64_t height = 11 + channels, width = 10 + kernel;
        const Dtype dtype = (channels + kernel + pad) % 2 == 0 ? Dtype::float16 : Dtype::bfloat16;
        check_convolution(*device,
                          {{2, channels, height, width},
                           {8, channels, kernel, kernel + kernel % 2},
                           {2, 2},
                           {pad, (pad + kernel) % 4}},
                          dtype, dtype);
      }
    }
  }
}

TEST_CASE("convolution: every layout, and weights of another dtype") {
  const auto device = gpu_device();
  if (!device) return;
  const auto strict = using_config(&Config::use_tf32, false);
  for (const Use use : {Use::automatic, Use::never}) {
    const auto guard = using_config(&Config::use_cudnn, use);
    for (const size_t i : {size_t{0}, size_t{2}, size_t{9}}) {
      const NamedConvolution& c = convolution_cases()[i];
      CAPTURE(text(use));
      CAPTURE(c.name);
      for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::every_second, Layout::reversed}) {
        CAPTURE(static_cast<int>(layout));
        check_kernels(*device, c, Dtype::float32, Dtype::float32, layout, c.geometry());
        check_kernels(*device, c, Dtype::float16, Dtype::float16, layout, c.geometry());
      }
      check_kernels(*device, c, Dtype::float16, Dtype::float32, Layout::channels_last, c.geometry());
      check_kernels(*device, c, Dtype::bfloat16, Dtype::float32, Layout::channels_last, c.geometry());
    }
  }
}

TEST_CASE("convolution: timing the ways of adding a gradient adds it once") {
  const auto device = gpu_device();
  if (!device) return;
  const ScratchDirectory folder;
  const CacheFolder cache((folder / "kernels"));
  const auto tuned = using_config(&Config::autotune, true);
  const NamedConvolution& c = convolution_cases()[0];
  kernels::Convolution g = c.geometry();
  g.autotune = true;
  const Array gy = uniform_array(c.y(), -1, 1).to_device(*device).channels_last();
  const Array w = uniform_array(c.w, -1, 1, Dtype::float32, 2).to_device(*device).channels_last();
  const Array gx = full(c.x, 1, Dtype::float32, *device).channels_last();
  const Array expected = data_grad(c, g, gy, w, Array()) + 1.0;
  launch<kernels::ConvolutionDataGradAdded>(*device, g, gy, w, gx);
  check_same(gx, expected.to_device(Device()), kConvolutionFactor);
  launch<kernels::ConvolutionDataGradAdded>(*device, g, gy, w, gx);
  check_same(gx, (expected + expected - 1.0).to_device(Device()), kConvolutionFactor);
}

TEST_CASE("convolution: gradients of two branches meet in one kernel") {
  const auto device = gpu_device();
  if (!device) return;
  const auto gradient_on = [](const Device& where) {
    const auto images = [&](const Shape& shape, uint64_t seed) {
      return uniform_array(shape, -1, 1, Dtype::float32, seed).to_device(where).channels_last();
    };
    const Variable x(images({2, 8, 6, 6}, 1)), W(images({8, 8, 3, 3}, 2)), V(images({8, 8, 1, 1}, 3));
    const Variable h = functions::tanh(x);
    const Variable y = functions::convolution_2d(h, W, Variable(), {.pad = 1}) + functions::convolution_2d(h, V) + h;
    functions::sum(y * y).backward();
    return x.grad();
  };
  check_same(gradient_on(*device).to_device(Device()), gradient_on(Device()), 64);
}

TEST_CASE("convolution: gradients of two branches meet in one kernel in a static graph too") {
  const auto device = gpu_device();
  if (!device) return;
  struct Launches final : LaunchObserver {
    void on_launch(const Launch& launch, void (*proceed)(const Launch&)) override {
      added += std::string(launch.name) == kernels::ConvolutionDataGradAdded::kName;
      proceed(launch);
    }
    int added = 0;
  };
  const auto images = [&](const Shape& shape, uint64_t seed) {
    return uniform_array(shape, -1, 1, Dtype::float32, seed).to_device(*device).channels_last();
  };
  const Variable W(images({8, 8, 3, 3}, 2)), V(images({8, 8, 1, 1}, 3));
  const auto call = [&](const Variable& x) {
    const Variable h = functions::tanh(x);
    const Variable y = functions::convolution_2d(h, W, Variable(), {.pad = 1}) + functions::convolution_2d(h, V) + h;
    return functions::sum(y * y);
  };
  auto graph = static_graph(call);
  for (uint64_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    const Variable x(images({2, 8, 6, 6}, 10 + i)), same(x.array());
    const auto added_by = [](const auto& step) {
      Launches launches;
      const ScopedLaunchObserver scope(launches);
      step();
      return launches.added;
    };
    const int added = added_by([&] { call(same).backward(); });
    CHECK(added > 0);
    CHECK(added_by([&] { graph(x).backward(); }) == added);
    check_same(x.grad().to_device(Device()), same.grad().to_device(Device()), 1);
  }
}

TEST_CASE("convolution: results in the order that they have") {
  const auto device = gpu_device();
  if (!device) return;
  const auto strict = using_config(&Config::use_tf32, false);
  const NamedConvolution& c = convolution_cases()[0];
  const kernels::Convolution g = c.geometry();
  const Array x = uniform_array(c.x, -1, 1), w = uniform_array(c.w, -1, 1, Dtype::float32, 2);
  const Array expected = convolved(c, g, x, w, Array());
  for (const Layout layout : kWritableLayouts) {
    CAPTURE(static_cast<int>(layout));
    const Array y = on_device(in_layout(full(c.y(), 9, Dtype::float32), layout), *device);
    launch<kernels::ConvolutionForward>(*device, g, x.to_device(*device), w.to_device(*device), Array(), y);
    check_same(y, expected, kConvolutionFactor);
  }
}

TEST_CASE("convolution: addresses that are not aligned for packs") {
  const auto device = gpu_device();
  if (!device) return;
  const auto strict = using_config(&Config::use_tf32, false);
  const NamedConvolution& c = convolution_cases()[0];
  const auto run = [&](const Array& x, const Array& w) { return convolved(c, c.geometry(), x, w, Array()); };
  for (const Dtype dtype : {Dtype::float16, Dtype::float32}) {
    // A batch less of a storage that begins one element earlier.
    const Array whole = uniform_array({numel(c.x) + 1}, -1, 1, dtype);
    const Array w = in_layout(uniform_array(c.w, -1, 1, dtype, 2), Layout::channels_last);
    const Array gpu_whole = whole.to_device(*device);
    const Array x = whole.as_strided(c.x, channels_last_strides(c.x), 1);
    const Array gpu_x = gpu_whole.as_strided(c.x, channels_last_strides(c.x), 1);
    check_same(run(gpu_x, w.to_device(*device)), run(x, w), kConvolutionFactor);
  }
}

TEST_CASE("convolution: residual, bias and ReLU in one kernel") {
  const auto device = gpu_device();
  if (!device) return;
  const auto strict = using_config(&Config::use_tf32, false);
  for (const Use use : kUses) {
    const auto guard = using_config(&Config::use_cudnn, use);
    for (const size_t i : {size_t{0}, size_t{2}, size_t{8}, size_t{9}, size_t{10}, size_t{14}}) {
      const NamedConvolution& c = convolution_cases()[i];
      for (const Dtype dtype : {Dtype::float16, Dtype::float32}) {
        CAPTURE(text(use));
        CAPTURE(c.name);
        CAPTURE(name(dtype));
        const Array x = in_layout(uniform_array(c.x, -1, 1, dtype), Layout::channels_last);
        const Array w = in_layout(uniform_array(c.w, -1, 1, dtype, 2), Layout::channels_last);
        const Array z = in_layout(uniform_array(c.y(), -1, 1, dtype, 3), Layout::channels_last);
        const Array b = uniform_array({c.w[0]}, -1, 1, dtype, 4);
        for (const Activation activation : {Activation::none, Activation::relu}) {
          const auto run = [&](const Array& a, const Array& k, const Array& residual, const Array& bias) {
            const Array y = empty_channels_last(c.y(), dtype, a.device());
            launch<kernels::ConvolutionFusedForward>(a.device(), c.geometry(), activation, a, k, residual, bias, y);
            return y;
          };
          // In parts each of which is rounded, on the CPU.
          const double factor = 2 * kConvolutionFactor;
          check_on_gpu(*device, run, factor, x, w, z, b);
          check_on_gpu(*device, run, factor, x, w, Array(), b);
          check_on_gpu(*device, run, factor, x, w, z, Array());
          check_on_gpu(*device, run, factor, x, w, Array(), Array());
        }
      }
    }
  }
}

TEST_CASE("convolution: a function in the end gives the bits of its own kernel") {
  const auto device = gpu_device();
  if (!device) return;
  kernels::UnaryFunctor silu;
  silu.kernel = kernel_id<kernels::Pointwise<kernels::Silu>>();
  for (const size_t i : {size_t{0}, size_t{2}, size_t{8}, size_t{9}}) {
    const NamedConvolution& c = convolution_cases()[i];
    for (const Dtype dtype : {Dtype::float16, Dtype::float32}) {
      for (const bool has_addends : {false, true}) {
        CAPTURE(c.name);
        CAPTURE(name(dtype));
        CAPTURE(has_addends);
        const auto drawn = [&](const Shape& shape, uint64_t seed) {
          return uniform_array(shape, -1, 1, dtype, seed).to_device(*device).channels_last();
        };
        const Array x = drawn(c.x, 1), w = drawn(c.w, 2), z = has_addends ? drawn(c.y(), 3) : Array();
        const Array bias = has_addends ? uniform_array({c.w[0]}, -1, 1, dtype, 4).to_device(*device) : Array();
        const Array together = empty_channels_last(c.y(), dtype, *device), sums = empty_like(together);
        launch<kernels::ConvolutionFunctionForward>(*device, c.geometry(), silu, x, w, z, bias, together);
        launch<kernels::ConvolutionFusedForward>(*device, c.geometry(), Activation::none, x, w, z, bias, sums);
        CHECK(together.to_vector<float>() == pointwise(kernels::Silu{}, sums).to_vector<float>());
      }
    }
  }
  // Sums of nothing.
  const Array y = empty({1, 2, 3, 3}, Dtype::float32, *device);
  kernels::Convolution g;
  g.ndim = 2;
  for (int i = 0; i < 2; ++i) g.stride[i] = g.dilate[i] = 1;
  launch<kernels::ConvolutionFunctionForward>(*device, g, silu, empty({1, 0, 3, 3}, Dtype::float32, *device),
                                              empty({2, 0, 1, 1}, Dtype::float32, *device), Array(),
                                              full({2}, 1, Dtype::float32, *device), y);
  check_same(y, pointwise(kernels::Silu{}, full({1, 2, 3, 3}, 1, Dtype::float32)));
}

TEST_CASE("convolution: weights that are fixed are converted again after something has written to them") {
  const auto device = gpu_device();
  if (!device) return;
  const auto strict = using_config(&Config::use_tf32, false);
  for (const size_t i : {size_t{0}, size_t{2}}) {
    const NamedConvolution& c = convolution_cases()[i];
    CAPTURE(c.name);
    kernels::Convolution g = c.geometry();
    g.weights_are_fixed = true;
    const Array x = uniform_array(c.x, -1, 1, Dtype::bfloat16), w = uniform_array(c.w, -1, 1, Dtype::float32, 2);
    const Array gpu_x = x.to_device(*device), gpu_w = w.to_device(*device);
    for (int round = 0; round < 3; ++round) {
      check_same(convolved(c, g, gpu_x, gpu_w, Array()), convolved(c, g, x, w, Array()), kConvolutionFactor);
    }
    const Array other = uniform_array(c.w, -1, 1, Dtype::float32, 7);
    w.copy_from(other);
    gpu_w.copy_from(other.to_device(*device));
    check_same(convolved(c, g, gpu_x, gpu_w, Array()), convolved(c, g, x, w, Array()), kConvolutionFactor);
  }
}

TEST_CASE("convolution: autotune measures once and keeps its choice") {
  const auto device = gpu_device();
  if (!device) return;
  const auto strict = using_config(&Config::use_tf32, false);
  const ScratchDirectory folder;
  const CacheFolder cache(folder.path());
  const NamedConvolution c = {"only here", {3, 8, 7, 11}, {8, 8, 3, 3}, 1, 1};
  kernels::Convolution g = c.geometry();
  g.autotune = true;
  check_kernels(*device, c, Dtype::float32, Dtype::float32, Layout::channels_last, g);
  const std::string choices = tuning::choices();
  CHECK(choices.find("cuda.convolution/1 ") != std::string::npos);
  CHECK(choices.find("forward float32 x 3x8x7x11 w 8x8x3x3") != std::string::npos);
  CHECK(choices.find("filter_grad float32 x 3x8x7x11 w 8x8x3x3") != std::string::npos);
  check_kernels(*device, c, Dtype::float32, Dtype::float32, Layout::channels_last, g);
  CHECK(tuning::choices() == choices);
  const std::string saved = read_file(folder / "choices.txt");
  std::istringstream lines(saved);
  for (std::string line; std::getline(lines, line);) CHECK(choices.find(line + '\n') != std::string::npos);
  CHECK(saved.find("forward float32 x 3x8x7x11 w 8x8x3x3") != std::string::npos);
  // What a snapshot brings is used, and what cannot be used is replaced.
  const size_t shape = choices.find(" x 3x8x7x11 "), equals = choices.find(" = ", shape);
  const size_t line = choices.rfind("cuda.convolution/1 ", shape);
  const std::string problem = choices.substr(line, equals - line);
  tuning::restore(choices);
  check_kernels(*device, c, Dtype::float32, Dtype::float32, Layout::channels_last, g);
  CHECK(tuning::choices() == choices);
  tuning::restore(problem + " = engine 999999\n");
  check_kernels(*device, c, Dtype::float32, Dtype::float32, Layout::channels_last, g);
  CHECK(saved.find(problem + " = " + tuning::find(problem) + '\n') != std::string::npos);
}

TEST_CASE("convolution: images of few channels under a tight workspace limit") {
  const auto device = gpu_device();
  if (!device) return;
  struct Limit {
    size_t before = cuda::get_max_workspace_size();
    explicit Limit(size_t bytes) { cuda::set_max_workspace_size(bytes); }
    ~Limit() { cuda::set_max_workspace_size(before); }
  };
  const Limit limit(5000);  // room for none of the copies that libraries make of such images
  for (const int64_t channels : {3, 11}) {
    const NamedConvolution c = {"few channels", {3, channels, 12, 12}, {8, channels, 3, 3}, 2, 1};
    for (const bool is_fixed : {false, true}) {
      CAPTURE(channels);
      CAPTURE(is_fixed);
      kernels::Convolution g = c.geometry();
      g.weights_are_fixed = is_fixed;
      check_kernels(*device, c, Dtype::float16, Dtype::float16, Layout::channels_last, g);
      check_kernels(*device, c, Dtype::bfloat16, Dtype::float32, Layout::contiguous, g);
      const auto plain = using_config(&Config::use_cudnn_tensor_core, Use::never);
      check_kernels(*device, c, Dtype::bfloat16, Dtype::bfloat16, Layout::contiguous, g);
    }
  }
}

TEST_CASE("convolution: TF32, tensor cores and determinism by config") {
  const auto device = gpu_device();
  if (!device) return;
  const NamedConvolution& c = convolution_cases()[0];
  const Array x = in_layout(uniform_array(c.x, -1, 1), Layout::channels_last);
  const Array w = in_layout(uniform_array(c.w, -1, 1, Dtype::float32, 2), Layout::channels_last);
  const Array expected = convolved(c, c.geometry(), x, w, Array());
  const auto with_tf32 = using_config(&Config::use_tf32, true);
  const auto run = [&] { return convolved(c, c.geometry(), x.to_device(*device), w.to_device(*device), Array()); };
  check_same(run(), expected, 4e-3 / gpu_tolerance(Dtype::float32));  // sums of 72 products, each with 10 bits
  const auto deterministic = using_config(&Config::cudnn_deterministic, true);
  const Array first = run();
  CHECK(first.to_vector<float>() == run().to_vector<float>());
  const auto plain = using_config(&Config::use_cudnn_tensor_core, Use::never);
  check_same(run(), expected, kConvolutionFactor);
}

}  // namespace kusari::testing
