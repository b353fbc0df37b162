// The programs of docs/extending.md, compiled and run. blocks_test.cc compares the texts.
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kusari.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari {
namespace {

// Its values are -1 and 1, its gradient that of the identity between -1 and 1 ("straight through").
class BinaryStep final : public FunctionNode {
 public:
  const char* name() const override { return "binary_step"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x] = c.args("x");
    c.expect(x.is_floating());
  }
  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0});
    return {F::where(in[0] < 0, full_like(in[0], -1), ones_like(in[0])).array()};
  }
  Variables backward(const Variables& gy) override {
    const Variable x = retained_input(0);
    return {F::where(F::absolute(x).array() <= 1, gy[0], zeros_like(x.array()))};
  }
};

Variable binary_step(const Variable& x) { return apply<BinaryStep>({x}); }

// y = x * scale + shift, one of each for a channel. x: (N, C, ...).
class Affine : public Link {
 public:
  explicit Affine(int64_t channels = kInfer)
      : scale{*this, "scale", {channels}, 1}, shift{*this, "shift", {channels}, 0} {}

  Variable operator()(const Variable& x) const {
    scale.infer(0, x.shape(1));
    shift.infer(0, x.shape(1));
    return F::bias(F::scale(x, scale, 1), shift, 1);
  }

  Parameter scale, shift;
};

// Lion: the sign of a momentum.
class Lion : public ComposedOptimizer {
 public:
  double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay_rate = 0;

  Lion() : ComposedOptimizer("Lion", {"m"}) {}

 private:
  std::vector<Field> fields() override {
    return {{"lr", &lr, Range::not_negative},
            {"beta1", &beta1, Range::zero_to_below_one},
            {"beta2", &beta2, Range::zero_to_below_one},
            {"weight_decay_rate", &weight_decay_rate, Range::not_negative}};
  }
  void update_core(ParameterStep& step) const override {
    const Array &p = step.parameter(), &g = step.gradient(), &m = step.state("m");
    const Array direction = xp::sign(step["beta1"] * m + (1 - step["beta1"]) * g);
    step.set_parameter(p - step["lr"] * (direction + step["weight_decay_rate"] * p));
    step.set_state("m", step["beta2"] * m + (1 - step["beta2"]) * g);
  }
};

// The squares of 0, 1, ... as pairs (i, i * i).
class Squares final : public datasets::Dataset {
 public:
  explicit Squares(int64_t n) : n_{n} {}
  int64_t size() const override { return n_; }
  datasets::Example get(int64_t i) const override {
    check_index("Squares::get", i, n_);
    const auto x = static_cast<float>(i);
    return {array<float>({x}), array<float>({x * x})};
  }

 private:
  int64_t n_;
};

// Counts its calls; the count is part of snapshots.
class CallCounter final : public training::Extension {
 public:
  void operator()(training::Trainer&) override {
    ++count_;
    report({{"calls", static_cast<double>(count_)}});
  }
  std::string default_name() const override { return "CallCounter"; }
  training::TriggerRef default_trigger() const override { return {1, "epoch"}; }
  int default_priority() const override { return training::kPriorityWriter; }
  void serialize(Serializer& serializer) override { serializer("count", count_); }

 private:
  int64_t count_ = 0;
};

// Adds noise to all gradients.
struct NoisyGradients {
  static constexpr const char* kName = "NoisyGradients";
  double deviation;

  void operator()(std::span<Parameter* const> parameters) const {
    for (Parameter* parameter : parameters) {
      const Array gradient = parameter->grad();
      if (gradient) parameter->set_grad(gradient + random::normal(gradient.shape(), {.deviation = deviation}));
    }
  }
};

// Prints the shape of what each function gives.
class ShapePrinter final : public FunctionHook {
 public:
  void forward_postprocess(const FunctionNode& function, const ArrayRefs&, const Arrays& out) override {
    text += std::string(function.name()) + " " + to_string(out[0].shape()) + "\n";
  }

  std::string text;
};

TEST_CASE("extending: a function") {
  const Variable x(array<float>({-2, -0.5, 0, 0.5, 2}));
  const Variable y = binary_step(x);
  CHECK(y.to_vector<float>() == std::vector<float>{-1, -1, 1, 1, 1});
  F::sum(y).backward();
  CHECK(x.grad().to_vector<float>() == std::vector<float>{0, 1, 1, 1, 0});
  CHECK_THROWS_WITH_AS(binary_step(array<int32_t>({1})), "F::binary_step: x has dtype int32: x.dtype must be floating",
                       TypeError);
}

TEST_CASE("extending: a link") {
  Affine affine;
  CHECK(affine(ones({2, 3, 4})).to_vector<float>() == std::vector<float>(24, 1.0F));
  CHECK(affine.param("/scale").shape() == Shape{3});
}

TEST_CASE("extending: an optimizer") {
  random::seed(1);  // weights that reach what is asked for turn back
  auto model = L::Linear(3, 2);
  Lion optimizer;
  optimizer.lr = 0.01;
  optimizer.setup(model);
  model.b.update_rule().hyperparam()["lr"] = 1e-3;
  const auto loss = [&] { return F::mean_squared_error(model(ones({4, 3})), full({4, 2}, 3, Dtype::float32)); };
  const float before = loss().array().item<float>();
  for (int i = 0; i < 50; ++i) optimizer.update(loss);
  CHECK(loss().array().item<float>() < 0.7F * before);
  CHECK(model.b.array().to_vector<float>()[0] == doctest::Approx(0.05));
}

TEST_CASE("extending: a data set, an extension and a hook") {
  const testing::ScratchDirectory scratch;
  auto model = L::Linear(1, 1);
  optimizers::SGD optimizer({.lr = 1e-4});
  optimizer.setup(model);
  optimizer.add_hook(NoisyGradients{1e-3});
  updaters::StandardUpdater updater(
      iterators::SerialIterator(Squares(8), 4), optimizer,
      {.loss_func = [&](const Variable& x, const Variable& t) { return F::mean_squared_error(model(x), t); }});
  training::Trainer trainer(updater, {3, "epoch"}, scratch.path());
  trainer.extend(CallCounter());
  trainer.extend([](training::Trainer& t) { std::printf("epoch %d\n", static_cast<int>(t.updater().epoch())); },
                 {.name = "say", .trigger = {1, "epoch"}});
  trainer.run();
  CHECK(trainer.observation().at("calls") == 3);
}

TEST_CASE("extending: a function hook") {
  ShapePrinter printer;
  {
    const ScopedFunctionHook scope(printer);
    F::sum(F::relu(ones({2, 3})));
  }
  CHECK(printer.text == "relu (2, 3)\nsum ()\n");
}

}  // namespace
}  // namespace kusari
