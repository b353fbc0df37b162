#include "kusari/framework/autograd/gradient_check.h"

#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/philox.h"

namespace kusari::gradient_check {

GradientError::GradientError(const std::string& message) : Error(message) {}
GradientError::~GradientError() = default;

namespace {

using detail::Callable;
using Values = std::vector<double>;

/// Normal numbers that do not touch the process's stream.
class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_{seed} {}
  Values normal(int64_t n) {
    Values values(static_cast<size_t>(n));
    for (double& v : values) {  // Box and Muller 1958
      const double u = (philox_word(seed_, next_) + 1.0) * 0x1p-32, angle = philox_word(seed_, next_ + 1) * 0x1p-32;
      next_ += 2;
      v = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * angle);
    }
    return values;
  }

 private:
  uint64_t seed_;
  uint64_t next_ = 0;
};

/// `values` in C order as an array with the shape, memory order, device and (unless given) dtype of `like`.
Array like(const Array& like, const Values& values) {
  const Array result = empty_like(like);
  result.copy_from(array<double>(values, like.shape()));
  return result;
}

double inner(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Array cast(const Array& array, std::optional<Dtype> dtype) {
  return dtype && array.is_defined() && array.is_floating() ? array.astype(*dtype) : array;
}

/// Gives params other arrays and brings their own back at the end.
class ScopedParams {
 public:
  explicit ScopedParams(const std::vector<Variable>& params) : params_{params} {
    for (const Variable& p : params_) {
      arrays_.push_back(p.array());
      grads_.push_back(p.grad_var());
    }
  }
  ScopedParams(const ScopedParams&) = delete;
  ScopedParams& operator=(const ScopedParams&) = delete;
  ~ScopedParams() {
    for (size_t i = 0; i < params_.size(); ++i) {
      params_[i].cleargrad();
      params_[i].set_array(arrays_[i]);
      if (grads_[i].is_defined()) params_[i].set_grad_var(grads_[i]);
    }
  }
  void set(size_t i, const Array& array) {
    params_[i].cleargrad();
    params_[i].set_array(array);
  }
  const Array& array(size_t i) const { return params_[i].array(); }
  const std::vector<Variable>& variables() const { return params_; }

 private:
  std::vector<Variable> params_;
  std::vector<Array> arrays_;
  std::vector<Variable> grads_;
};

void check_no_grads(const char* call, size_t given, size_t inputs) {
  if (given == 0 || given == inputs) return;
  throw ValueError(std::string(call) + ": no_grads has " + std::to_string(given) + " entries for " +
                   std::to_string(inputs) + " inputs");
}

/// One function with its inputs and params at the place where it is differentiated.
class Check {
 public:
  Check(const char* call, Callable function, const Arrays& x, const BackwardOptions& o)
      : call_{call}, function_{function}, options_{o}, params_{o.params}, draws_{o.seed} {
    check_no_grads(call, o.no_grads.size(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const bool moves = x[i].is_defined() && x[i].is_floating() && (o.no_grads.empty() || !o.no_grads[i]);
      x_.push_back(cast(x[i], o.dtype));
      moves_.push_back(moves);
    }
    for (size_t i = 0; i < o.params.size(); ++i) params_.set(i, cast(params_.array(i), o.dtype));
  }

  /// Compares along one direction.
  void run(const Arrays& gy) {
    const Variables inputs = variables(true);
    Variables outputs = function_(inputs);
    take_seeds(outputs, gy);

    // What is differentiated: the inputs that move, then the params.
    Variables targets;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (moves_[i]) targets.push_back(inputs[i]);
    }
    for (const Variable& p : params_.variables()) targets.push_back(p);
    if (targets.empty()) throw ValueError(call_ + ": no input or param has a gradient");
    const Variables gx = gradients(outputs, targets);

    std::vector<Values> at, direction;
    double norm = 0;
    for (const Variable& target : targets) {
      at.push_back(target.to_vector<double>());
      direction.push_back(draws_.normal(target.size()));
      norm += inner(direction.back(), direction.back());
    }
    if (norm == 0) return;  // every array is empty
    // A direction of length 1 keeps the error of the difference independent of the number of elements.
    for (Values& d : direction) {
      for (double& v : d) v /= std::sqrt(norm);
    }

    double analytic = 0;
    for (size_t k = 0; k < targets.size(); ++k) analytic += along(gx[k], direction[k]);
    const std::vector<bool> all(targets.size(), true);
    const double numeric = difference(at, direction, all);
    const double tolerance = options_.atol + options_.rtol * std::abs(numeric);
    if (std::abs(analytic - numeric) <= tolerance) return;

    std::string text = call_ + ": the gradient is wrong: along a random direction the analytic derivative is " +
                       format(analytic) + ", the numeric one " + format(numeric) + "; they may differ by " +
                       format(tolerance) + " (atol " + format(options_.atol) + ", rtol " + format(options_.rtol) +
                       ", eps " + format(options_.eps) + ")";
    for (size_t k = 0; k < targets.size(); ++k) {
      std::vector<bool> only(targets.size(), false);
      only[k] = true;
      text += "\n  " + target_name(k) + " " + to_string(targets[k].shape()) + ": analytic " +
              format(along(gx[k], direction[k])) + ", numeric " + format(difference(at, direction, only));
    }
    throw GradientError(text);
  }

  Arrays numerical_grad(const Arrays& gy) {
    Arrays result;
    const auto mode = no_backprop_mode();
    const Variables outputs = function_(variables(false));
    take_seeds(outputs, gy);
    for (size_t i = 0; i < x_.size(); ++i) {
      if (!moves_[i]) {
        result.emplace_back();
        continue;
      }
      const Array original = x_[i];
      Values values = original.to_vector<double>(), grad(values.size());
      for (size_t e = 0; e < values.size(); ++e) {
        const double kept = values[e];
        double side[2];
        for (int s : {0, 1}) {
          values[e] = kept + (s == 0 ? -options_.eps : options_.eps);
          x_[i] = like(original, values);
          side[s] = weighted_sum();
        }
        values[e] = kept;
        grad[e] = (side[1] - side[0]) / (2 * options_.eps);
      }
      x_[i] = original;
      result.push_back(like(original, grad));
    }
    return result;
  }

 private:
  Variables variables(bool with_gradients) const {
    Variables all;
    for (size_t i = 0; i < x_.size(); ++i) {
      all.push_back(x_[i].is_defined() ? Variable(x_[i], with_gradients && moves_[i]) : Variable());
    }
    return all;
  }

  void take_seeds(const Variables& outputs, const Arrays& gy) {
    if (!gy.empty() && gy.size() != outputs.size()) {
      throw ValueError(call_ + ": gy has " + std::to_string(gy.size()) + " arrays, but the function returns " +
                       std::to_string(outputs.size()));
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Array& y = outputs[k].array();
      if (gy.empty() || !gy[k].is_defined()) {
        seeds_.push_back(y.is_floating() ? draws_.normal(y.size()) : Values(static_cast<size_t>(y.size()), 0.0));
        continue;
      }
      if (gy[k].shape() != y.shape()) {
        throw TypeError(call_ + ": gy[" + std::to_string(k) + "] has shape " + to_string(gy[k].shape()) +
                        " but the output has shape " + to_string(y.shape()));
      }
      seeds_.push_back(gy[k].to_vector<double>());
    }
  }

  Variables gradients(const Variables& outputs, const Variables& targets) const {
    Variables differentiable, seeds;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!outputs[k].array().is_floating() || !outputs[k].requires_grad()) continue;
      differentiable.push_back(outputs[k]);
      seeds.push_back(Variable(like(outputs[k].array(), seeds_[k]), false));
    }
    Variables gx(targets.size());
    if (!differentiable.empty()) {
      gx = grad({differentiable.data(), differentiable.size()}, {targets.data(), targets.size()},
                {.grad_outputs = {seeds.data(), seeds.size()}});
    }
    for (size_t k = 0; k < gx.size(); ++k) {
      if (!gx[k].is_defined()) continue;
      if (gx[k].shape() != targets[k].shape() || gx[k].dtype() != targets[k].dtype()) {
        throw TypeError(call_ + ": the gradient of " + target_name(k) + " has shape " + to_string(gx[k].shape()) +
                        " and dtype " + name(gx[k].dtype()) + ", but the variable has shape " +
                        to_string(targets[k].shape()) + " and dtype " + name(targets[k].dtype()));
      }
    }
    return gx;
  }

  static double along(const Variable& gx, const Values& direction) {
    return gx.is_defined() ? inner(gx.to_vector<double>(), direction) : 0;
  }

  // sum(gy * function(x)) with the arrays as they are now.
  double weighted_sum() const {
    const Variables outputs = function_(variables(false));
    double sum = 0;
    for (size_t k = 0; k < outputs.size(); ++k) sum += inner(outputs[k].to_vector<double>(), seeds_[k]);
    return sum;
  }

  // The central difference along the direction, moving only some of the targets.
  double difference(const std::vector<Values>& at, const std::vector<Values>& direction,
                    const std::vector<bool>& which) {
    double side[2];
    for (int s : {0, 1}) {
      move(at, direction, which, s == 0 ? -options_.eps : options_.eps);
      side[s] = weighted_sum();
    }
    move(at, direction, which, 0);
    return (side[1] - side[0]) / (2 * options_.eps);
  }

  void move(const std::vector<Values>& at, const std::vector<Values>& direction, const std::vector<bool>& which,
            double step) {
    size_t k = 0;
    const auto moved = [&](const Array& array) {
      Values values = at[k];
      for (size_t e = 0; e < values.size(); ++e) values[e] += which[k] ? step * direction[k][e] : 0;
      ++k;
      return like(array, values);
    };
    for (size_t i = 0; i < x_.size(); ++i) {
      if (moves_[i]) x_[i] = moved(x_[i]);
    }
    for (size_t i = 0; i < params_.variables().size(); ++i) params_.set(i, moved(params_.array(i)));
  }

  // "x[1]" or "params[0]" for the k-th target.
  std::string target_name(size_t k) const {
    for (size_t i = 0; i < moves_.size(); ++i) {
      if (moves_[i] && k-- == 0) return "x[" + std::to_string(i) + "]";
    }
    return "params[" + std::to_string(k) + "]";
  }

  static std::string format(double value) { return to_string(kusari::array<double>({value}, Shape{})); }

  std::string call_;
  Callable function_;
  const BackwardOptions& options_;
  ScopedParams params_;
  Draws draws_;
  std::vector<Array> x_;
  std::vector<bool> moves_;
  std::vector<Values> seeds_;
};

}  // namespace

