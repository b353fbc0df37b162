#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <kusari/kusari.h>

// Optimizers that the library does not have, as a program writes them.
namespace user {

using namespace kusari;

/// Lion: the sign of a momentum. Chen et al. 2023, Symbolic discovery of optimization algorithms.
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

/// Adafactor: second moments of matrices as a product of a column and a row. Shazeer and Stern 2018.
class Adafactor : public ComposedOptimizer {
 public:
  double lr = 0.01, decay = 0.8, eps = 1e-30, smallest = 1e-3, threshold = 1;

  Adafactor() : ComposedOptimizer("Adafactor", {"row", "column", "v"}) {}

 private:
  std::vector<Field> fields() override {
    return {{"lr", &lr}, {"decay", &decay}, {"eps", &eps}, {"smallest", &smallest}, {"threshold", &threshold}};
  }
  Shape shape_of_state(const std::string& state, const Shape& parameter) const override {
    if ((parameter.ndim() >= 2) == (state == "v")) return {0};  // not needed
    Shape shape = parameter;
    if (state != "v") shape[parameter.ndim() - (state == "row" ? 1 : 2)] = 1;
    return shape;
  }
  void update_core(ParameterStep& step) const override {
    const Array &p = step.parameter(), &g = step.gradient(), squares = xp::square(g) + step["eps"];
    const StepNumber beta = 1 - xp::pow(step.t(), -step["decay"]);
    const auto follow = [&](const char* state, const Array& now) {
      const Array value = beta * step.state(state) + (1 - beta) * now;
      step.set_state(state, value);
      return value;
    };
    Array u;
    if (p.ndim() >= 2) {
      const Array row = follow("row", xp::mean(squares, -1, true)),
                  column = follow("column", xp::mean(squares, -2, true));
      u = g / xp::sqrt(row / xp::mean(row, -2, true)) / xp::sqrt(column);  // their product may vanish
    } else {
      u = g / xp::sqrt(follow("v", squares));
    }
    const Array rate = xp::maximum(xp::sqrt(xp::mean(xp::square(p))), step["smallest"]);
    const Array too_long = xp::maximum(xp::sqrt(xp::mean(xp::square(u))) / step["threshold"], 1);
    step.set_parameter(p - xp::minimum(step["lr"], 1 / xp::sqrt(step.t())) * rate * u / too_long);
  }
};

}  // namespace user
