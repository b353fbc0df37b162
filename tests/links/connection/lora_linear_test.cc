#include "kusari/framework/links/connection/lora_linear.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/optimizers/decoupled_adamw.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

using Numbers = std::vector<double>;

L::Linear trained(Dtype dtype = Dtype::float64) {
  const auto policy = using_config(&Config::dtype, DtypePolicy(dtype));
  L::Linear linear(4, 3, {.initial_w = uniform({3, 4}, -1, 1, 1), .initial_bias = uniform({3}, -1, 1, 2)});
  linear.to(test_device());
  return linear;
}

/// With a correction that is not 0.
L::LoraLinear adapted(Dtype dtype = Dtype::float64) {
  L::LoraLinear link(trained(dtype), {.rank = 2, .alpha = 3, .initial_a = uniform({2, 4}, -1, 1, 7)});
  link.B.array().copy_from(uniform({3, 2}, -1, 1, 3));
  return link;
}

TEST_CASE("LoraLinear begins as the link that it was made from") {
  const L::Linear linear = trained();
  const L::LoraLinear link(linear, {.rank = 2});
  CHECK(link.A.shape() == Shape{2, 4});
  CHECK(link.A.dtype() == Dtype::float64);
  CHECK(link.A.device() == test_device());
  CHECK(link.B.to_vector<double>() == Numbers(6, 0));
  const Variable x(uniform({5, 4}, -1, 1), false);
  check_close(link(x), {5, 3}, linear(x).to_vector<double>());
  // Nothing of the given one is shared.
  link.base.W.array().fill(0);
  CHECK(linear.W.to_vector<double>() == uniform({3, 4}, -1, 1, 1).to_vector<double>());
}

TEST_CASE("LoraLinear: y = x W^T + b + alpha / rank (x A^T) B^T, and merge() computes the same") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const L::LoraLinear link = adapted(dtype);
    const Numbers W = link.base.W.to_vector<double>(), b = link.base.b.to_vector<double>(),
                  A = link.A.to_vector<double>(), B = link.B.to_vector<double>();
    const Array x = uniform({5, 4}, -1, 1, 4).astype(dtype);
    const Numbers at = x.to_vector<double>();
    Numbers sums, expected;
    for (size_t o = 0; o < 3; ++o) {
      for (size_t i = 0; i < 4; ++i) sums.push_back(W[4 * o + i] + 1.5 * (B[2 * o] * A[i] + B[2 * o + 1] * A[4 + i]));
    }
    for (size_t n = 0; n < 5; ++n) {
      for (size_t o = 0; o < 3; ++o) {
        double y = b[o];
        for (size_t i = 0; i < 4; ++i) y += at[4 * n + i] * sums[4 * o + i];
        expected.push_back(y);
      }
    }
    check_close(link(Variable(x, false)), {5, 3}, expected, 4);
    L::Linear merged = link.merge();
    CHECK(merged.W.dtype() == dtype);
    check_close(merged.W.array(), {3, 4}, sums);
    check_close(merged(Variable(x, false)), {5, 3}, expected, 4);
    CHECK((merged.W.update_enabled() && merged.b.update_enabled()));
  }
}

TEST_CASE("LoraLinear: gradients of x, A and B, and none of W and b") {
  L::LoraLinear link = adapted();
  const Variable x(uniform({5, 4}, -1, 1, 4));
  const Array gy = uniform({5, 3}, -1, 1, 5);
  link.cleargrads();
  Variable y = link(x);
  y.set_grad(gy);
  y.backward();
  // By the chain rule: with d = alpha / rank, gA = d B^T gy^T x, gB = d gy^T (x A^T), gx = gy (W + d B A).
  const Numbers at = x.to_vector<double>(), g = gy.to_vector<double>(), A = link.A.to_vector<double>(),
                B = link.B.to_vector<double>(), W = link.merge().W.to_vector<double>();
  Numbers gA(8), gB(6), gx(20);
  for (size_t n = 0; n < 5; ++n) {
    for (size_t o = 0; o < 3; ++o) {
      for (size_t i = 0; i < 4; ++i) {
        gx[4 * n + i] += g[3 * n + o] * W[4 * o + i];
        for (size_t r = 0; r < 2; ++r) {
          gA[4 * r + i] += 1.5 * B[2 * o + r] * g[3 * n + o] * at[4 * n + i];
          gB[2 * o + r] += 1.5 * g[3 * n + o] * at[4 * n + i] * A[4 * r + i];
        }
      }
    }
  }
  check_close(link.A.grad(), {2, 4}, gA);
  check_close(link.B.grad(), {3, 2}, gB);
  check_close(x.grad(), {5, 4}, gx);
  CHECK_FALSE(link.base.W.has_gradient());
  CHECK_FALSE(link.base.b.has_gradient());
  check_gradients([&](const Variable& v) { return link(v); }, uniform({5, 4}, -1, 1, 4));
}

