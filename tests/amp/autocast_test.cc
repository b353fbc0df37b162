#include "kusari/framework/amp/autocast.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/functions/activation/prelu.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/framework/links/model/resnet.h"
#include "kusari/tests/amp/casting.h"

namespace kusari {
namespace {

using namespace kusari::testing;

// A function whose class says how it wants to be computed.
class Custom final : public FunctionNode {
 public:
  explicit Custom(Precision precision, const char* name = "custom") : precision_{precision}, name_{name} {}
  const char* name() const override { return name_; }
  Precision precision() const noexcept override { return precision_; }

 private:
  Arrays forward(const ArrayRefs& in) override { return {in[0], in[1]}; }
  Variables backward(const Variables& gy) override { return gy; }

  Precision precision_;
  const char* name_;
};

std::vector<Dtype> dtypes_after(Precision precision, Dtype a, Dtype b, const char* name = "custom") {
  const Variables y = apply_all<Custom>({constant({2}, a), constant({2}, b)}, precision, name);
  return {y[0].dtype(), y[1].dtype()};
}

TEST_CASE("amp::Autocast: regions nest, and threads do not inherit them") {
  const Variable x = constant({2, 3}), W = weights({4, 3});
  const auto dtype = [&] { return F::linear(x, W).dtype(); };
  CHECK_FALSE(amp::is_autocast_enabled());
  {
    const amp::Autocast outer;
    CHECK(amp::is_autocast_enabled());
    CHECK(dtype() == default_dtype());
    {
      const amp::Autocast inner({.enabled = false});
      CHECK_FALSE(amp::is_autocast_enabled());
      CHECK(dtype() == Dtype::float32);
      {
        const amp::Autocast innermost({.dtype = Dtype::float16});
        CHECK(dtype() == Dtype::float16);
      }
      CHECK_FALSE(amp::is_autocast_enabled());
    }
    std::thread([&] { CHECK_FALSE(amp::is_autocast_enabled()); }).join();
    CHECK(dtype() == default_dtype());
  }
  CHECK(dtype() == Dtype::float32);
  CHECK_THROWS_WITH_AS(amp::Autocast({.dtype = Dtype::float32}),
                       "amp::Autocast: dtype is float32: it must be float16 or bfloat16", ValueError);
  CHECK_FALSE(amp::is_autocast_enabled());
}

TEST_CASE("amp::Autocast: regions may end in any order") {
  auto first = std::make_unique<amp::Autocast>(amp::AutocastOptions{.dtype = Dtype::float16});
  auto second = std::make_unique<amp::Autocast>(amp::AutocastOptions{.dtype = Dtype::bfloat16});
  const Variable x = constant({2, 3}), W = weights({4, 3});
  first.reset();
  CHECK(F::linear(x, W).dtype() == Dtype::bfloat16);
  second.reset();
  CHECK(F::linear(x, W).dtype() == Dtype::float32);
}

TEST_CASE("amp::Autocast: a function of one's own says how it wants its inputs") {
  constexpr Dtype h = Dtype::float16, b = Dtype::bfloat16, f = Dtype::float32, d = Dtype::float64;
  struct Case {
    Precision precision;
    Dtype in[2];
    std::vector<Dtype> out;
  };
  const amp::Autocast autocast({.dtype = h});
  for (const Case& c : {
           Case{Precision::low, {f, f}, {h, h}},
           Case{Precision::low, {f, b}, {h, h}},
           Case{Precision::low, {h, d}, {h, d}},
           Case{Precision::low, {f, Dtype::int32}, {h, Dtype::int32}},
           Case{Precision::low, {Dtype::int64, Dtype::bool_}, {Dtype::int64, Dtype::bool_}},
           Case{Precision::full, {h, f}, {f, f}},
           Case{Precision::full, {h, b}, {f, f}},
           Case{Precision::full, {h, d}, {h, d}},
           Case{Precision::widest, {h, h}, {h, h}},
           Case{Precision::widest, {h, f}, {f, f}},
           Case{Precision::widest, {h, b}, {f, f}},
           Case{Precision::widest, {f, d}, {f, d}},
           Case{Precision::untouched, {h, f}, {h, f}},
           Case{Precision::listed, {h, f}, {f, f}},  // on no list: the widest
           Case{Precision::listed, {h, h}, {h, h}},
       }) {
    CAPTURE(static_cast<int>(c.precision));
    CAPTURE(name(c.in[0]));
    CAPTURE(name(c.in[1]));
    CHECK(dtypes_after(c.precision, c.in[0], c.in[1]) == c.out);
  }
}

TEST_CASE("amp::Autocast: a name made anew at the same address is not mistaken for the last one") {
  const amp::Autocast autocast({.dtype = Dtype::float16});
  char text[32] = "linear";
  CHECK(dtypes_after(Precision::listed, Dtype::float32, Dtype::float32, text)[0] == Dtype::float16);
  std::copy_n("exp", 4, text);
  CHECK(dtypes_after(Precision::listed, Dtype::float16, Dtype::float16, text)[0] == Dtype::float32);
  const std::string longer(200, 'x');
  CHECK(dtypes_after(Precision::listed, Dtype::float16, Dtype::float16, longer.c_str())[0] == Dtype::float16);
}

TEST_CASE("amp::Autocast: lists of one's own") {
  amp::PrecisionLists lists = amp::autocast_lists();
  lists.full.insert("relu");
  lists.low.erase("linear");
  lists.unlisted = Precision::untouched;
  lists.refused.emplace("custom", "because");
  const Variable x = constant({2, 3}, Dtype::float16), W = weights({4, 3});
  {
    const amp::Autocast autocast({.dtype = Dtype::float16, .lists = &lists});
    CHECK(F::relu(x).dtype() == Dtype::float32);
    CHECK(F::linear(constant({2, 3}), W).dtype() == Dtype::float32);
    CHECK_THROWS_WITH_AS(dtypes_after(Precision::listed, Dtype::float32, Dtype::float32),
                         "F::custom: amp::Autocast refuses it: because", ValueError);
    CHECK(dtypes_after(Precision::untouched, Dtype::float32, Dtype::float32)[0] == Dtype::float32);
  }
  lists.full.erase("relu");
  const amp::Autocast autocast({.dtype = Dtype::float16, .lists = &lists});
  CHECK(F::relu(x).dtype() == Dtype::float16);
}

TEST_CASE("amp::Autocast: a refused function names the one to call instead") {
  const amp::Autocast autocast;
  CHECK_THROWS_WITH_AS(dtypes_after(Precision::listed, Dtype::float32, Dtype::float32, "binary_cross_entropy"),
                       "F::binary_cross_entropy: amp::Autocast refuses it: the logarithm of a 16-bit probability is "
                       "not safe; use F::sigmoid_cross_entropy, which takes logits",
                       ValueError);
}

TEST_CASE("amp::Autocast: explicit dtypes are left alone") {
  const amp::Autocast autocast({.dtype = Dtype::float16});
  const Variable a = constant({2, 3}), b = weights({3, 4});
  CHECK(F::matmul(a, b).dtype() == Dtype::float16);
  CHECK(F::matmul(a, b, {.dtype = Dtype::float32}).dtype() == Dtype::float32);
  CHECK(F::matmul(constant({2, 3}, Dtype::float64), constant({3, 4}, Dtype::float64)).dtype() == Dtype::float64);
  CHECK(F::cast(a, Dtype::bfloat16).dtype() == Dtype::bfloat16);
  CHECK(F::cast(a, Dtype::float64).dtype() == Dtype::float64);
}

TEST_CASE("amp::Autocast: a branch of 16 bits and one of float32 meet in float32") {
  const amp::Autocast autocast;
  const Variable wide = constant({2, 3}), narrow = F::linear(wide, weights({3, 3}));
  REQUIRE(is_half(narrow.dtype()));
  CHECK((narrow + wide).dtype() == Dtype::float32);
  CHECK((narrow * wide).dtype() == Dtype::float32);
  CHECK(F::concat({narrow, wide}, 1).dtype() == Dtype::float32);
  CHECK((narrow + narrow).dtype() == narrow.dtype());
  CHECK(F::relu(narrow).dtype() == narrow.dtype());
  CHECK(F::prelu(narrow, weights({3})).dtype() == narrow.dtype());
  CHECK(F::exp(narrow).dtype() == Dtype::float32);
  CHECK(F::sum(narrow).dtype() == Dtype::float32);
  CHECK(F::pow(narrow, 2).dtype() == Dtype::float32);
  CHECK((1 / narrow).dtype() == Dtype::float32);
}

TEST_CASE("amp::Autocast: float32 parameters get float32 gradients") {
  const Variable x(floats({4, 3})), W = weights({5, 3}), b = weights({5}, 8);
  const Variable t(zeros({4}, Dtype::int32, test_device()), false);
  const auto gradients = [&](bool enabled) {
    const amp::Autocast autocast({.enabled = enabled});
    const Variable loss = F::softmax_cross_entropy(F::relu(F::linear(x, W, b)), t);
    CHECK(loss.dtype() == Dtype::float32);
    loss.backward();  // inside the region, where it meets no caster
    Variables result;
    for (Variable v : {x, W, b}) {
      CHECK(v.grad().dtype() == Dtype::float32);
      result.push_back(Variable(v.grad(), false));
      v.cleargrad();
    }
    return result;
  };
  const Variables exact = gradients(false), cast = gradients(true);
  for (size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    check_close(cast[i].array().astype(Dtype::bfloat16), exact[i].shape(), exact[i].to_vector<double>(), 2);
    CHECK(cast[i].to_vector<float>() != exact[i].to_vector<float>());  // something was computed in 16 bits
  }
}

TEST_CASE("amp::Autocast: batch normalization keeps its parameters and statistics in float32") {
  const amp::Autocast autocast;
  const Variable x = constant({4, 3, 2, 2}, default_dtype()), residual = constant({4, 3, 2, 2});
  const Variable gamma = weights({3}), beta = weights({3}, 9);
  const Array mean = zeros({3}, Dtype::float32, test_device()), var = ones({3}, Dtype::float32, test_device());
  InputDtypes hook;
  {
    const ScopedFunctionHook scope(hook);
    const Variable y = F::batch_normalization(x, gamma, beta, {.running_mean = mean, .running_var = var});
    CHECK(y.dtype() == default_dtype());
    CHECK(F::batch_normalization_relu(x, gamma, beta).dtype() == default_dtype());
    CHECK(F::batch_normalization_add_relu(x, x, gamma, beta).dtype() == default_dtype());
    CHECK(F::batch_normalization_add_relu(x, residual, gamma, beta).dtype() == Dtype::float32);
    CHECK(F::fixed_batch_normalization(x, gamma, beta, mean, var).dtype() == default_dtype());
  }
  const Dtype h = default_dtype(), f = Dtype::float32;
  CHECK(hook.seen.at("batch_normalization") == std::set<std::vector<Dtype>>{{h, f, f}});
  CHECK(hook.seen.at("fixed_batch_normalization") == std::set<std::vector<Dtype>>{{h, f, f, f, f}});
  CHECK(mean.to_vector<float>() != std::vector<float>(3, 0.0f));
}

TEST_CASE("amp::Autocast: a residual network computes its products in 16 bits, whichever lists") {
  L::ResNet18 model({.n_classes = 10, .stem = L::ResNetStem::cifar});
  model.to(test_device());
  const Variable x = constant({2, 3, 32, 32});
  const Variable t(zeros({2}, Dtype::int32, test_device()), false);
  struct Case {
    const amp::PrecisionLists& lists;
    std::set<std::string> wide;  // functions whose first input may be float32
  };
  // TensorFlow's mean over an image is in float32.
  for (const auto& [lists, wide] :
       {Case{amp::autocast_lists(), {}}, Case{amp::tensorflow_lists(), {"global_average_pooling_2d", "reshape"}}}) {
    model.cleargrads();
    InputDtypes hook;
    Variable loss;
    {
      const amp::Autocast autocast({.lists = &lists});
      const ScopedFunctionHook scope(hook);
      loss = F::softmax_cross_entropy(model(x), t);
    }
    const Dtype h = default_dtype();
    CHECK(hook.seen.at("convolution_2d") == std::set<std::vector<Dtype>>{{h, h}});
    CHECK(hook.seen.at("linear") == std::set<std::vector<Dtype>>{{h, h, h}});
    CHECK(hook.seen.at("softmax_cross_entropy") == std::set<std::vector<Dtype>>{{Dtype::float32}});
    for (const auto& [function, inputs] : hook.seen) {
      if (function == "cast" || function == "softmax_cross_entropy" || wide.contains(function)) continue;
      CAPTURE(function);
      for (const std::vector<Dtype>& dtypes : inputs) CHECK(dtypes[0] == h);
    }
    loss.backward();
    for (const auto& [path, parameter] : model.namedparams()) {
      CAPTURE(path);
      CHECK(parameter->dtype() == Dtype::float32);
      CHECK(parameter->grad().dtype() == Dtype::float32);
    }
  }
}

TEST_CASE("amp::Autocast: gradients of gradients, and a gradient penalty") {
  const Variable W = weights({4, 3}), V = weights({1, 4}, 11);
  const auto penalty = [&](bool enabled) {
    const Variable x(floats({2, 3}));
    const amp::Autocast autocast({.enabled = enabled});
    const Variable y = F::linear(F::square(F::linear(x, W)), V);
    const Variable gx = grad({F::sum(y)}, {x}, {.enable_double_backprop = true})[0];
    CHECK(gx.dtype() == Dtype::float32);
    const Variable excess = F::sum(F::square(gx)) - 1;
    CHECK(excess.dtype() == Dtype::float32);
    Variable(W).cleargrad();
    F::square(excess).backward();
    return Variable(W.grad(), false);
  };
  const Variable exact = penalty(false), cast = penalty(true);
  CHECK(cast.dtype() == Dtype::float32);
  check_close(cast.array().astype(Dtype::bfloat16), exact.shape(), exact.to_vector<double>(), 4);
}

TEST_CASE("amp::Autocast: exceptions leave the thread as it was") {
  const Variable x = constant({2, 3}), W = weights({4, 5});
  try {
    const amp::Autocast autocast;
    F::linear(x, W);
    FAIL("shapes do not fit");
  } catch (const TypeError&) {
  }
  CHECK_FALSE(amp::is_autocast_enabled());
  const amp::Autocast autocast;
  CHECK_THROWS_AS(F::linear(x, W), TypeError);
  CHECK(amp::is_autocast_enabled());
  CHECK_THROWS_AS(F::linear(Variable(), W), TypeError);
  CHECK(F::linear(x, weights({4, 3})).dtype() == default_dtype());
}

TEST_CASE("amp::Autocast: hooks run under the caster, backward passes do not") {
  class Hook : public FunctionHook {
   public:
    void backward_preprocess(const FunctionNode&, const Variables&) override { backward = amp::is_autocast_enabled(); }
    void forward_preprocess(const FunctionNode& f, const ArrayRefs&) override {
      if (std::string(f.name()) == "linear") forward = amp::is_autocast_enabled();
    }
    bool forward = false, backward = true;
  };
  const Variable W = weights({4, 3});
  const amp::Autocast autocast;
  Hook hook;
  const ScopedFunctionHook scope(hook);
  F::sum(F::linear(constant({2, 3}), W)).backward();
  CHECK(hook.forward);
  CHECK_FALSE(hook.backward);
}

}  // namespace
}  // namespace kusari
