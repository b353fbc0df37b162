#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random.h"
#include "kusari/tests/inference/inference_testing.h"

// Small networks of drawn layers: what the passes make of them gives the numbers that the networks give.
namespace kusari {
namespace {

namespace F = functions;
namespace L = links;
using testing::called;
using testing::numbers;
using testing::relative_error;

/// Blocks of image networks one after the other: convolutions of all kinds, normalizations, functions, residuals,
/// scales by channel, and products in the end.
class DrawnNet : public Chain {
 public:
  explicit DrawnNet(uint64_t seed)
      : wide{*this, "wide"}, narrow{*this, "narrow"}, norms{*this, "norms"}, fc{*this, "fc"}, seed_{seed} {
    random::seed(seed);
    int64_t channels = 3;
    const int count = 2 + static_cast<int>(draw(5));
    for (int i = 0; i < count; ++i) {
      Block block;
      block.kind = i == 0 ? 0 : static_cast<int>(draw(5));
      block.function = static_cast<int>(draw(10));
      block.has_norm = draw(2) == 0;
      const int64_t outs = block.kind == 0 ? int64_t{8} << draw(3) : channels;
      const int64_t kernel = draw(2) == 0 ? 3 : 1, stride = block.kind == 0 && draw(3) == 0 ? 2 : 1;
      const int64_t groups = block.kind == 1 ? channels : 1;
      block.conv = wide.size();
      wide.append(L::Convolution2D(
          channels, outs, block.kind == 1 ? 3 : kernel,
          {.stride = stride, .pad = block.kind == 1 || kernel == 3 ? 1 : 0, .nobias = draw(2) == 0, .groups = groups}));
      if (block.kind == 2) {  // a residual block whose shortcut is a convolution, too
        block.second = narrow.size();
        narrow.append(L::Convolution2D(channels, outs, 1));
      }
      norms.append(L::BatchNormalization(outs));
      blocks_.push_back(block);
      channels = outs;
    }
    fc.append(L::Linear(channels, 24));
    fc.append(L::Linear(24, 5));
  }

  Variable operator()(const Variable& x) const {
    Variable h = x;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      Variable y = wide[block.conv](h);
      if (block.has_norm) y = norms[i](y);
      if (block.kind == 2) y = y + narrow[block.second](h);
      if (block.kind == 3) y = y + h;
      y = function(block.function, y);
      if (block.kind == 4) y = y * F::broadcast_to(F::sigmoid(F::average(y, {2, 3}, {}, true)), y.shape());
      h = y;
    }
    return fc[1](F::gelu(fc[0](F::average(h, {2, 3}))));
  }

 private:
  struct Block {
    int kind;  // plain, depthwise, two convolutions, residual, scaled
    int function;
    bool has_norm;
    size_t conv = 0, second = 0;
  };
  uint64_t draw(uint64_t n) { return philox_word(seed_, place_++) % n; }
  static Variable function(int which, const Variable& x) {
    switch (which) {
      case 0:
        return F::relu(x);
      case 1:
        return F::relu6(x);
      case 2:
        return x * F::sigmoid(x);
      case 3:
        return F::hard_swish(x);
      case 4:
        return F::leaky_relu(x, 0.1);
      case 5:
        return F::gelu(x);
      case 6:
        return F::sigmoid(x);
      case 7:
        return F::silu(x);
      case 8:
        return F::relu(x) * 0.5 + x;
      default:
        return x;
    }
  }

 public:
  Child<ChainList<L::Convolution2D>> wide, narrow;
  Child<ChainList<L::BatchNormalization>> norms;
  Child<ChainList<L::Linear>> fc;

 private:
  uint64_t seed_, place_ = 0;
  std::vector<Block> blocks_;
};

TEST_CASE("sessions of drawn networks give the networks' numbers") {
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    DrawnNet net(seed);
    testing::draw_statistics(net);
    const Array x = numbers({seed % 3 == 0 ? 5 : 1, 3, 10, 12}, static_cast<int>(seed));
    const Array expected = called(net, x).array();
    CHECK(relative_error(InferenceSession(net, {.passes = testing::exact_passes()}).run({x})[0], expected) == 0);
    CHECK(relative_error(InferenceSession(net).run({x})[0], expected) < 2e-5);
    StaticGraphPasses alone = StaticGraphPasses::none();
    alone.fuse_convolutions = true;
    CHECK(relative_error(InferenceSession(net, {.passes = alone}).run({x})[0], expected) == 0);
    alone = StaticGraphPasses::none();
    alone.constants = alone.pack_products = true;
    CHECK(relative_error(InferenceSession(net, {.passes = alone}).run({x})[0], expected) < 2e-6);
  }
}

TEST_CASE("sessions of drawn networks with 8 bits give the networks' numbers, to steps of the scales") {
  int lowered = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    DrawnNet net(seed);
    testing::draw_statistics(net);
    quantization::Calibrator calibrator(net, {.zero_points = seed % 2 == 0});
    for (int i = 0; i < 3; ++i) calibrator.observe(numbers({4, 3, 10, 12}, i + 1));
    const auto quantized = calibrator.quantized();
    const Array x = numbers({2, 3, 10, 12}, 2);
    const Array expected = called(quantized, x).array();
    StaticGraphPasses none;
    none.lower_quantized = false;
    CHECK(relative_error(InferenceSession(quantized, {.passes = none}).run({x})[0], expected) < 0.05);
    const InferenceSession session(quantized);
    const Array found = session.run({x})[0];
    CHECK(relative_error(found, expected) < 0.05);
    lowered += session.summary().find("lower_quantized") != std::string::npos ? 1 : 0;
    CHECK(testing::same_bits(session.run({x})[0], found));
  }
  CHECK(lowered == 60);
}

}  // namespace
}  // namespace kusari