TEST_CASE("LoraLinear: an optimizer changes A and B alone, with static graphs, too") {
  const auto losses = [](auto model) {
    optimizers::DecoupledAdamW optimizer(0.1);
    optimizer.setup(model);
    const Numbers A = model.param("/A").template to_vector<double>();
    const Variable x(uniform({5, 4}, -1, 1, 4), false);
    const Array t = uniform({5, 3}, -1, 1, 6);
    Numbers made;
    for (int i = 0; i < 30; ++i) {
      const Variable loss = functions::sum(functions::square(model(x) - t));
      made.push_back(loss.item<double>());
      model.cleargrads();
      loss.backward();
      optimizer.update();
    }
    CHECK(made.back() < 0.5 * made.front());
    const L::Linear before = trained();
    CHECK(model.param("/base/W").template to_vector<double>() == before.W.to_vector<double>());
    CHECK(model.param("/base/b").template to_vector<double>() == before.b.to_vector<double>());
    CHECK(model.param("/A").template to_vector<double>() != A);
    return made;
  };
  const Numbers plain = losses(adapted()), recorded = losses(static_graph(adapted()));
  for (size_t i = 0; i < plain.size(); ++i) CHECK(recorded[i] == doctest::Approx(plain[i]).epsilon(1e-9));
}

TEST_CASE("LoraLinear takes its input size from the first batch") {
  L::LoraLinear link(L::Linear(3, {.nobias = true}), {.rank = 2});
  CHECK(!link.A.is_initialized());
  CHECK_THROWS_WITH_AS(link.merge(), doctest::Contains("L::LoraLinear::merge: the input size is not known"),
                       StateError);
  CHECK_THROWS_AS(link(Variable(ones({2, 3, 5})), 0), ValueError);
  CHECK_THROWS_AS(link(Variable(ones({2}))), TypeError);
  CHECK(!link.base.W.is_initialized());
  CHECK(!link.A.is_initialized());
  CHECK(link(Variable(ones({2, 3, 5}))).shape() == Shape{2, 3});
  CHECK(link.A.shape() == Shape{2, 15});
  CHECK_FALSE(link.base.W.update_enabled());
  L::LoraLinear batched(L::Linear(4), {.rank = 1});
  CHECK(batched(Variable(ones({2, 3, 5})), 2).shape() == Shape{2, 3, 4});
  CHECK(batched.A.shape() == Shape{1, 5});
  CHECK(batched.merge().W.shape() == Shape{4, 5});
}

TEST_CASE("LoraLinear: files, copies and moves") {
  const ScratchDirectory dir;
  L::LoraLinear link = adapted(Dtype::float32);
  std::vector<std::string> names;
  for (const auto& [path, parameter] : link.namedparams()) names.push_back(path);
  CHECK(names == std::vector<std::string>{"/A", "/B", "/base/W", "/base/b"});
  serializers::save_npz(dir / "adapted.npz", link);
  L::LoraLinear read(L::Linear(4, 3), {.rank = 2, .alpha = 3});
  read.to(test_device());
  serializers::load_npz(dir / "adapted.npz", read);
  const L::LoraLinear copied = read;
  CHECK_FALSE(copied.base.W.update_enabled());
  const L::LoraLinear moved = std::move(read);
  const Variable x(uniform({5, 4}, -1, 1).astype(Dtype::float32), false);
  const Numbers y = link(x).to_vector<double>();
  CHECK(copied(x).to_vector<double>() == y);
  CHECK(moved(x).to_vector<double>() == y);
  // A lazy one takes its size from a file.
  L::LoraLinear lazy(L::Linear(3), {.rank = 2, .alpha = 3});
  lazy.to(test_device());
  serializers::load_npz(dir / "adapted.npz", lazy);
  CHECK(lazy(x).to_vector<double>() == y);
}

TEST_CASE("LoraLinear: numbers that make no sense") {
  CHECK_THROWS_WITH_AS(L::LoraLinear(trained(), {.rank = 0}), "L::LoraLinear: rank is 0: it must be positive",
                       ValueError);
  CHECK_THROWS_WITH_AS(L::LoraLinear(trained(), {.alpha = std::numeric_limits<double>::infinity()}),
                       "L::LoraLinear: alpha is inf: it must be finite", ValueError);
}

}  // namespace
}  // namespace kusari::testing
