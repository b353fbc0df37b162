#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/memory.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/cifar_cnn.h"
#include "kusari/framework/links/model/resnet.h"
#include "kusari/optimizers/momentum_sgd.h"

// The memory of what a training step keeps from its forward for its backward computation, in float32 and in 16 bits.
namespace kusari::testing {
namespace {

namespace F = functions;

/// 16-bit activations must not take more than this share of the memory of float32 ones.
constexpr double kShare = 0.55;

constexpr DtypePolicy kHalves[] = {Dtype::float16, mixed16, mixed_bf16};

/// Bytes that the second step holds between forward and backward, above what it holds before: the graph and the arrays
/// that it keeps. `images`: the shape of a batch.
template <class Make>
int64_t held_bytes(DtypePolicy policy, const Shape& images, const Make& make) {
  const auto guard = using_config(&Config::dtype, policy);
  auto model = make();
  optimizers::MomentumSGD optimizer(1e-3, 0.9);
  optimizer.setup(model);
  if (is_half(policy.dtype())) optimizer.use_fp32_update();
  const Array x = ones(images, policy.dtype()).channels_last(), t = zeros({images[0]}, Dtype::int32);
  int64_t held = 0;
  for (int step = 0; step < 2; ++step) {  // the first one makes what lasts: parameters, their states, sums
    model.cleargrads();
    const int64_t before = memory::statistics().allocated;
    const Variable loss = F::softmax_cross_entropy(model(Variable(x, false)), t);
    held = memory::statistics().allocated - before;
    loss.backward();
    optimizer.update();
    CHECK(std::isfinite(loss.array().item<double>()));
  }
  return held;
}

template <class Make>
void check_share(const Shape& images, const Make& make) {
  const auto whole = static_cast<double>(held_bytes(Dtype::float32, images, make));
  // The counters of other threads' small blocks may lag by some 64 KiB, which must not matter.
  REQUIRE(whole > 4 * (1 << 20));
  for (const DtypePolicy policy : kHalves) {
    CAPTURE(name(policy.dtype()));
    const auto half = static_cast<double>(held_bytes(policy, images, make));
    CHECK(half <= kShare * whole);
    CHECK(half >= 0.4 * whole);  // less would mean that something is not counted
  }
}

TEST_CASE("16-bit activations take half the memory: CifarCnn") {
  check_share({4, 3, 32, 32}, [] { return L::CifarCnn(); });
}

TEST_CASE("16-bit activations take half the memory: ResNet-18 for small images") {
  check_share({4, 3, 32, 32}, [] { return L::ResNet18({.n_classes = 10, .stem = L::ResNetStem::cifar}); });
}

TEST_CASE("16-bit activations take half the memory: ResNet-50") {
  check_share({2, 3, 96, 96}, [] { return L::ResNet50({.n_classes = 10}); });
}

/// A network that computes some layers in float32 whatever its parameters are.
class WideInside : public Chain {
 public:
  WideInside() : conv{*this, "conv", 3, 32, 3, L::ConvolutionOptions{.pad = 1}}, fc{*this, "fc", 32 * 32 * 32, 10} {}
  Variable operator()(const Variable& x) {
    const Variable h = F::relu(F::cast(conv(x), Dtype::float32));
    return fc(F::cast(F::relu(h), x.dtype()));
  }

 private:
  Child<L::Convolution2D> conv;
  Child<L::Linear> fc;
};

TEST_CASE("float32 inside a 16-bit model shows in the memory of its activations") {
  const auto make = [] { return WideInside(); };
  const Shape images{32, 3, 32, 32};
  const auto whole = static_cast<double>(held_bytes(Dtype::float32, images, make));
  CHECK(static_cast<double>(held_bytes(Dtype::float16, images, make)) > 0.6 * whole);
}

}  // namespace
}  // namespace kusari::testing
