#include "kusari/framework/autograd/function_node.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/basic_math.h"

namespace kusari {
namespace {

/// x * W + b for equal shapes; b is optional.
class Affine final : public FunctionNode {
 public:
  const char* name() const override { return "affine"; }

 private:
  void check(const TypeCheck& c) const override {
    const auto [x, W, b] = c.args("x", "W", "b");
    c.expect(x.is_floating(), x.ndim() == 2, x.shape(1) == W.shape(-1), x.dtype() == W.dtype());
    if (b.is_given()) c.expect(x.shape() == b.shape(), b.size() >= 2);
  }
  Arrays forward(const ArrayRefs& in) override {
    CHECK(in.size() == 3);
    return {in[2].is_defined() ? in[2].copy() : in[0].copy()};
  }
  Variables backward(const Variables& gy) override {
    CHECK(needs_grad(0));
    CHECK_FALSE(needs_grad(1));
    CHECK(input_shape(1) == Shape{1, 3});
    CHECK(input_dtype(1) == Dtype::float32);
    has_bias = has_input(2);
    return {gy[0], Variable(), has_input(2) ? gy[0] : Variable()};
  }

 public:
  static inline bool has_bias = false;
};

Variable affine(const Variable& x, const Variable& W, const Variable& b = Variable()) {
  return apply<Affine>({x, W, b});
}

TEST_CASE("optional inputs may be absent") {
  const Variable x(ones({2, 3})), b(ones({2, 3}));
  const Array W = ones({1, 3});
  Variable y = affine(x, W);
  CHECK(y.creator()->input_count() == 3);
  CHECK(y.creator()->input_node(2) == nullptr);
  y.set_grad(ones({2, 3}));
  y.backward();
  CHECK_FALSE(Affine::has_bias);
  Variable z = affine(x, W, b);
  z.set_grad(ones({2, 3}));
  z.backward();
  CHECK(Affine::has_bias);
  CHECK(b.grad().is_defined());
}

TEST_CASE("type checks name the function, the argument, what was expected and what came") {
  const Array W = ones({1, 3});
  CHECK_THROWS_WITH_AS(affine(ones({2, 3}, Dtype::int32), W), "F::affine: x has dtype int32: x.dtype must be floating",
                       TypeError);
  CHECK_THROWS_WITH_AS(affine(ones({3}), W), "F::affine: x has shape (3,): x.ndim must equal 2 (1 != 2)", TypeError);
  CHECK_THROWS_WITH_AS(
      affine(ones({2, 4}), W),
      "F::affine: x has shape (2, 4) but W has shape (1, 3): x.shape[1] must equal W.shape[-1] (4 != 3)", TypeError);
  CHECK_THROWS_WITH_AS(
      affine(ones({2, 3}), ones({1, 3}, Dtype::float64)),
      "F::affine: x has dtype float32 but W has dtype float64: x.dtype must equal W.dtype (float32 != float64)",
      TypeError);
  CHECK_THROWS_WITH_AS(affine(ones({2, 3}), W, ones({3})),
                       "F::affine: x has shape (2, 3) but b has shape (3,): x.shape must equal b.shape", TypeError);
  CHECK_THROWS_WITH_AS(affine(ones({1, 3}), ones({}), Variable()),
                       "F::affine: x has shape (1, 3) but W has shape (): W.shape[-1] does not exist, but x.shape[1] "
                       "must equal W.shape[-1]",
                       TypeError);
  {
    const auto off = using_config(&Config::type_check, false);
    CHECK(affine(ones({3}), W).shape() == Shape{3});
  }
}

TEST_CASE("a variable without an array is an error of its own") {
  Variable parameter(ones({2, 3}));
  parameter.set_array(Array());
  CHECK_THROWS_WITH_AS(affine(parameter, ones({1, 3})),
                       "F::affine: argument 0 has no array (an uninitialised parameter?)", StateError);
}

/// Forgets its result.
class Nothing final : public FunctionNode {
 public:
  const char* name() const override { return "nothing"; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    if (in[0].size() == 1) return {};
    return {Array()};
  }
  Variables backward(const Variables& gy) override { return {gy[0]}; }
};

TEST_CASE("a function that gives nothing is told so") {
  for (const int64_t size : {1, 2}) {
    for (const bool requires_grad : {false, true}) {
      const Variable x(ones({size}), requires_grad);
      CHECK_THROWS_WITH_AS(apply<Nothing>({x}),
                           "F::nothing: its forward() gave no array: it must give one, or be applied with apply_all()",
                           ValueError);
    }
  }
}

TEST_CASE("debug mode finds NaN in results") {
  const Variable x(array<float>({0.0f, NAN}, {1, 2}));
  const Array W = ones({1, 2});
  CHECK(affine(x, W).is_defined());
  const auto debug = using_config(&Config::debug, true);
  CHECK_THROWS_WITH_AS(affine(x, W), "NaN is detected on forward computation of affine", Error);
}

TEST_CASE("a node is not recorded when nobody needs it") {
  class NotesRecording final : public FunctionNode {
   public:
    explicit NotesRecording(bool* recording) : recording_{recording} {}
    const char* name() const override { return "notes"; }

   private:
    Arrays forward(const ArrayRefs& in) override {
      *recording_ = is_recording();
      return {in[0].copy()};
    }
    Variables backward(const Variables& gy) override { return {gy[0]}; }
    bool* recording_;
  };
  bool recording = false;
  apply<NotesRecording>({Variable(ones({1}))}, &recording);
  CHECK(recording);
  apply<NotesRecording>({Variable(ones({1}), false)}, &recording);
  CHECK_FALSE(recording);
  const auto mode = no_backprop_mode();
  recording = true;
  apply<NotesRecording>({Variable(ones({1}))}, &recording);
  CHECK_FALSE(recording);
}

/// 2 x, whose gradient is added to the others' in place where the pass lets it.
class InPlaceDouble final : public FunctionNode {
 public:
  const char* name() const override { return "in_place_double"; }
  static inline int taken = 0, asked = 0;

