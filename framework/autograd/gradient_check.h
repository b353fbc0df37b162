#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/export.h"

/// Tests of a function's backward against numerical differentiation, for the library's functions and for yours:
///
///   gradient_check::check_backward([](const Variable& x) { return F::tanh(x); }, x, gy);
///   gradient_check::check_backward([](auto& a, auto& b) { return a * b; }, {x0, x1}, gy, {.eps = 1e-4});
///
/// The function is called several times and must give the same result each time: no random numbers, no state. It takes
/// its inputs one by one or as one `const Variables&`, and returns a Variable or Variables. chainer.gradient_check.
namespace kusari::gradient_check {

/// The analytic gradient is not the numeric one; what() states both.
class KUSARI_API GradientError : public Error {
 public:
  explicit GradientError(const std::string& message);
  ~GradientError() override;
};

struct BackwardOptions {
  double eps = 1e-3;   ///< length of the step along the random direction
  double atol = 1e-5;  ///< |analytic - numeric| may be atol + rtol * |numeric|
  double rtol = 1e-4;
  std::vector<Variable> params = {};            ///< further variables that the function depends on
  std::vector<bool> no_grads = {};              ///< per input: true leaves it out; integers are left out anyway
  std::optional<Dtype> dtype = Dtype::float64;  ///< floating inputs and params are cast to this; nullopt: not at all
  uint64_t seed = 0;                            ///< of the direction and of absent gy
};

struct DoubleBackwardOptions {
  double eps = 1e-3;
  double atol = 1e-4;
  double rtol = 1e-3;
  std::vector<Variable> params = {};
  std::vector<bool> no_grads = {};
  std::optional<Dtype> dtype = Dtype::float64;
  uint64_t seed = 0;
};

namespace detail {

// A reference to the user's callable under one signature.
class Callable {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_const_t<F>, Callable>) explicit Callable(F& function) noexcept
      : function_{reinterpret_cast<const void*>(std::addressof(function))}, call_{&invoke<F>} {}
  Variables operator()(const Variables& inputs) const { return call_(function_, inputs); }

 private:
  template <size_t>
  using Each = const Variable&;
  template <class F, size_t... kIndex>
  static Variables spread(F& function, const Variables& inputs, std::index_sequence<kIndex...>) {
    return collect(function(inputs[kIndex]...));
  }
  template <class F, size_t... kIndex>
  static constexpr bool takes(std::index_sequence<kIndex...>) {
    return std::is_invocable_v<F&, Each<kIndex>...>;
  }
  template <size_t kCount, class F>
  static Variables try_count(F& function, const Variables& inputs) {
    if constexpr (kCount <= 8) {
      if constexpr (takes<F>(std::make_index_sequence<kCount>{})) {
        if (inputs.size() == kCount) return spread(function, inputs, std::make_index_sequence<kCount>{});
      }
      return try_count<kCount + 1>(function, inputs);
    } else if constexpr (std::is_invocable_v<F&, const Variables&>) {
      return collect(function(inputs));
    } else {
      throw_wrong_count(inputs.size());
    }
  }
  template <class F>
  static Variables invoke(const void* function, const Variables& inputs) {
    return try_count<0>(*reinterpret_cast<F*>(const_cast<void*>(function)), inputs);
  }
  template <class Result>
  static Variables collect(Result&& result) {
    if constexpr (std::is_convertible_v<Result&&, Variable>) {
      return Variables(Variable(std::forward<Result>(result)));
    } else {
      Variables all;
      for (const Variable& one : result) all.push_back(one);
      return all;
    }
  }
  [[noreturn]] KUSARI_API static void throw_wrong_count(size_t count);

  const void* function_;
  Variables (*call_)(const void*, const Variables&);
};

KUSARI_API void check_backward(Callable function, const Arrays& x, const Arrays& gy, const BackwardOptions& options);
KUSARI_API void check_double_backward(Callable function, const Arrays& x, const Arrays& gy, const Arrays& ggx,
                                      const DoubleBackwardOptions& options);
KUSARI_API Arrays numerical_grad(Callable function, const Arrays& x, const Arrays& gy, double eps);

}  // namespace detail

/// Compares the derivative that backward gives along one random direction, over all inputs and options.params, with a
/// central difference of sum(gy * function(x)). `x`: inputs, an undefined one is an absent argument. `gy`: one array of
/// the shape of each output; an empty list or an undefined entry means random numbers.
/// Throws GradientError when they differ, TypeError when a gradient lacks its variable's shape or dtype.
template <class F>
void check_backward(F&& function, const Arrays& x, const Arrays& gy = {}, const BackwardOptions& options = {}) {
  detail::check_backward(detail::Callable(function), x, gy, options);
}

/// The same for the gradients of gradients: checks the function that maps (x, gy) to the first-order gradients.
/// `ggx`: one array of the shape of each input that has a gradient, then of each of options.params; an empty list or an
/// undefined entry means random numbers.
template <class F>
void check_double_backward(F&& function, const Arrays& x, const Arrays& gy = {}, const Arrays& ggx = {},
                           const DoubleBackwardOptions& options = {}) {
  detail::check_double_backward(detail::Callable(function), x, gy, ggx, options);
}

/// The gradient of sum(gy * function(x)) for each floating input by central differences, one element at a time, in the
/// inputs' own dtypes; undefined for the other inputs.
template <class F>
Arrays numerical_grad(F&& function, const Arrays& x, const Arrays& gy, double eps = 1e-3) {
  return detail::numerical_grad(detail::Callable(function), x, gy, eps);
}

}  // namespace kusari::gradient_check
