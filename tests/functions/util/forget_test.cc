#include "kusari/framework/functions/util/forget.h"

#include <tuple>
#include <utility>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link_hooks/spectral_normalization.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/normalization/batch_renormalization.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace L = links;
namespace {

using namespace testing;

using Values = std::vector<double>;

Variable leaf(const Shape& shape, uint64_t seed = 1) { return Variable(uniform(shape, -1, 1, seed)); }

/// Gradients of the sum of y^2 by each of the variables.
std::vector<Values> gradients(const Variable& y, std::initializer_list<Variable> by) {
  for (const Variable& v : by) Variable(v).cleargrad();
  F::sum(y * y).backward();
  std::vector<Values> result;
  for (const Variable& v : by) {
    CHECK(v.grad().is_defined());
    result.push_back(v.grad().is_defined() ? v.grad().to_vector<double>() : Values());
  }
  return result;
}

TEST_CASE("forget computes the same and keeps nothing") {
  const Variable x = leaf({2, 3}), y = leaf({2, 3}, 2);
  int calls = 0;
  Array intermediate;
  const auto function = [&](const Variable& a, const Variable& b) {
    ++calls;
    const Variable t = F::tanh(b);
    intermediate = t.array();
    return a * t + b;
  };
  const Variable z = F::forget(function, x, y);
  CHECK(calls == 1);
  CHECK(intermediate.is_unique());
  CHECK(std::string(z.creator()->name()) == "forget");
  const std::vector<Values> got = gradients(z, {x, y});
  CHECK(calls == 2);
  const Variable direct = function(x, y);
  CHECK(z.to_vector<double>() == direct.to_vector<double>());
  CHECK(got == gradients(direct, {x, y}));
  CHECK(got == gradients(z, {x, y}));  // and again through the same graph
}

TEST_CASE("forget without a graph calls the function once") {
  const auto mode = no_backprop_mode();
  int calls = 0;
  const Variable y = F::forget([&](const Variable& x) { return ++calls, x * 2; }, leaf({2}));
  CHECK(calls == 1);
  CHECK(y.creator() == nullptr);
}

TEST_CASE("gradients of forget are gradients of what the function used") {
  const Variable x = leaf({3, 2}), W = leaf({2, 2}, 2), b = leaf({2}, 3);
  const Variable v = F::sigmoid(W * 2);  // used inside, computed outside
  const auto layer = [&](const Variable& h) { return F::tanh(F::linear(h, W, b)) * F::sum(v); };
  const Variable h = F::linear(x, W);  // the same weights before
  const std::vector<Values> direct = gradients(layer(h), {x, W, b});
  CHECK(gradients(F::forget(layer, h), {x, W, b}) == direct);
  CHECK(gradients(F::forget([&](const Variable& g) { return F::forget(layer, g); }, h), {x, W, b}) == direct);
  // None of them is an argument, and one array is.
  CHECK(gradients(F::forget(layer, h.array()), {W, b}) == gradients(layer(h.array()), {W, b}));
  // grad() finds them and writes nowhere.
  Variable(W).cleargrad();
  const Variable y = F::sum(F::forget(layer, h)), z = F::sum(layer(h));
  CHECK(grad({y}, {W})[0].to_vector<double>() == grad({z}, {W})[0].to_vector<double>());
  CHECK_FALSE(W.grad().is_defined());
}

TEST_CASE("forget can be differentiated again") {
  const Array w = uniform({2, 2}, -1, 1, 3);
  check_gradients(
      [](const Variable& x, const Variable& W, const Variable& b) {
        const auto layer = [=](const Variable& h) { return F::tanh(F::linear(h, W, b)); };
        return F::forget(layer, F::forget(layer, x) * x);
      },
      uniform({3, 2}, -1, 1), w, uniform({2}, -1, 1, 4));
  check_gradients([](const Variable& x) { return F::forget([](auto& a, auto& b) { return a * F::tanh(b); }, x, x); },
                  uniform({3}, -1, 1));
}

TEST_CASE("forget drops the same elements when it calls again") {
  random::seed(1);
  const Variable x = leaf({40, 5});
  const auto noisy = [](const Variable& h) { return F::dropout(F::dropout(h, 0.3), 0.3); };
  const auto check = [&](const Variable& y) {
    random::bits();
    const Values dropped = y.to_vector<double>(), values = x.to_vector<double>(), gx = gradient(y, x);
    for (size_t i = 0; i < values.size(); ++i) {
      if (gx[i] * values[i] != doctest::Approx(dropped[i])) FAIL_CHECK("element " << i);
    }
  };
  const Variable y = F::forget(noisy, x);
  check(y);
  check(y);
  check(F::forget([&](const Variable& h) { return F::forget(noisy, F::dropout(h, 0.5)); }, x));
  // What is drawn afterwards is what would be without forget.
  random::seed(2);
  F::forget(noisy, x);
  const Values after = F::dropout(x).to_vector<double>();
  random::seed(2);
  noisy(x);
  CHECK(F::dropout(x).to_vector<double>() == after);
}

TEST_CASE("forget under loss scaling") {
  const Variable x = leaf({2}), W = leaf({2}, 2);
  F::sum(F::forget([&](const Variable& h) { return h * W; }, x)).backward({.loss_scale = 8.0});
  const Values expected = x.to_vector<double>(), got = W.grad().to_vector<double>();
  CHECK(W.loss_scale() == 8);
  CHECK(got[0] == 8 * expected[0]);
  CHECK(got[1] == 8 * expected[1]);
}

TEST_CASE("forget calls again under the settings of the first call") {
  const Variable x = leaf({2});
  std::vector<bool> train, recomputing;
  const auto function = [&](const Variable& h) {
    train.push_back(config().train);
    recomputing.push_back(config().in_recomputing);
    CHECK(config().enable_backprop);
    return h * h;
  };
  Variable y;
  {
    const auto guard = using_config(&Config::train, false);
    y = F::forget(function, x);
  }
  gradient(y, x);
  y = F::forget(function, x);
  global_config().train = false;
  gradient(y, x);
  CHECK_FALSE(config().train);
  global_config().train = true;
  CHECK(config().train);
  CHECK_FALSE(config().in_recomputing);
  CHECK(train == std::vector<bool>{false, false, true, true});
  CHECK(recomputing == std::vector<bool>{false, true, false, true});
}

TEST_CASE("forget calls again under the autocast of the first call") {
  const Variable x(uniform({3, 4}, -1, 1).astype(Dtype::float32));
  const Variable W(uniform({4, 4}, -1, 1, 2).astype(Dtype::float32));
  std::vector<Dtype> dtypes;
  const auto function = [&](const Variable& h) {
    const Variable y = F::linear(h, W);
    dtypes.push_back(y.dtype());
    return y;
  };
  const auto run = [&](const auto& call) {
    Variable loss;
    {
      const amp::Autocast autocast({.dtype = Dtype::bfloat16});
      loss = F::sum(call(F::linear(x, W)));  // a kept copy of W
    }
    Variable(x).cleargrad();
    Variable(W).cleargrad();
    loss.backward();
    return std::pair(x.grad().to_vector<double>(), W.grad().to_vector<double>());
  };
  const auto [gx, gW] = run([&](const Variable& h) { return F::forget(function, h); });
  CHECK(dtypes == std::vector<Dtype>{Dtype::bfloat16, Dtype::bfloat16});
  const auto [direct_gx, direct_gW] = run(function);
  CHECK(gx == direct_gx);
  // The two uses of W are added up in float32, not in bfloat16.
  for (size_t i = 0; i < gW.size(); ++i) CHECK(gW[i] == doctest::Approx(direct_gW[i]).epsilon(0.02).scale(1));
  dtypes.clear();
  const Variable y = F::forget(function, x);
  const amp::Autocast autocast({.dtype = Dtype::bfloat16});
  gradient(y, x);
  CHECK(dtypes == std::vector<Dtype>{Dtype::float32, Dtype::float32});
}

TEST_CASE("forget counts statistics once") {
  const Array x = uniform({8, 3}, -1, 1).astype(Dtype::float32);
  const auto check = [&](auto make) {
    auto direct = make(), forgotten = make();
    direct.to(test_device());
    forgotten.to(test_device());
    direct.cleargrads();
    forgotten.cleargrads();
    const Variable a = on_test_device(x), b(on_test_device(x)), c(on_test_device(x));
    const Values y = gradients(direct(c), {c})[0], z = gradients(F::forget(forgotten, b), {b})[0];
    CHECK(z == y);
    CHECK(forgotten.avg_mean.template to_vector<double>() == direct.avg_mean.template to_vector<double>());
    CHECK(forgotten.avg_var.template to_vector<double>() == direct.avg_var.template to_vector<double>());
    CHECK(forgotten.gamma.grad().template to_vector<double>() == direct.gamma.grad().template to_vector<double>());
  };
  check([] { return L::BatchNormalization(3); });
  check([] { return L::BatchRenormalization(3, {.rmax = 2, .dmax = 1}); });
}

TEST_CASE("forget iterates spectral norms once") {
  const Array W = uniform({4, 3}, -1, 1, 2).astype(Dtype::float32);
  L::Linear direct(3, 4, {.initial_w = W}), forgotten(3, 4, {.initial_w = W});
  for (L::Linear* link : {&direct, &forgotten}) {
    random::seed(5);  // of the first direction
    link->to(test_device());
    link->add_hook(link_hooks::SpectralNormalization());
  }
  const Variable x(uniform({2, 3}, -1, 1).astype(Dtype::float32));
  for (int i = 0; i < 3; ++i) {
    random::seed(6);
    const std::vector<Values> expected = gradients(direct(x), {x, direct.W});
    random::seed(6);
    CHECK(gradients(F::forget(forgotten, x), {x, forgotten.W}) == expected);
  }
}

TEST_CASE("forget calls a link where it is") {
  L::Linear link(3, 2);
  link.to(test_device());
  const Variable x(uniform({4, 3}, -1, 1).astype(Dtype::float32));
  CHECK(gradients(F::forget(link, x), {link.W, link.b}) == gradients(link(x), {link.W, link.b}));
}

TEST_CASE("forget calls links that get their parameters meanwhile") {
  random::seed(3);
  L::Linear lazy(kInfer, 60);
  lazy.to(test_device());
  const Variable x(uniform({2, 3}, -1, 1).astype(Dtype::float32));
  Array mask;
  const auto function = [&](const Variable& h) {
    Array used;
    const Variable y = F::dropout(lazy(h), 0.5, {.return_mask = &used});
    if (mask.is_defined()) CHECK(used.to_vector<double>() == mask.to_vector<double>());
    mask = used;
    return y;
  };
  gradient(F::forget(function, x), x);
}

TEST_CASE("forget with several results") {
  const Variable x = leaf({2}), y = leaf({2}, 2);
  const auto [a, b] = F::forget([](auto& v, auto& w) { return std::pair(v * w, F::tanh(v)); }, x, y);
  CHECK(gradient(b, x) == gradient(F::tanh(x), x));  // nothing came to the other one
  CHECK(gradient(a, y) == x.to_vector<double>());
  const auto [p, q, r] = F::forget([&](auto& v) { return std::tuple(v, y, v * v); }, x);  // not computed at all
  CHECK(gradient(p, x) == Values{1, 1});
  CHECK(gradient(q, y) == Values{1, 1});
  CHECK_FALSE(is_same(q, y));
  const std::vector<Variable> list = F::forget([](auto& v) { return std::vector<Variable>{v * 2, v * 3}; }, x);
  CHECK(gradient(list[1], x) == Values{3, 3});
  const Variables all = F::forget(
      [](const Variables& v) {
        return Variables{v[0] * v[1] + v[0], v[2]};
      },
      Variables{x, x, y});
  CHECK(gradient(all[0], x)[0] == doctest::Approx(2 * x.to_vector<double>()[0] + 1));
}

TEST_CASE("forget with many parameters") {
  std::vector<Variable> weights;
  for (uint64_t i = 0; i < 50; ++i) weights.push_back(leaf({2}, i));
  const Variable x = leaf({2}, 99);
  const Variable y = F::forget(
      [&](const Variable& v) {
        Variable sum = v;
        for (const Variable& w : weights) sum = sum + w * v;
        return sum;
      },
      x);
  F::sum(y).backward({.release_graph = true});
  for (const Variable& w : weights) CHECK(w.grad().to_vector<double>() == x.to_vector<double>());
}

TEST_CASE("forget with a function that does something else when called again") {
  const Variable x = leaf({2});
  int calls = 0;
  const Variable y = F::forget([&](const Variable& v) { return ++calls == 1 ? v * 2 : F::sum(v); }, x);
  CHECK_THROWS_WITH_AS(gradient(y, x),
                       "F::forget: result 0 of the function has shape (2,) and dtype float64, but when it was called "
                       "again () and float64",
                       TypeError);
  calls = 0;
  const Variables z = F::forget(
      [&](const Variables& v) {
        return ++calls == 1 ? Variables{v[0] * 2} : Variables{v[0], v[0]};
      },
      Variables{x});
  CHECK_THROWS_WITH_AS(gradient(z[0], x),
                       "F::forget: the function returned 1 variables, but when it was called again 2", TypeError);
  calls = 0;
  const Variable d = F::forget([&](const Variable& v) { return F::dropout(++calls == 1 ? v : v * x + v, 0.5); }, x);
  gradient(d, x);  // the same draws
  calls = 0;
  const Variable e = F::forget([&](const Variable& v) { return ++calls == 1 ? v * 2 : F::dropout(v); }, x);
  CHECK_THROWS_WITH_AS(gradient(e, x), "F::forget: the function draws other random numbers when it is called again",
                       StateError);
  CHECK_THROWS_WITH_AS(F::forget([](const Variable&) { return Variable(); }, x),
                       "F::forget: result 0 of the function is an undefined variable", TypeError);
}

}  // namespace
}  // namespace kusari
