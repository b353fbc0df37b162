#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/autograd/function_hook.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/links/activation/maxout.h"
#include "kusari/framework/links/activation/prelu.h"
#include "kusari/framework/links/activation/swish.h"
#include "kusari/framework/links/connection/bias.h"
#include "kusari/framework/links/connection/bilinear.h"
#include "kusari/framework/links/connection/convolution_nd.h"
#include "kusari/framework/links/connection/deconvolution_2d.h"
#include "kusari/framework/links/connection/deconvolution_nd.h"
#include "kusari/framework/links/connection/depthwise_convolution_2d.h"
#include "kusari/framework/links/connection/highway.h"
#include "kusari/framework/links/connection/inception.h"
#include "kusari/framework/links/connection/inceptionbn.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/connection/local_convolution_2d.h"
#include "kusari/framework/links/connection/mlp_convolution_2d.h"
#include "kusari/framework/links/connection/scale.h"
#include "kusari/framework/links/model/cifar_cnn.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/framework/links/model/googlenet.h"
#include "kusari/framework/links/model/mobilenet_v2.h"
#include "kusari/framework/links/model/resnet.h"
#include "kusari/framework/links/model/vgg.h"
#include "kusari/framework/links/normalization/batch_renormalization.h"
#include "kusari/framework/links/normalization/decorrelated_batch_normalization.h"
#include "kusari/framework/links/normalization/group_normalization.h"
#include "kusari/framework/links/normalization/layer_normalization.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/framework/training/extensions/evaluator.h"
#include "kusari/framework/training/extensions/log_report.h"
#include "kusari/framework/training/trainer.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/tests/scratch_directory.h"
#include "kusari/updaters/standard_updater.h"

// What config.dtype means for whole models: the dtype of everything that is computed while they are trained and
// evaluated.
namespace kusari::testing {
namespace {

namespace F = functions;

/// Every floating array that goes into a function or comes out of one, where its dtype is not the expected one.
class DtypeCheck final : public FunctionHook {
 public:
  /// `parameters`: the dtype of the parameters of normalizations.
  DtypeCheck(Dtype activations, Dtype parameters) : activations_{activations}, parameters_{parameters} {}

  void forward_postprocess(const FunctionNode& f, const ArrayRefs& in, const Arrays& out) override {
    ++functions_;
    for (size_t i = 0; i < in.size(); ++i) check(f, "input ", i, in[i]);
    for (size_t i = 0; i < out.size(); ++i) check(f, "output ", i, out[i]);
  }
  void backward_postprocess(const FunctionNode& f, const Variables& gy, const Variables& gx) override {
    for (size_t i = 0; i < gy.size(); ++i) {
      if (gy[i].is_defined()) check(f, "gradient of output ", i, gy[i].array());
    }
    for (size_t i = 0; i < gx.size(); ++i) {
      if (gx[i].is_defined()) check(f, "gradient of input ", i, gx[i].array());
    }
  }
  int functions() const { return functions_; }
  std::string wrong() const {
    std::string text;
    for (const std::string& line : wrong_) text += line + "\n";
    return text;
  }

 private:
  void check(const FunctionNode& f, const char* what, size_t i, const Array& x) {
    if (!x.is_defined() || !x.is_floating()) return;
    // Those of normalizations are vectors; their activations have more axes.
    const bool is_parameter = x.ndim() == 1 && std::string(f.name()).find("normalization") != std::string::npos;
    if (x.dtype() == (is_parameter ? parameters_ : activations_)) return;
    wrong_.insert(std::string(f.name()) + ": " + what + std::to_string(i) + " is " + name(x.dtype()) + " " +
                  to_string(x.shape()));
  }
  Dtype activations_, parameters_;
  std::set<std::string> wrong_;
  int functions_ = 0;
};

struct Policy {
  DtypePolicy policy;
  Dtype activations, parameters;  // of normalizations
};
const Policy kPolicies[] = {
    {Dtype::float16, Dtype::float16, Dtype::float16}, {Dtype::bfloat16, Dtype::bfloat16, Dtype::bfloat16},
    {Dtype::float32, Dtype::float32, Dtype::float32}, {Dtype::float64, Dtype::float64, Dtype::float64},
    {mixed16, Dtype::float16, Dtype::float32},        {mixed_bf16, Dtype::bfloat16, Dtype::float32}};

/// Images or vectors in float32, as data sets give them, with int32 labels.
class Random final : public datasets::Dataset {
 public:
  Random(Shape shape, int64_t classes) : shape_{std::move(shape)}, classes_{classes} {}
  int64_t size() const override { return 4; }
  datasets::Example get(int64_t i) const override {
    std::vector<float> values(static_cast<size_t>(numel(shape_)));
    for (size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>(philox_word(static_cast<uint64_t>(i), k)) * 0x1p-32F - 0.5F;
    }
    return {array(values, shape_), full({}, i % classes_, Dtype::int32)};
  }

