#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/connection/convolution_2d.h"
#include "kusari/framework/functions/connection/deconvolution_2d.h"
#include "kusari/framework/functions/connection/embed_id.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"

namespace kusari {
namespace {

namespace F = functions;

/// A function that uses one member of its second argument in its rules.
class Asking final : public FunctionNode {
 public:
  using Rule = std::function<void(const TypeCheck&, const type_check::Argument&)>;
  explicit Asking(Rule rule) : rule_{std::move(rule)} {}
  const char* name() const override { return "asking"; }

 private:
  void check(const TypeCheck& c) const override { rule_(c, c.args("x", "W")[1]); }
  Arrays forward(const ArrayRefs& in) override { return {in[0]}; }
  Variables backward(const Variables& gy) override { return {gy[0], Variable()}; }
  Rule rule_;
};

TEST_CASE("a rule about an argument that was not given says so") {
  using type_check::Argument;
  const Variable x = ones({2, 3});
  const Asking::Rule rules[] = {
      [](const TypeCheck& c, const Argument& W) { c.expect(W.ndim() == 2); },
      [](const TypeCheck& c, const Argument& W) { c.expect(W.size() == 2); },
      [](const TypeCheck& c, const Argument& W) { c.expect(W.shape(1) == 2); },
      [](const TypeCheck& c, const Argument& W) { c.expect(W.shape(-1) == 2); },
      [](const TypeCheck& c, const Argument& W) { c.expect(W.shape() == c.arg("x", 0).shape()); },
      [](const TypeCheck& c, const Argument& W) { c.expect(c.arg("x", 0).shape() == W.shape()); },
      [](const TypeCheck& c, const Argument& W) { c.expect(W.dtype() == Dtype::float32); },
      [](const TypeCheck& c, const Argument& W) { c.expect(W.is_floating()); },
      [](const TypeCheck& c, const Argument& W) { c.expect(W.is_integral()); },
      [](const TypeCheck&, const Argument& W) { static_cast<void>(W.array()); },
  };
  for (const Asking::Rule& rule : rules) {
    CHECK_THROWS_WITH_AS(apply<Asking>({x, Variable()}, rule), "F::asking: W is not given: it is required", TypeError);
  }
  CHECK_THROWS_WITH_AS(apply<Asking>({x}, rules[0]), "F::asking: it got 1 inputs: W is missing", TypeError);
  const auto optional = [](const TypeCheck& c, const Argument& W) {
    if (W.is_given()) c.expect(W.ndim() == 5);
  };
  CHECK(apply<Asking>({x, Variable()}, optional).shape() == x.shape());
}

/// A function without rules, of any number of inputs.
class Ruleless final : public FunctionNode {
 public:
  explicit Ruleless(bool last_is_optional) : last_is_optional_{last_is_optional} {}
  const char* name() const override { return "ruleless"; }

 private:
  bool is_optional(size_t input) const noexcept override { return last_is_optional_ && input == 1; }
  Arrays forward(const ArrayRefs& in) override { return {in[0]}; }
  Variables backward(const Variables& gy) override { return {gy[0], Variable()}; }
  bool last_is_optional_;
};

TEST_CASE("a function without rules wants all its inputs but those that it calls optional") {
  const Variable x = ones({2, 3}), none;
  CHECK(apply<Ruleless>({x, none}, true).shape() == Shape{2, 3});
  for (const bool checks : {false, true}) {
    const auto mode = using_config(&Config::type_check, checks);
    CHECK_THROWS_WITH_AS(apply<Ruleless>({x, none}, false), "F::ruleless: argument 1 is not given: it is required",
                         TypeError);
    CHECK_THROWS_WITH_AS(apply<Ruleless>({none, x}, true), "F::ruleless: argument 0 is not given: it is required",
                         TypeError);
    CHECK_THROWS_WITH_AS(apply<Ruleless>({none}, true), "F::ruleless: x is not given: it is required", TypeError);
  }
}

TEST_CASE("a name of many inputs is told with its number") {
  class Many final : public FunctionNode {
   public:
    const char* name() const override { return "many"; }

   private:
    void check(const TypeCheck& c) const override {
      for (size_t i = 0; i < c.size(); ++i) c.expect(c.arg("xs[i]", i).shape(0) <= 2, c.arg("xs[i]", i).is_floating());
    }
    Arrays forward(const ArrayRefs& in) override { return {in[0]}; }
    Variables backward(const Variables& gy) override { return {gy[0]}; }
  };
  const Variable two = ones({2}), three = ones({3}), whole(ones({2}, Dtype::int32), false);
  CHECK_THROWS_WITH_AS(apply_all<Many>({two, two, three}),
                       "F::many: xs[2] has shape (3,): xs[2].shape[0] must be at most 2 (3 > 2)", TypeError);
  CHECK_THROWS_WITH_AS(apply_all<Many>({two, whole, two}),
                       "F::many: xs[1] has dtype int32: xs[1].dtype must be floating", TypeError);
  CHECK_THROWS_AS(apply_all<Many>({two, two, Variable()}), TypeError);
}

TEST_CASE("functions name an argument that was not given") {
  const Variable none;
  const Variable x = ones({2, 3}), image = ones({2, 3, 4, 4}), channels = ones({3});
  const auto missing = [](const char* function, const char* argument) {
    return std::string("F::") + function + ": " + argument + " is not given: it is required";
  };
  CHECK_THROWS_WITH_AS(F::linear(x, none), missing("linear", "W").c_str(), TypeError);
  CHECK_THROWS_WITH_AS(F::linear(none, x), missing("linear", "x").c_str(), TypeError);
  CHECK_THROWS_WITH_AS(F::convolution_2d(image, none), missing("convolution_2d", "W").c_str(), TypeError);
  CHECK_THROWS_WITH_AS(F::convolution_2d(none, image), missing("convolution_2d", "x").c_str(), TypeError);
  CHECK_THROWS_WITH_AS(F::deconvolution_2d(image, none), missing("deconvolution_2d", "W").c_str(), TypeError);
  CHECK_THROWS_WITH_AS(F::embed_id(ones({2}, Dtype::int32), none), missing("embed_id", "W").c_str(), TypeError);
  CHECK_THROWS_WITH_AS(F::softmax_cross_entropy(x, none), missing("softmax_cross_entropy", "t").c_str(), TypeError);
  CHECK_THROWS_WITH_AS(F::mean_squared_error(x, none), missing("mean_squared_error", "x1").c_str(), TypeError);
  CHECK_THROWS_WITH_AS(F::matmul(x, none), missing("matmul", "b").c_str(), TypeError);
  CHECK_THROWS_WITH_AS(F::batch_normalization(image, channels, none), missing("batch_normalization", "beta").c_str(),
                       TypeError);
}

}  // namespace
}  // namespace kusari
