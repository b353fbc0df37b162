#include "kusari/framework/functions/normalization/batch_normalization.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/tests/functions/testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

/// A shape of x, the axes to average over, and gamma's shape with ones for those axes.
struct BatchCase {
  Shape shape;
  Dims axis;  // as given
  Dims aggregated;
  Shape expanded;
  Shape channels;
};

const BatchCase kBatchCases[] = {
    {{5, 3}, {}, {0}, {1, 3}, {3}},
    {{4, 3, 5}, {}, {0, 2}, {1, 3, 1}, {3}},
    {{3, 17, 4, 5}, {}, {0, 2, 3}, {1, 17, 1, 1}, {17}},
    {{2, 2, 3, 2, 2}, {}, {0, 2, 3, 4}, {1, 2, 1, 1, 1}, {2}},
    {{4, 2, 3}, {0}, {0}, {1, 2, 3}, {2, 3}},      // every place its own statistics
    {{4, 2, 3}, {0, -2}, {0, 1}, {1, 1, 3}, {3}},  // channels last by axes
    {{3, 4, 2, 5}, {1, 3}, {1, 3}, {3, 1, 2, 1}, {3, 2}},
    {{6, 2, 3}, {}, {0}, {1, 2, 3}, {2, 3}},  // gamma decides
};

enum class Form { plain, relu, add_relu };
constexpr Form kForms[] = {Form::plain, Form::relu, Form::add_relu};

Axes axes_of(const Dims& axis) { return Axes(std::span<const int64_t>(axis.begin(), axis.size())); }

Variable finish(Form form, const Variable& y, const Variable& residual) {
  if (form == Form::plain) return y;
  return F::relu(form == Form::relu ? y : y + residual);
}

/// The definition, from functions of single steps.
Variable composed(const BatchCase& c, Form form, const Variable& x, const Variable& residual, const Variable& gamma,
                  const Variable& beta, double eps) {
  const Axes axes = axes_of(c.aggregated);
  const Variable centred = x - F::average(x, axes, Variable(), true);
  const Variable var = F::average(F::square(centred), axes, Variable(), true);
  const Variable y = centred / F::sqrt(var + eps) * F::reshape(gamma, c.expanded) + F::reshape(beta, c.expanded);
  return finish(form, y, residual);
}

Variable composed_fixed(const BatchCase& c, Form form, const Variable& x, const Variable& residual,
                        const Variable& gamma, const Variable& beta, const Variable& mean, const Variable& var,
                        double eps) {
  const auto expand = [&](const Variable& v) { return F::reshape(v, c.expanded); };
  const Variable y = (x - expand(mean)) / F::sqrt(expand(var) + eps) * expand(gamma) + expand(beta);
  return finish(form, y, residual);
}

Variable call(Form form, const Variable& x, const Variable& residual, const Variable& gamma, const Variable& beta,
              const F::BatchNormalizationOptions& options) {
  if (form == Form::plain) return F::batch_normalization(x, gamma, beta, options);
  if (form == Form::relu) return F::batch_normalization_relu(x, gamma, beta, options);
  return F::batch_normalization_add_relu(x, residual, gamma, beta, options);
}

Variable call_fixed(Form form, const Variable& x, const Variable& residual, const Variable& gamma, const Variable& beta,
                    const Variable& mean, const Variable& var, const F::FixedBatchNormalizationOptions& options) {
  if (form == Form::plain) return F::fixed_batch_normalization(x, gamma, beta, mean, var, options);
  if (form == Form::relu) return F::fixed_batch_normalization_relu(x, gamma, beta, mean, var, options);
  return F::fixed_batch_normalization_add_relu(x, residual, gamma, beta, mean, var, options);
}

/// The same elements with the channels innermost in memory.
Array last(const Array& x) { return x.channels_last(); }