 private:
  Shape shape_;
  int64_t classes_;
};

/// Trains one step and evaluates, and looks at every activation, parameter, state and reported value.
template <class Predictor>
void check_policy(const Policy& p, Predictor predictor, const Shape& shape, int64_t classes) {
  const ScratchDirectory out;
  auto model = L::classifier(std::move(predictor));
  optimizers::MomentumSGD optimizer(1e-4);
  optimizer.setup(model);
  const Random data(shape, classes);
  iterators::SerialIterator train(data, 2), test(data, 4, {.repeat = false, .shuffle = false});
  updaters::StandardUpdater updater(train, optimizer);
  training::Trainer trainer(updater, {1, "iteration"}, out.path());
  trainer.extend(extensions::Evaluator(test, model), {.trigger = {1, "iteration"}});
  extensions::LogReport log({.trigger = {1, "iteration"}});
  trainer.extend(log);
  DtypeCheck hook(p.activations, p.parameters);
  {
    const ScopedFunctionHook scope(hook);
    trainer.run();
  }
  CHECK(hook.functions() > 5);
  CHECK(hook.wrong() == "");
  for (const auto& [path, link] : model.namedlinks()) {
    for (const auto& [own, parameter] : link->namedparams()) {
      if (std::count(own.begin(), own.end(), '/') != 1) continue;  // of a link below
      CAPTURE(path);
      CAPTURE(own);
      const Dtype expected = link->keeps_float32() ? p.parameters : p.activations;
      CHECK(parameter->dtype() == expected);
      CHECK(parameter->grad().dtype() == expected);
      CHECK(parameter->update_rule().state("v").dtype() == expected);
    }
  }
  CHECK(model.y.dtype() == p.activations);
  CHECK(std::isfinite(log.log().at(0).at("main/loss")));
  CHECK(std::isfinite(log.log().at(0).at("validation/main/loss")));
  CHECK(log.log().at(0).find("validation/main/accuracy") != nullptr);
}

class DropoutMlp : public Chain {
 public:
  DropoutMlp() : l1{*this, "l1", kInfer, 30}, l2{*this, "l2", 30, 20}, l3{*this, "l3", 20, 10} {}
  Variable operator()(const Variable& x) { return l3(F::dropout(F::relu(l2(F::relu(l1(x)))) * 2 + 0.5, 0.25)); }

