#include <memory>
#include <optional>

#include <doctest/doctest.h>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/functions/connection/depthwise_convolution_2d.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/tests/amp/casting.h"
#include "kusari/tests/autograd/nodes.h"

namespace kusari {
namespace {

using namespace kusari::testing;

// Counts the conversions to 16 bits of what it runs.
class Counting {
 public:
  template <class Run>
  int operator()(Run&& run) {
    const ScopedLaunchObserver scope(counter_);
    run();
    return counter_.take();
  }

 private:
  NarrowingCounter counter_;
};

TEST_CASE("amp::Autocast: a parameter is converted once in a region") {
  const Variable x = constant({2, 3}), W = weights({4, 3}), b = weights({4}, 3);
  const auto run = [&] { F::linear(x, W, b); };
  Counting count;
  std::optional<amp::Autocast> autocast(std::in_place);
  CHECK(count(run) == 3);
  CHECK(count(run) == 1);  // x, which wants no gradient
  {
    const amp::Autocast inner;
    CHECK(count(run) == 1);
    const amp::Autocast off({.enabled = false});
    CHECK(count(run) == 0);
  }
  {
    const amp::Autocast other({.dtype = test_device().is_cpu() ? Dtype::float16 : Dtype::bfloat16});
    CHECK(count(run) == 3);
    CHECK(count(run) == 1);
    const amp::Autocast uncached({.cache_enabled = false});
    CHECK(count(run) == 3);
  }
  CHECK(count(run) == 1);
  autocast.reset();
  autocast.emplace();
  CHECK(count(run) == 3);
}

TEST_CASE("amp::Autocast: functions made of others use the cached copy, too") {
  const Variable x = constant({1, 2, 4, 4}, default_dtype()), W = weights({2, 2, 3, 3});
  const amp::Autocast autocast;
  Counting count;
  CHECK(count([&] { F::depthwise_convolution_2d(x, W); }) == 1);
  CHECK(count([&] { F::depthwise_convolution_2d(x, W); }) == 0);
}

TEST_CASE("amp::Autocast: a parameter that changed is converted again") {
  const Variable x = constant({2, 3}, default_dtype());
  Variable W = weights({4, 3});
  Counting count;
  const amp::Autocast autocast;
  const auto run = [&] { return F::linear(x, W); };
  const Variable before = run();
  SUBCASE("written by a kernel, as an optimizer does") { pointwise_to(W.array(), kernels::MulConst{2}, W.array()); }
  SUBCASE("given another array") { W.set_array(uniform({4, 3}, -0.5, 0.5, 21).astype(Dtype::float32)); }
  Variable after;
  CHECK(count([&] { after = run(); }) == 1);
  CHECK(after.to_vector<float>() != before.to_vector<float>());
  const amp::Autocast uncached({.cache_enabled = false});
  CHECK(after.to_vector<float>() == run().to_vector<float>());
}

TEST_CASE("amp::Autocast: memory that others write is never cached") {
  const Variable x = constant({2, 3}, default_dtype()), W = weights({4, 3});
  W.array().expose();
  Counting count;
  const amp::Autocast autocast;
  CHECK(count([&] { F::linear(x, W); }) == 1);
  CHECK(count([&] { F::linear(x, W); }) == 1);
}

TEST_CASE("amp::Autocast: a copy made without a graph does not take the gradient from a parameter") {
  const Variable x = constant({2, 3}, default_dtype()), W = weights({4, 3});
  const amp::Autocast autocast;
  Counting count;
  {
    const auto guard = no_backprop_mode();
    CHECK(count([&] { F::linear(x, W); }) == 1);
    CHECK(count([&] { F::linear(x, W); }) == 0);
  }
  F::sum(F::linear(x, W)).backward();
  REQUIRE(W.grad().is_defined());
  CHECK(W.grad().dtype() == Dtype::float32);
  const auto guard = no_backprop_mode();
  CHECK(count([&] { F::linear(x, W); }) == 0);  // the one with a graph serves as well
}

TEST_CASE("amp::Autocast: several backward passes go through one cached copy") {
  const Variable x = constant({2, 3}, default_dtype());
  const amp::Autocast autocast;
  const auto gradient = [&](const Variable& W) {
    const std::vector<float> values = W.grad().to_vector<float>();
    Variable(W).cleargrad();
    return values;
  };
  for (const bool release_graph : {false, true}) {
    CAPTURE(release_graph);
    const Variable W = weights({4, 3});
    F::sum(F::linear(x, W)).backward({.release_graph = release_graph});
    const std::vector<float> first = gradient(W);
    F::sum(F::linear(x, W)).backward({.release_graph = release_graph});
    CHECK(gradient(W) == first);
    // Both uses in one pass, and each in its own.
    (F::sum(F::linear(x, W)) + F::sum(F::linear(x, W))).backward({.release_graph = release_graph});
    const std::vector<float> both = gradient(W);
    F::sum(F::linear(x, W)).backward({.release_graph = release_graph});
    F::sum(F::linear(x, W)).backward({.release_graph = release_graph});
    CHECK(gradient(W) == both);
  }
}

TEST_CASE("amp::Autocast: unchain_backward does not cut parameters off") {
  const Variable x = constant({2, 3}, default_dtype()), W = weights({3, 3});
  const amp::Autocast autocast;
  Variable h = F::linear(x, W);
  h.unchain_backward();
  F::sum(F::linear(h, W)).backward();
  CHECK(W.grad().is_defined());
}

TEST_CASE("amp::Autocast: the cache keeps no graph of earlier iterations and no dead leaf") {
  std::vector<float> input_buffer(6, 1.0f), output_buffer(6, 1.0f);
  int inputs_freed = 0;
  const Variable W = weights({4, 3});
  const amp::Autocast autocast;
  std::vector<int64_t> in_use;
  for (int i = 0; i < 4; ++i) {
    // An input that wants a gradient is a leaf like a parameter.
    const Variable x(floats({64, 3}, Dtype::float32, static_cast<uint64_t>(i)));
    F::sum(F::linear(x, W)).backward();
    Variable(W).cleargrad();
    in_use.push_back(memory::statistics().allocated);
  }
  CHECK(in_use[3] == in_use[1]);
  if (!test_device().is_cpu()) return;
  {
    const Variable x(from_external(
        input_buffer.data(), {2, 3}, {3, 1}, Dtype::float32, Device(), [](void* freed) { ++*static_cast<int*>(freed); },
        &inputs_freed));
    F::sum(F::linear(x, W)).backward();
  }
  CHECK(inputs_freed == 1);  // the leaf itself is not held, only its copy
}

TEST_CASE("amp::Autocast: a leaf that is born where one died is not mistaken for it") {
  const Variable x = constant({2, 3}, default_dtype());
  const amp::Autocast autocast;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const Variable W = weights({4, 3}, seed);
    const Variable y = F::linear(x, W);
    const amp::Autocast uncached({.cache_enabled = false});
    CHECK(y.to_vector<float>() == F::linear(x, W).to_vector<float>());
  }
}

}  // namespace
}  // namespace kusari
