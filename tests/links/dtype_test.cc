#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/initializers/constant.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/chain_list.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/normalization/decorrelated_batch_normalization.h"
#include "kusari/framework/links/normalization/group_normalization.h"
#include "kusari/framework/links/normalization/layer_normalization.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/optimizers/adam.h"
#include "kusari/tests/links/models.h"
#include "kusari/tests/scratch_directory.h"

// Parameter::to(Dtype) and Link::to(Dtype).
namespace kusari::testing {
namespace {

class Normalized : public Chain {
 public:
  explicit Normalized(int64_t size = 2)
      : conv{*this, "conv", 1, 2, 1}, bn{*this, "bn", size}, scale{*this, "scale", zeros({3})} {}
  Variable operator()(const Variable& x) { return bn(conv(x)); }

  Child<L::Convolution2D> conv;
  Child<L::BatchNormalization> bn;
  Persistent scale;
};

TEST_CASE("a parameter changes its dtype") {
  Parameter p(array<float>({1, 2.5, -3}));
  p.set_grad(ones({3}));
  const Variable same = p;
  p.to(Dtype::float16);
  CHECK(p.dtype() == Dtype::float16);
  CHECK(p.to_vector<double>() == std::vector<double>{1, 2.5, -3});
  CHECK(!p.grad().is_defined());
  CHECK(is_same(same, p));  // it stays the leaf that others know
  CHECK(p.requires_grad());

  p.set_grad(ones({3}, Dtype::float16));
  p.to(Dtype::float16);  // nothing to convert
  CHECK(p.grad().is_defined());
  p.reinitialize();
  CHECK(p.dtype() == Dtype::float16);
  CHECK(Parameter(p).dtype() == Dtype::float16);
}

TEST_CASE("a parameter whose shape comes later is made in its new dtype") {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float64}) {
    CAPTURE(name(dtype));
    Parameter p(Shape{2, kInfer}, 0.5);
    p.to(dtype);
    CHECK(!p.is_initialized());
    p.infer(1, 3);
    CHECK(p.dtype() == dtype);
    CHECK(p.grad().dtype() == dtype);
    CHECK(p.to_vector<double>() == std::vector<double>(6, 0.5));
    // An initializer's own dtype counts no more.
    Parameter one(Shape{kInfer}, initializers::One(Dtype::float32));
    one.to(dtype);
    one.infer(0, 2);
    CHECK(one.dtype() == dtype);
  }
}

TEST_CASE("filters keep their order in memory") {
  L::Convolution2D conv(4, 8, 3);
  const Strides strides = conv.W.array().strides();
  conv.to(Dtype::float16);
  CHECK(conv.W.dtype() == Dtype::float16);
  CHECK(conv.W.array().strides() == strides);
}

TEST_CASE("a model changes its dtype, its normalizations stay in float32") {
  Normalized model;
  CHECK(&model.to(Dtype::float16) == &model);
  CHECK(model.conv.W.dtype() == Dtype::float16);
  CHECK(model.conv.b.dtype() == Dtype::float16);
  CHECK(model.scale.dtype() == Dtype::float16);
  CHECK(model.bn.gamma.dtype() == Dtype::float32);
  CHECK(model.bn.beta.dtype() == Dtype::float32);
  CHECK(model.bn.avg_mean.dtype() == Dtype::float32);
  CHECK(model.bn.avg_var.dtype() == Dtype::float32);
  const Variable y = model(Variable(ones({2, 1, 3, 3}, Dtype::float16)));
  CHECK(y.dtype() == Dtype::float16);
  functions::sum(y).backward();
  CHECK(model.conv.W.grad().dtype() == Dtype::float16);
  CHECK(model.bn.gamma.grad().dtype() == Dtype::float32);

  model.to(Dtype::float16, {.keep_float32 = false});
  CHECK(model.bn.gamma.dtype() == Dtype::float16);
  CHECK(model.bn.avg_var.dtype() == Dtype::float16);
  CHECK(model(Variable(ones({2, 1, 3, 3}, Dtype::float16))).dtype() == Dtype::float16);

  model.to(Dtype::float64);
  CHECK(model.bn.gamma.dtype() == Dtype::float64);
  CHECK(model.bn.avg_mean.dtype() == Dtype::float64);
  CHECK(model.conv.W.dtype() == Dtype::float64);
  model.to(Dtype::bfloat16);
  CHECK(model.conv.W.dtype() == Dtype::bfloat16);
  CHECK(model.bn.avg_mean.dtype() == Dtype::float32);
}

TEST_CASE("a normalization whose size comes later has one dtype") {
  {
    const auto half = using_config(&Config::dtype, DtypePolicy(Dtype::float16));
    Normalized model(kInfer);
    model.to(Dtype::float16);
    model(Variable(ones({2, 1, 3, 3}, Dtype::float16)));
    CHECK(model.bn.gamma.dtype() == Dtype::float32);
    CHECK(model.bn.avg_mean.dtype() == Dtype::float32);
  }
  Normalized model(kInfer);
  model.to(Dtype::float64);
  model(Variable(ones({2, 1, 3, 3}, Dtype::float64)));
  CHECK(model.bn.gamma.dtype() == Dtype::float64);
  CHECK(model.bn.avg_var.dtype() == Dtype::float64);
}

TEST_CASE("the links that stay in float32") {
  CHECK(L::BatchNormalization(2).keeps_float32());
  CHECK(L::DecorrelatedBatchNormalization(16).keeps_float32());
  CHECK(L::GroupNormalization(1, 2).keeps_float32());
  CHECK(L::LayerNormalization(2).keeps_float32());
  CHECK(!L::Linear(2, 2).keeps_float32());
}

TEST_CASE("links in lists and behind AnyLink are reached") {
  ChainList<> list;
  list.append(AnyLink(L::Linear(2, 2)));
  list.append(AnyLink(L::BatchNormalization(2)));
  list.to(Dtype::bfloat16);
  CHECK(list.param("/0/W").dtype() == Dtype::bfloat16);
  CHECK(list.param("/1/gamma").dtype() == Dtype::float32);
}

TEST_CASE("only floating dtypes") {
  TwoLayers model(2);
  CHECK_THROWS_WITH_AS(model.to(Dtype::int32), "Link::to: dtype is int32 but must be floating", TypeError);
  CHECK_THROWS_WITH_AS(model.l1.W.to(Dtype::bool_), "Parameter::to: dtype is bool but must be floating", TypeError);
  CHECK(model.l1.W.dtype() == Dtype::float32);
}

TEST_CASE("optimizers go on with a model that changes its dtype") {
  TwoLayers model(2);
  optimizers::Adam optimizer;
  optimizer.setup(model);
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::float64}) {
    CAPTURE(name(dtype));
    model.to(dtype);
    optimizer.update([&] { return functions::sum(model(Variable(ones({1, 2}, dtype)))); });
    CHECK(model.l1.W.dtype() == dtype);
    CHECK(model.l1.W.update_rule().state("m").dtype() == dtype);
  }
  CHECK(optimizer.t() == 3);
}

TEST_CASE("snapshots fit models of other dtypes") {
  const ScratchDirectory scratch;
  Normalized model;
  serializers::save_npz(scratch / "model.npz", model);
  Normalized half;
  half.to(Dtype::float16);
  serializers::load_npz(scratch / "model.npz", half);
  CHECK(half.conv.W.dtype() == Dtype::float16);
  CHECK(half.bn.avg_mean.dtype() == Dtype::float32);
  CHECK(half.conv.W.to_vector<double>() == model.conv.W.array().astype(Dtype::float16).to_vector<double>());
}

}  // namespace
}  // namespace kusari::testing
