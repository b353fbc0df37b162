#pragma once

#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/initializers/normal.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/functions/testing.h"

// A network with all that mixed precision treats in its own way, and a training that it learns within a few steps.
namespace kusari::testing {

class SmallNet : public Chain {
 public:
  /// The same numbers each time.
  SmallNet()
      : conv{*this, "conv", kInfer, 8, 3, {.pad = 1}},
        bn{*this, "bn", 8},
        l1{*this, "l1", kInfer, 16},
        l2{*this, "l2", 16, 4} {}
  Variable operator()(const Variable& x) { return l2(F::relu(l1(bn.relu(conv(x))))); }

 private:
  struct Seeded {
    Seeded() { random::seed(11); }
  };
  Seeded seeded_;

 public:
  Child<L::Convolution2D> conv;
  Child<L::BatchNormalization> bn;
  Child<L::Linear> l1, l2;
};

inline constexpr int64_t kBatch = 16;

/// float32, (16, 3, 6, 6).
inline Array images() { return uniform({kBatch, 3, 6, 6}, -1, 1, 3).astype(Dtype::float32); }
inline Array labels() {
  std::vector<int32_t> classes(kBatch);
  for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<int32_t>(i * 7 % 4);
  return array(classes, test_device());
}
inline Variable loss_of(SmallNet& model, const Array& x) { return F::softmax_cross_entropy(model(x), labels()); }

/// The losses of a training in float32: what mixed precision is to come near.
inline std::vector<double> train_float32(int steps) {
  SmallNet model;
  model.to(test_device());
  optimizers::MomentumSGD optimizer(0.05);
  optimizer.setup(model);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    optimizer.update([&] {
      const Variable loss = loss_of(model, images());
      losses.push_back(loss.item<double>());
      return loss;
    });
  }
  return losses;
}

inline void check_same_training(const std::vector<double>& losses, const std::vector<double>& expected,
                                double tolerance = 0.02) {
  REQUIRE(losses.size() == expected.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(losses[i] - expected[i]) < tolerance);
  }
  CHECK(losses.back() < 0.5 * losses.front());
}

}  // namespace kusari::testing
