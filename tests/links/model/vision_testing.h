#pragma once

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/scratch_directory.h"

// What the tests of the image models share.
namespace kusari::testing {

/// Images of float32 in [-1, 1), channels innermost.
inline Variable images(int64_t n, int64_t size) {
  return Variable(uniform({n, 3, size, size}, -1, 1).astype(Dtype::float32).channels_last(), false);
}

inline std::vector<double> scores(auto& model, const Variable& x) {
  const auto evaluation = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  return model(x).template to_vector<double>();
}

/// A few steps of momentum SGD on one batch of 2 images lower its loss.
template <class Model>
void check_learns(Model model, int64_t size, double lr, int steps = 3) {
  optimizers::MomentumSGD optimizer(lr, 0.9);
  optimizer.setup(model);
  const Variable x = images(2, size), t(array<int32_t>({0, 1}), false);
  std::vector<double> losses;
  for (int i = 0; i <= steps; ++i) {
    const Variable loss = functions::softmax_cross_entropy(model(x), t);
    losses.push_back(loss.item<double>());
    model.cleargrads();
    loss.backward();
    optimizer.update();
  }
  CAPTURE(losses.front());
  CHECK(losses.back() < 0.9 * losses.front());
}

/// Copies, assignments and files give the same model. `other`: the same class with other numbers.
template <class Model>
void check_value(Model& model, Model other, int64_t size) {
  const Variable x = images(2, size);
  const std::vector<double> y = scores(model, x);
  REQUIRE(scores(other, x) != y);
  {
    Model copy(model);
    CHECK(scores(copy, x) == y);
    CHECK(copy.params().size() == model.params().size());
    copy.params()[0]->array().fill(0);
    CHECK(scores(model, x) == y);
  }
  const ScratchDirectory directory;
  serializers::save_npz(directory / "model.npz", model);
  Model moved(std::move(other));
  Parameter* const kept = moved.params()[0];
  {
    Model assigned(moved);
    assigned = model;
    CHECK(scores(assigned, x) == y);
  }
  serializers::load_npz(directory / "model.npz", moved);
  CHECK(moved.params()[0] == kept);
  CHECK(scores(moved, x) == y);
}

}  // namespace kusari::testing