struct Operands {
  Array x, residual, gamma, beta, mean, var, gy;
  Operands(const BatchCase& c, Dtype dtype, Dtype number_dtype, uint64_t seed = 1)
      : x{uniform(c.shape, -2, 3, seed).astype(dtype)},
        residual{uniform(c.shape, -1, 1, seed + 1).astype(dtype)},
        gamma{uniform(c.channels, 0.5, 1.5, seed + 2).astype(number_dtype)},
        beta{uniform(c.channels, -0.5, 0.5, seed + 3).astype(number_dtype)},
        mean{uniform(c.channels, -1, 1, seed + 4).astype(number_dtype)},
        var{uniform(c.channels, 0.5, 2, seed + 5).astype(number_dtype)},
        gy{uniform(c.shape, -1, 1, seed + 6).astype(dtype)} {}
};

std::vector<double> values(const Array& array) { return array.to_vector<double>(); }

bool same_bits(const Array& a, const Array& b) {
  const Array x = a.to_device(Device()).contiguous(), y = b.to_device(Device()).contiguous();
  return x.nbytes() == y.nbytes() && std::memcmp(x.raw_data(), y.raw_data(), static_cast<size_t>(x.nbytes())) == 0;
}

/// All of y and its gradients by the inputs.
Variables results(const Variable& y, const Array& gy, std::initializer_list<Variable> inputs, bool again) {
  const Variable seed(gy, false);
  Variables all =
      grad({&y, 1}, {inputs.begin(), inputs.size()}, {.grad_outputs = {&seed, 1}, .enable_double_backprop = again});
  all.push_back(y);
  return all;
}

}  // namespace