 private:
  Arrays forward(const ArrayRefs& in) override { return {(in[0] + in[0])}; }
  Variables backward(const Variables& gy) override {
    if (config().enable_backprop) return {gy[0] + gy[0]};
    ++asked;
    const Array sum = take_gradient_so_far(0);
    if (!sum.is_defined()) return {Variable((gy[0].array() + gy[0].array()), false)};
    ++taken;
    sum.copy_from(sum + gy[0].array() + gy[0].array());
    return {Variable(sum, false)};
  }
};

Variable in_place_double(const Variable& x) { return apply<InPlaceDouble>({x}); }

/// How often a function whose turn comes after two others of the same input took their sum.
int taken_in_place(const BackwardOptions& options) {
  InPlaceDouble::taken = InPlaceDouble::asked = 0;
  const Variable x(ones({4}));
  const Variable h = x * 1.0;
  Variable y = h * 3.0 + h * 2.0 + in_place_double(h) * 1.0 * 1.0;
  y.set_grad(ones({4}));
  y.backward(options);
  CHECK(x.grad().to_vector<float>() == std::vector<float>(4, 7.0f));
  return InPlaceDouble::taken;
}

TEST_CASE("a function adds its gradient in place to those that came before") {
  CHECK(taken_in_place({}) == 1);
  CHECK(taken_in_place({.retain_grad = true}) == 1);
  CHECK(taken_in_place({.enable_double_backprop = true}) == 0);
}

TEST_CASE("a function alone, before leaves and under hooks adds nothing in place") {
  InPlaceDouble::taken = 0;
  const Variable leaf(ones({4}));
  Variable z = in_place_double(leaf) + leaf * 2.0;
  z.set_grad(ones({4}));
  z.backward();
  CHECK(leaf.grad().to_vector<float>() == std::vector<float>(4, 4.0f));
  const Variable x(ones({4}));
  Variable y = in_place_double(x * 1.0);
  y.set_grad(ones({4}));
  y.backward();
  CHECK(x.grad().to_vector<float>() == std::vector<float>(4, 2.0f));
  CHECK(InPlaceDouble::taken == 0);

  struct Watch final : FunctionHook {
    explicit Watch(bool wants) : wants_{wants} {}
    bool wants_own_gradients() const noexcept override { return wants_; }
    bool wants_;
  };
  Watch passing(false), watch(true);
  const ScopedFunctionHook first(passing);
  CHECK(taken_in_place({}) == 1);
  const ScopedFunctionHook second(watch);
  CHECK(taken_in_place({}) == 0);
}

}  // namespace
}  // namespace kusari
