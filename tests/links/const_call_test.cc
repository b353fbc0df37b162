#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/kusari.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/tests/links/models.h"

// Models as const references.
namespace kusari::testing {
namespace {

// Some number of variables will do.
template <class T>
concept ConstCallable = std::is_invocable_r_v<Variable, const T&, const Variable&> ||
    std::is_invocable_r_v<Variable, const T&, const Variable&, const Variable&> ||
    std::is_invocable_r_v<Variable, const T&>;

template <class... Links>
constexpr bool kAllConst = (ConstCallable<Links> && ...);

static_assert(kAllConst<L::Linear, L::Bias, L::Bilinear, L::ConvolutionND, L::Convolution1D, L::Convolution2D,
                        L::Convolution3D, L::DeconvolutionND, L::Deconvolution2D, L::DeformableConvolution2D,
                        L::DepthwiseConvolution2D, L::DilatedConvolution2D, L::EmbedID, L::Highway, L::Inception,
                        L::InceptionBN, L::LocalConvolution2D, L::MLPConvolution2D, L::ParameterLink, L::Scale>);
static_assert(kAllConst<L::Maxout, L::PReLU, L::SimplifiedDropconnect, L::Swish, L::BatchNormalization,
                        L::BatchRenormalization, L::DecorrelatedBatchNormalization, L::GroupNormalization,
                        L::LayerNormalization, L::BinaryHierarchicalSoftmax, L::BlackOut, L::NegativeSampling>);
static_assert(kAllConst<L::CifarCnn, L::VGG16Layers, L::VGG19Layers, L::GoogLeNet, L::ResNet18, L::ResNet50Layers,
                        L::MobileNetV2, L::Classifier<L::Linear>, Child<L::Linear>, Sequential, AnyLink,
                        StaticGraph<L::Linear>, Child<Sequential>>);
static_assert(std::is_invocable_v<const L::CRF1d&, std::span<const Variable>, std::span<const Variable>>);

using Floats = std::vector<float>;

class ConstNet : public Chain {
 public:
  ConstNet() : l1{*this, "l1", 4}, bn{*this, "bn", kInfer}, rest{*this, "rest", F::relu, L::Linear(4, 4)} {
    any = AnyLink(L::Linear(4, 3));
    list.append(L::Linear(3, 3));
    dict.add_link("out", L::Linear(3, 2));
  }
  Variable operator()(const Variable& x) const {
    Variable h = any(rest(bn(l1(x))));
    for (const L::Linear& layer : list) h = layer(h);
    return dict["out"](list.at(0)(h));
  }