TEST_CASE("batch_normalization is its definition") {
  for (const BatchCase& c : kBatchCases) {
    CAPTURE(to_string(c.shape));
    CAPTURE(to_string(c.axis));
    for (const Form form : kForms) {
      CAPTURE(static_cast<int>(form));
      for (const Dtype dtype : kFloatingDtypes) {
        CAPTURE(name(dtype));
        const Operands o(c, dtype, dtype == Dtype::float64 ? dtype : Dtype::float32);
        // The reference works on the rounded numbers, in float64.
        const auto wide = [](const Array& a) { return Variable(a.astype(Dtype::float64)); };
        const Variable x = wide(o.x), residual = wide(o.residual), gamma = wide(o.gamma), beta = wide(o.beta);
        const Variables expected = results(composed(c, form, x, residual, gamma, beta, 1e-3),
                                           o.gy.astype(Dtype::float64), {x, residual, gamma, beta}, false);
        for (const bool channels_last : {false, true}) {
          for (const bool again : {false, true}) {
            CAPTURE(channels_last);
            CAPTURE(again);
            const auto input = [&](const Array& a) { return Variable(channels_last ? last(a) : a); };
            const Variable vx = input(o.x), vr = input(o.residual), vg(o.gamma), vb(o.beta);
            const Variable y = call(form, vx, vr, vg, vb, {.eps = 1e-3, .axis = c.axis});
            REQUIRE(y.dtype() == dtype);
            const Variables got = results(y, channels_last ? last(o.gy) : o.gy, {vx, vr, vg, vb}, again);
            for (size_t i = 0; i < got.size(); ++i) {
              CAPTURE(i);
              REQUIRE(got[i].is_defined() == expected[i].is_defined());
              if (!got[i].is_defined()) continue;
              check_close(got[i], expected[i].shape(), values(expected[i].array()), 10);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("fixed_batch_normalization is its definition") {
  for (const BatchCase& c : kBatchCases) {
    CAPTURE(to_string(c.shape));
    CAPTURE(to_string(c.axis));
    for (const Form form : kForms) {
      CAPTURE(static_cast<int>(form));
      for (const Dtype dtype : kFloatingDtypes) {
        CAPTURE(name(dtype));
        const Operands o(c, dtype, dtype == Dtype::float64 ? dtype : Dtype::float32);
        const auto wide = [](const Array& a) { return Variable(a.astype(Dtype::float64)); };
        const Variable x = wide(o.x), residual = wide(o.residual), gamma = wide(o.gamma), beta = wide(o.beta),
                       mean = wide(o.mean), var = wide(o.var);
        const Variables expected = results(composed_fixed(c, form, x, residual, gamma, beta, mean, var, 1e-3),
                                           o.gy.astype(Dtype::float64), {x, residual, gamma, beta, mean, var}, false);
        for (const bool again : {false, true}) {
          CAPTURE(again);
          const Variable vx(last(o.x)), vr(o.residual), vg(o.gamma), vb(o.beta), vm(o.mean), vv(o.var);
          const Variable y = call_fixed(form, vx, vr, vg, vb, vm, vv, {.eps = 1e-3, .axis = c.axis});
          const Variables got = results(y, o.gy, {vx, vr, vg, vb, vm, vv}, again);
          for (size_t i = 0; i < got.size(); ++i) {
            CAPTURE(i);
            REQUIRE(got[i].is_defined() == expected[i].is_defined());
            if (!got[i].is_defined()) continue;
            check_close(got[i], expected[i].shape(), values(expected[i].array()), 20);
          }
        }
      }
    }
  }
}

TEST_CASE("batch normalization: gradients of both orders") {
  for (const BatchCase& c : {kBatchCases[0], kBatchCases[2], kBatchCases[5], kBatchCases[6]}) {
    CAPTURE(to_string(c.shape));
    for (const Form form : kForms) {
      CAPTURE(static_cast<int>(form));
      const Operands o(c, Dtype::float64, Dtype::float64, 11);
      check_gradients(
          [&](const Variable& x, const Variable& residual, const Variable& gamma, const Variable& beta) {
            // Without the residual its gradient would be missing.
            const Variable y = call(form, x, residual, gamma, beta, {.eps = 1e-2, .axis = c.axis});
            return form == Form::add_relu ? y : y + 0 * residual;
          },
          o.x, o.residual, o.gamma, o.beta);
      check_gradients(
          [&](const Variables& in) {
            const Variable y =
                call_fixed(form, in[0], in[1], in[2], in[3], in[4], in[5], {.eps = 1e-2, .axis = c.axis});
            return form == Form::add_relu ? y : y + 0 * in[1];
          },
          o.x, o.residual, o.gamma, o.beta, o.mean, o.var);
    }
  }
}

TEST_CASE("fixed_batch_normalization: a frozen layer gives x's gradient alone") {
  const BatchCase& c = kBatchCases[2];
  const Operands o(c, Dtype::float32, Dtype::float32);
  for (const Form form : kForms) {
    CAPTURE(static_cast<int>(form));
    const Variable x(o.x), y = call_fixed(form, x, o.residual, o.gamma, o.beta, o.mean, o.var, {});
    const Variable reference(o.x),
        z = composed_fixed(c, form, reference, o.residual, o.gamma, o.beta, o.mean, o.var, 2e-5);
    check_close(results(y, o.gy, {x}, false)[0], c.shape, values(results(z, o.gy, {reference}, false)[0].array()), 10);
  }
}

TEST_CASE("fixed_batch_normalization: numbers of channels that lie apart, the last one first") {
  const auto apart = [](const Array& a) {
    const int64_t n = a.size();
    const Array view = zeros({2 * n}, a.dtype(), a.device()).as_strided({n}, {-2}, 2 * n - 1);
    view.copy_from(a);
    return view;
  };
  const BatchCase& c = kBatchCases[0];
  REQUIRE(c.channels.ndim() == 1);
  for (const Form form : kForms) {
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      CAPTURE(static_cast<int>(form));
      CAPTURE(name(dtype));
      const Operands o(c, dtype, dtype);
      const auto all = [&](auto given) {
        const Variable x(o.x), residual(o.residual), gamma(given(o.gamma)), beta(given(o.beta)), mean(given(o.mean)),
            var(given(o.var));
        const Variable y = call_fixed(form, x, residual, gamma, beta, mean, var, {.axis = c.axis});
        return results(y, o.gy, {x, residual, gamma, beta, mean, var}, false);
      };
      const Variables expected = all([](const Array&a) { return a; }), got = all(apart);
      for (size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        REQUIRE(got[i].is_defined() == expected[i].is_defined());
        if (got[i].is_defined()) CHECK(same_bits(got[i].array(), expected[i].array()));
      }
    }
  }
}

TEST_CASE("batch_normalization updates running statistics") {
  const Array x = array<float>({1, 3}, {2, 1}, test_device()), mean = zeros({1}, Dtype::float32, test_device()),
              var = ones({1}, Dtype::float32, test_device());
  const F::BatchNormalizationOptions options{.running_mean = mean, .running_var = var};
  const Array one = ones({1}, Dtype::float32, test_device()), zero = zeros({1}, Dtype::float32, test_device());
  F::batch_normalization(x, one, zero, options);
  CHECK(mean.item<double>() == doctest::Approx(0.2));  // chainer, run
  CHECK(var.item<double>() == doctest::Approx(1.1));
  {
    const auto guard = using_config(&Config::in_recomputing, true);
    F::batch_normalization(x, one, zero, options);
  }
  CHECK(mean.item<double>() == doctest::Approx(0.2));
  {
    const auto guard = no_backprop_mode();
    F::batch_normalization(x, one, zero, options);
  }
  CHECK(mean.item<double>() == doctest::Approx(0.38));
  SUBCASE("of any dtype and strides") {
    const Array half = full({1}, 0.5, Dtype::float16, test_device()),
                strided = full({1, 2}, 0.5, Dtype::float64, test_device()).slice(1, 0, 1).squeeze(0);
    F::batch_normalization(x, one, zero, {.running_mean = half, .running_var = strided, .decay = 0.5});
    CHECK(half.item<double>() == doctest::Approx(1.25));
    CHECK(strided.item<double>() == doctest::Approx(1.25));
  }
  SUBCASE("of one element, whose unbiased variance counts as 0") {
    F::batch_normalization(array<float>({5}, {1, 1}, test_device()), one, zero,
                           {.running_mean = mean, .running_var = var, .decay = 0});
    CHECK(mean.item<double>() == 5);
    CHECK(var.item<double>() == 0);
  }
}

TEST_CASE("batch_normalization keeps its accuracy far from zero") {
  const Shape shape{8, 16, 24, 24};
  const Array noise = uniform(shape, -1, 1, 3);
  const Array ones16 = ones({16}, Dtype::float32, test_device()), zeros16 = zeros({16}, Dtype::float32, test_device());
  const std::vector<double> expected =
      F::batch_normalization(Variable(noise, false), ones16.astype(Dtype::float64), zeros16.astype(Dtype::float64))
          .to_vector<double>();
  // Rounding 1e4 + noise to float32 moves it by 5e-4; the statistics must not add to that.
  const Array x = (Variable(noise, false) + 1e4).array().astype(Dtype::float32);
  const std::vector<double> exact =
      F::batch_normalization(x.astype(Dtype::float64), ones16.astype(Dtype::float64), zeros16.astype(Dtype::float64))
          .to_vector<double>();
  for (const Array& operand : {x, last(x)}) {
    const std::vector<double> y = F::batch_normalization(operand, ones16, zeros16).to_vector<double>();
    double largest = 0, from_noise = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      largest = std::max(largest, std::abs(y[i] - exact[i]));
      from_noise = std::max(from_noise, std::abs(y[i] - expected[i]));
    }
    // mean itself is a float32: half a step of it, 4.9e-4, in deviations of 0.577.
    CHECK(largest < 1e-3);
    CHECK(from_noise < 2e-3);
  }
}

TEST_CASE("batch_normalization: an outlier in the first row, which the sums start from") {
  const int64_t n = 3000;
  std::vector<float> rows(static_cast<size_t>(n), 0.0f);
  for (size_t i = 1; i < rows.size(); ++i) rows[i] = i % 2 == 0 ? 1.0f : -1.0f;
  rows[0] = 1e4f;
  const Array x = array(rows, {n, 1}, test_device()), mean = zeros({1}, Dtype::float32, test_device()),
              var = zeros({1}, Dtype::float32, test_device());
  F::batch_normalization(x, ones({1}, Dtype::float32, test_device()), zeros({1}, Dtype::float32, test_device()),
                         {.running_mean = mean, .running_var = var, .decay = 0});
  const Array wide = zeros({1}, Dtype::float64, test_device()), wide_var = zeros({1}, Dtype::float64, test_device());
  F::batch_normalization(x.astype(Dtype::float64), ones({1}, Dtype::float64, test_device()),
                         zeros({1}, Dtype::float64, test_device()),
                         {.running_mean = wide, .running_var = wide_var, .decay = 0});
  CHECK(mean.item<double>() == doctest::Approx(wide.item<double>()).epsilon(1e-6));
  CHECK(var.item<double>() == doctest::Approx(wide_var.item<double>()).epsilon(1e-4));
}

TEST_CASE("batch normalization gives the same bits for any number of threads") {
  const BatchCase c{{16, 24, 40, 40}, {}, {0, 2, 3}, {1, 24, 1, 1}, {24}};
  const int before = num_threads();
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    const Operands o(c, dtype, Dtype::float32);
    for (const Form form : kForms) {
      std::vector<Arrays> runs;
      for (const int threads : {1, 2, 5}) {
        set_num_threads(threads);
        const Array mean = zeros({24}, Dtype::float32, test_device()), var = ones({24}, Dtype::float32, test_device());
        const Variable x(o.x), residual(last(o.residual)), gamma(o.gamma), beta(o.beta);
        const Variable y = call(form, x, residual, gamma, beta, {.running_mean = mean, .running_var = var});
        Arrays all(mean, var);
        for (const Variable& v : results(y, o.gy, {x, residual, gamma, beta}, false)) {
          if (v.is_defined()) all.push_back(v.array());
        }
        runs.push_back(all);
      }
      for (size_t i = 0; i < runs[0].size(); ++i) {
        CHECK(same_bits(runs[0][i], runs[1][i]));
        CHECK(same_bits(runs[0][i], runs[2][i]));
      }
    }
  }
  set_num_threads(before);
}

TEST_CASE("batch normalization: layout") {
  const Array one = ones({3}, Dtype::float32, test_device()), zero = zeros({3}, Dtype::float32, test_device());
  CHECK(
      has_image_layout(F::batch_normalization(uniform({2, 3, 4, 5}, 0, 1).astype(Dtype::float32), one, zero).array()));
  CHECK(F::batch_normalization(uniform({2, 3}, 0, 1).astype(Dtype::float32), one, zero).array().is_contiguous());
  const auto guard = using_config(&Config::channels_last, false);
  const Array x = uniform({2, 3, 4, 5}, 0, 1);
  const Variable y = F::batch_normalization(x.astype(Dtype::float32), one, zero);
  CHECK(y.array().is_contiguous());
  check_close(y, x.shape(),
              F::batch_normalization(x, one.astype(Dtype::float64), zero.astype(Dtype::float64)).to_vector<double>(),
              4);
}

TEST_CASE("batch normalization: nothing, and what is not a number") {
  const Array one = ones({3}, Dtype::float32, test_device()), zero = zeros({3}, Dtype::float32, test_device()),
              mean = full({3}, 2, Dtype::float32, test_device()), var = ones({3}, Dtype::float32, test_device());
  const Variable x(zeros({0, 3, 2, 2}, Dtype::float32, test_device())), gamma(one), beta(zero);
  const Variable y = F::batch_normalization_relu(x, gamma, beta, {.running_mean = mean, .running_var = var});
  CHECK(y.shape() == Shape{0, 3, 2, 2});
  CHECK(mean.to_vector<float>() == std::vector<float>{2, 2, 2});
  CHECK(gradient(y, gamma) == std::vector<double>{0, 0, 0});
  const Variable fixed = F::fixed_batch_normalization(x, gamma, beta, mean, var);
  CHECK(gradient(fixed, beta) == std::vector<double>{0, 0, 0});

  Array bad = uniform({4, 3}, 0, 1).astype(Dtype::float32).copy();
  bad.at(1).slice(0, 1, 1).fill(NAN);
  const std::vector<double> z = F::batch_normalization_relu(bad, one, zero).to_vector<double>();
  for (size_t i = 0; i < z.size(); ++i) CHECK(std::isnan(z[i]) == (i % 3 == 1));
}

TEST_CASE("batch normalization: errors") {
  const auto f32 = [](const Shape& shape) { return Variable(zeros(shape, Dtype::float32, test_device()), false); };
  const Variable x = f32({2, 3, 4, 4}), c3 = f32({3}), c4 = f32({4});
  CHECK_THROWS_WITH_AS(F::batch_normalization(x, c4, c4),
                       "F::batch_normalization: gamma has shape (4,) but x has shape (2, 3, 4, 4): gamma.shape[0] must "
                       "equal x.shape[1] (4 != 3)",
                       TypeError);
  CHECK_THROWS_WITH_AS(
      F::batch_normalization_relu(x, c3, c4),
      "F::batch_normalization_relu: beta has shape (4,) but gamma has shape (3,): beta.shape must equal "
      "gamma.shape",
      TypeError);
  CHECK_THROWS_WITH_AS(F::batch_normalization(x, c3, c3, {.axis = {0, 2}}),
                       "F::batch_normalization: gamma has shape (3,): gamma.ndim must equal 2 (1 != 2)", TypeError);
  CHECK_THROWS_AS(F::batch_normalization(x, c3, c3, {.axis = {0, 4}}), IndexError);
  CHECK_THROWS_AS(F::batch_normalization(f32({}), c3, c3), TypeError);
  CHECK_THROWS_WITH_AS(F::batch_normalization(Variable(int_ones({2, 3}), false), c3, c3),
                       "F::batch_normalization: x has dtype int64: x.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::batch_normalization(x, c3, c3, {.eps = -1}),
                       "F::batch_normalization: eps is -1: it must be at least 0", ValueError);
  CHECK_THROWS_WITH_AS(F::batch_normalization(x, c3, c3, {.running_mean = zeros({3}, Dtype::float32, test_device())}),
                       "F::batch_normalization: running_mean and running_var must be given together", ValueError);
  CHECK_THROWS_AS(F::batch_normalization(x, c3, c3,
                                         {.running_mean = zeros({4}, Dtype::float32, test_device()),
                                          .running_var = zeros({4}, Dtype::float32, test_device())}),
                  TypeError);
  CHECK_THROWS_AS(F::batch_normalization_add_relu(x, f32({2, 3, 4, 5}), c3, c3), TypeError);
  CHECK_THROWS_WITH_AS(F::batch_normalization_add_relu(x, Variable(), c3, c3),
                       "F::batch_normalization_add_relu: residual is not given: it is required", TypeError);
  CHECK_THROWS_WITH_AS(F::batch_normalization(x, Variable(), c3),
                       "F::batch_normalization: gamma is not given: it is required", TypeError);
  CHECK_THROWS_WITH_AS(F::batch_normalization(x, c3, Variable()),
                       "F::batch_normalization: beta is not given: it is required", TypeError);
  CHECK_THROWS_WITH_AS(F::fixed_batch_normalization(Variable(), c3, c3, c3, c3),
                       "F::fixed_batch_normalization: x is not given: it is required", TypeError);
  CHECK_THROWS_AS(F::fixed_batch_normalization(x, c3, c3, c3, c4), TypeError);
}
