#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/sgd.h"
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

struct Learning {
  int64_t size;  ///< of the images
  double lr;
  int steps = 3;
  int64_t n = 2;     ///< number of images
  double scale = 1;  ///< their largest number
};

/// A few steps of SGD on one batch of dark and bright images lower its loss. `make()` gives the model.
template <class Make>
void check_learns(const Make& make, const Learning& o) {
  random::seed(1);
  auto model = make();
  optimizers::SGD optimizer(o.lr);
  optimizer.setup(model);
  const Variable x = images(o.n, o.size), t(zeros({o.n}, Dtype::int32), false);
  for (int64_t i = 0; i < o.n; ++i) {
    const bool bright = i % 2 == 1;
    const uint64_t seed = static_cast<uint64_t>(i);
    x.array().at(i).copy_from(uniform({3, o.size, o.size}, bright ? 0 : -o.scale, bright ? o.scale : 0, seed));
    t.array().at(i).fill(bright ? 1 : 0);
  }
  std::vector<double> losses;
  for (int i = 0; i <= o.steps; ++i) {
    const Variable loss = functions::softmax_cross_entropy(model(x), t);
    losses.push_back(loss.item<double>());
    model.cleargrads();
    loss.backward();
    optimizer.update();
  }
  CAPTURE(losses.front());
  // Batch normalization of so few images is rough, and so is dropout: not every step lowers it.
  CHECK(*std::min_element(losses.begin(), losses.end()) < 0.8 * losses.front());
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