  Child<L::Linear> l1;
  Child<L::BatchNormalization> bn;
  Child<Sequential> rest;
  Child<AnyLink> any{*this, "any"};
  Child<ChainList<L::Linear>> list{*this, "list"};
  Child<ChainDict<L::Linear>> dict{*this, "dict"};
};

// As users wrote it.
class PlainNet : public Chain {
 public:
  PlainNet() : l{*this, "l", 3, 2} {}
  Variable operator()(const Variable& x) {
    ++calls;
    return l(x);
  }
  int calls = 0;
  Child<L::Linear> l;
};

Variable evaluate(const ConstNet& model, const Variable& x) { return model(x); }

TEST_CASE("a model is called as a const reference") {
  const ConstNet model;
  const Variable x(ones({5, 3}), false);
  CHECK(evaluate(model, x).shape() == Shape{5, 2});
  CHECK(model.l1.W.shape() == Shape{4, 3});  // from the first batch
  CHECK(model.bn.avg_mean.shape() == Shape{4});
  const Floats mean = model.bn.avg_mean.to_vector<float>();
  evaluate(model, x);
  CHECK(model.bn.avg_mean.to_vector<float>() != mean);  // training counts batches
  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  const Floats kept = model.bn.avg_mean.to_vector<float>(), y = evaluate(model, x).array().to_vector<float>();
  CHECK(evaluate(model, x).array().to_vector<float>() == y);
  CHECK(model.bn.avg_mean.to_vector<float>() == kept);
  const ConstNet copied = model;
  CHECK(copied(x).array().to_vector<float>() == y);
}

TEST_CASE("a call that is no first one replaces no array of a link") {
  const ConstNet model;
  const Variable x(ones({5, 3}), false);
  const auto test_mode = using_config(&Config::train, false);
  model(x);
  const Array W = model.l1.W.array(), mean = model.bn.avg_mean;
  const uint64_t version = detail::structure_version();
  model(x);
  CHECK(model.l1.W.array().is_same(W));
  CHECK(static_cast<const Array&>(model.bn.avg_mean).is_same(mean));
  CHECK(detail::structure_version() == version);
}

TEST_CASE("a const classifier keeps its results") {
  const auto model = L::classifier(ConstNet());
  const Variable x(ones({5, 3}), false), t(array<int32_t>({0, 1, 0, 1, 0}), false);
  CHECK(is_same(model(x, t), model.loss));
  CHECK(model.y.shape() == Shape{5, 2});
  CHECK(model(DictVariables{{"x", x}, {"t", t}}).shape().empty());
}

TEST_CASE("links whose operator() is not const are parts of models as before") {
  const Variable x(ones({5, 3}), false), t(array<int32_t>({0, 1, 0, 1, 0}), false);
  static_assert(!ConstCallable<PlainNet> && !ConstCallable<L::Classifier<PlainNet>> &&
                !ConstCallable<StaticGraph<PlainNet>>);
  const Sequential sequential{PlainNet(), F::relu};
  CHECK(sequential(x).shape() == Shape{5, 2});
  CHECK(sequential.get<PlainNet>(0)->calls == 1);
  const AnyLink any{PlainNet()};
  CHECK(any(x).shape() == Shape{5, 2});
  CHECK(any.get<PlainNet>()->calls == 1);
  auto classifier = L::classifier(PlainNet());
  CHECK(classifier(x, t).shape().empty());
  CHECK(classifier(DictVariables{{"x", x}, {"t", t}}).shape().empty());
  CHECK(classifier.predictor.calls == 2);
  auto graph = static_graph(PlainNet());
  CHECK(graph(x).shape() == Shape{5, 2});
  Sequential with_counter([n = 0](const Variable& v) mutable { return v * ++n; });
  const Sequential& constant = with_counter;
  constant(x);
  CHECK(constant(x).array().to_vector<float>()[0] == 2);
}

TEST_CASE("a const static graph of a link") {
  const auto graph = static_graph(L::Linear(3, 2));
  const Variable x(ones({5, 3}), false);
  const auto no_graph = no_backprop_mode();
  const Floats y = graph.model()(x).array().to_vector<float>();
  for (int i = 0; i < 3; ++i) CHECK(graph(x).array().to_vector<float>() == y);
}

TEST_CASE("hooks get the link of a const call") {
  struct Count final : LinkHook {
    const char* name() const override { return "count"; }
    void forward_preprocess(Link& link) override { seen.push_back(&link); }
    std::vector<Link*> seen;
  } count;
  const L::Linear link(3, 2);
  const ScopedLinkHook scope(count);
  link(Variable(ones({5, 3}), false));
  CHECK(count.seen == std::vector<Link*>{const_cast<L::Linear*>(&link)});
}

TEST_CASE("models of images answer as const references") {
  const L::ResNet18 model({.n_classes = 3, .stem = L::ResNetStem::cifar});
  const Array image = ones({3, 32, 32});
  CHECK(model.predict({image}, false).shape() == Shape{1, 3});
  CHECK(model.extract({image}).size() == 1);
  CHECK(model(Variable(ones({2, 3, 32, 32}), false), {"res3"}).count("res3") == 1);
}

}  // namespace
}  // namespace kusari::testing