 private:
  Child<L::Linear> l1, l2, l3;
};

Array uniform(const Shape& shape, Dtype dtype) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(philox_word(9, k)) * 0x1p-32F - 0.5F;
  return array(values, shape).astype(dtype);
}

TEST_CASE("the check of dtypes sees a wrong one, forward and backward") {
  DtypeCheck hook(Dtype::float16, Dtype::float32);
  const ScopedFunctionHook scope(hook);
  const Variable x(ones({2}, Dtype::float16)), wide(ones({2, 1}));
  F::sum(F::relu(x)).backward();
  CHECK(hook.wrong() == "");
  F::sum(F::relu(wide)).backward();
  CHECK(hook.wrong().find("relu: input 0 is float32 (2, 1)\n") != std::string::npos);
  CHECK(hook.wrong().find("relu: gradient of output 0 is float32 (2, 1)\n") != std::string::npos);
}

TEST_CASE("config.dtype: models of fully connected and plain convolutional layers") {
  for (const Policy& p : kPolicies) {
    const auto guard = using_config(&Config::dtype, p.policy);
    CAPTURE(name(p.activations));
    CAPTURE(name(p.parameters));
    check_policy(p, DropoutMlp(), {12}, 10);
    check_policy(p, L::CifarCnn(), {3, 32, 32}, 10);
    check_policy(p, L::VGG16Layers({.n_classes = 10, .image_size = 32}), {3, 32, 32}, 10);
  }
}

TEST_CASE("config.dtype: residual networks") {
  for (const Policy& p : kPolicies) {
    const auto guard = using_config(&Config::dtype, p.policy);
    CAPTURE(name(p.activations));
    CAPTURE(name(p.parameters));
    check_policy(p, L::ResNet18({.n_classes = 10, .stem = L::ResNetStem::cifar}), {3, 16, 16}, 10);
    check_policy(p, L::ResNet50({.n_classes = 10}), {3, 64, 64}, 10);
    check_policy(p, L::MobileNetV2({.n_classes = 10, .stem = L::MobileNetV2Stem::cifar}), {3, 16, 16}, 10);
  }
}

TEST_CASE("config.dtype: Inception") {
  for (const Policy& p : kPolicies) {
    const auto guard = using_config(&Config::dtype, p.policy);
    CAPTURE(name(p.activations));
    CAPTURE(name(p.parameters));
    check_policy(p, L::GoogLeNet({.n_classes = 10}), {3, 224, 224}, 10);
  }
}

/// Calls a link with inputs of the policy's dtype and differentiates.
template <class LinkType, class... Shapes>
void check_link(const Policy& p, LinkType link, const Shapes&... shapes) {
  const bool is_inception = std::is_same_v<LinkType, L::InceptionBN>;  // whose normalizations follow Chainer: 16-bit
  DtypeCheck hook(p.activations, is_inception ? p.activations : p.parameters);
  link.cleargrads();
  {
    const ScopedFunctionHook scope(hook);
    const Variable y = link(Variable(uniform(shapes, p.activations))...);
    CHECK(y.dtype() == p.activations);
    F::sum(y * y).backward();
  }
  // These two are made of functions that compute statistics, and whitening, in float32.
  constexpr bool kIsWideInside =
      std::is_same_v<LinkType, L::BatchRenormalization> || std::is_same_v<LinkType, L::DecorrelatedBatchNormalization>;
  if (!kIsWideInside) CHECK(hook.wrong() == "");
  for (const auto& [path, parameter] : link.namedparams()) {
    CAPTURE(path);
    CHECK(parameter->grad().dtype() == parameter->dtype());
  }
}

TEST_CASE("config.dtype: every other link") {
  for (const Policy& p : kPolicies) {
    const auto guard = using_config(&Config::dtype, p.policy);
    CAPTURE(name(p.activations));
    CAPTURE(name(p.parameters));
    const Shape rows{4, 6}, image{2, 4, 5, 5};
    check_link(p, L::Maxout(6, 3, 2), rows);
    check_link(p, L::PReLU(), rows);
    check_link(p, L::Swish(Shape{6}), rows);
    check_link(p, L::Bias({.shape = Shape{6}}), rows);
    check_link(p, L::Scale({.w_shape = Shape{6}, .bias_term = true}), rows);
    check_link(p, L::Highway(6), rows);
    check_link(p, L::Bilinear(6, 3, 2), rows, Shape{4, 3});
    check_link(p, L::LayerNormalization(), rows);
    check_link(p, L::BatchRenormalization(4), image);
    check_link(p, L::GroupNormalization(2), image);
    check_link(p, L::DecorrelatedBatchNormalization(4, {.groups = 2}), image);
    check_link(p, L::DepthwiseConvolution2D(4, 2, 3), image);
    check_link(p, L::LocalConvolution2D(4, 2, 5, 3), image);
    check_link(p, L::MLPConvolution2D(4, {3, 2}, 3), image);
    check_link(p, L::Deconvolution2D(4, 3, 3), image);
    check_link(p, L::Convolution1D(4, 3, 3), Shape{2, 4, 5});
    check_link(p, L::Deconvolution3D(4, 3, 2), Shape{2, 4, 2, 2, 2});
    check_link(p, L::Inception(4, {.out1 = 2, .proj3 = 2, .out3 = 2, .proj5 = 2, .out5 = 2, .proj_pool = 2}), image);
    check_link(p, L::InceptionBN(4, {.out1 = 2, .proj3 = 2, .out3 = 2, .proj33 = 2, .out33 = 2, .proj_pool = 2}),
               image);
  }
}

TEST_CASE("converters give config.dtype and leave integers alone") {
  const datasets::Example a{full({2}, 0.25, Dtype::float32), full({}, 3, Dtype::int32), full({3}, 7, Dtype::uint8),
                            full({1}, 1.5, Dtype::float64)};
  const std::vector<datasets::Example> batch{a, a};
  for (const Policy& p : kPolicies) {
    const auto guard = using_config(&Config::dtype, p.policy);
    const datasets::Example converted = datasets::concat_examples(batch);
    CHECK(converted[0].dtype() == p.activations);
    CHECK(converted[1].dtype() == Dtype::int32);
    CHECK(converted[2].dtype() == Dtype::uint8);
    CHECK(converted[3].dtype() == p.activations);
    CHECK(converted[0].to_vector<double>() == std::vector<double>{0.25, 0.25, 0.25, 0.25});
  }
}

TEST_CASE("files of a model load into models of other dtypes") {
  const ScratchDirectory out;
  const auto make = [](DtypePolicy policy) {
    const auto guard = using_config(&Config::dtype, policy);
    return L::ResNet18({.n_classes = 3, .stem = L::ResNetStem::cifar});
  };
  for (const DtypePolicy from : {DtypePolicy(Dtype::float16), DtypePolicy(Dtype::float32), mixed_bf16}) {
    L::ResNet18 saved = make(from);
    serializers::save_npz(out / "model", saved);
    for (const DtypePolicy to : {DtypePolicy(Dtype::float16), DtypePolicy(Dtype::float32), mixed16, mixed_bf16}) {
      L::ResNet18 loaded = make(to);
      const Dtype before = loaded.fc6.W.dtype(), gamma = loaded.bn1.gamma.dtype();
      serializers::load_npz(out / "model", loaded);
      CHECK(loaded.fc6.W.dtype() == before);
      CHECK(loaded.bn1.gamma.dtype() == gamma);
      CHECK(loaded.fc6.W.array().to_vector<double>() == saved.fc6.W.array().astype(before).to_vector<double>());
      CHECK(loaded.conv1.W.array().to_vector<double>() == saved.conv1.W.array().astype(before).to_vector<double>());
    }
  }
}

}  // namespace
}  // namespace kusari::testing