void detail::Callable::throw_wrong_count(size_t count) {
  throw TypeError("gradient_check: the function does not take " + std::to_string(count) + " variables");
}

void detail::check_backward(Callable function, const Arrays& x, const Arrays& gy, const BackwardOptions& options) {
  Check("gradient_check::check_backward", function, x, options).run(gy);
}

void detail::check_double_backward(Callable function, const Arrays& x, const Arrays& gy, const Arrays& ggx,
                                   const DoubleBackwardOptions& options) {
  const char* const call = "gradient_check::check_double_backward";
  BackwardOptions first{options.eps,      options.atol,  options.rtol, options.params,
                        options.no_grads, options.dtype, options.seed};
  // The seeds of the first order are inputs of the second. One run tells their shapes.
  Arrays inputs;
  Variables plain, outputs_of_run;
  for (const Array& array : x) {
    inputs.push_back(cast(array, options.dtype));
    plain.push_back(array.is_defined() ? Variable(inputs.back(), false) : Variable());
  }
  {
    const auto mode = no_backprop_mode();
    ScopedParams params(options.params);
    for (size_t i = 0; i < options.params.size(); ++i) params.set(i, cast(params.array(i), options.dtype));
    outputs_of_run = function(plain);
  }
  if (!gy.empty() && gy.size() != outputs_of_run.size()) {
    throw ValueError(std::string(call) + ": gy has " + std::to_string(gy.size()) +
                     " arrays, but the function returns " + std::to_string(outputs_of_run.size()));
  }
  Draws draws(~options.seed);
  for (size_t k = 0; k < outputs_of_run.size(); ++k) {
    const Array& y = outputs_of_run[k].array();
    const bool is_given = !gy.empty() && gy[k].is_defined();
    inputs.push_back(is_given ? gy[k] : y.is_floating() ? like(y, draws.normal(y.size())) : Array());
  }
  check_no_grads(call, first.no_grads.size(), x.size());
  if (!first.no_grads.empty()) first.no_grads.resize(inputs.size(), false);

  const auto gradients = [&](const Variables& all) {
    Variables xs, targets, outputs, seeds;
    for (size_t i = 0; i < x.size(); ++i) {
      xs.push_back(all[i]);
      const bool is_excluded = !options.no_grads.empty() && options.no_grads[i];
      if (all[i].is_defined() && all[i].array().is_floating() && !is_excluded) targets.push_back(all[i]);
    }
    for (const Variable& p : options.params) targets.push_back(p);
    // The numeric side of the check calls with variables that need no gradient; here every target does.
    for (Variable& target : targets) target.node()->requires_grad = true;
    const auto mode = force_backprop_mode();
    const Variables ys = function(xs);
    for (size_t k = 0; k < ys.size(); ++k) {
      if (!all[x.size() + k].is_defined() || !ys[k].requires_grad()) continue;
      outputs.push_back(ys[k]);
      seeds.push_back(all[x.size() + k]);
    }
    Variables gx = grad({outputs.data(), outputs.size()}, {targets.data(), targets.size()},
                        {.grad_outputs = {seeds.data(), seeds.size()}, .enable_double_backprop = true});
    for (size_t k = 0; k < gx.size(); ++k) {
      if (!gx[k].is_defined()) gx[k] = Variable(zeros_like(targets[k].array()), false);
    }
    return gx;
  };
  Check(call, Callable(gradients), inputs, first).run(ggx);
}

Arrays detail::numerical_grad(Callable function, const Arrays& x, const Arrays& gy, double eps) {
  const BackwardOptions options{.eps = eps, .dtype = std::nullopt};
  return Check("gradient_check::numerical_grad", function, x, options).numerical_grad(gy);
}

}  // namespace kusari::gradient_check
