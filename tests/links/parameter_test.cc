#include "kusari/framework/links/parameter.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/initializers/constant.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/links/models.h"
#include "kusari/tests/scratch_directory.h"

namespace kusari::testing {
namespace {

TEST_CASE("a parameter starts with the initializer's numbers and a NaN gradient") {
  Parameter p(Shape{2, 3}, 0.5);
  CHECK(p.requires_grad());
  CHECK(p.dtype() == Dtype::float32);
  CHECK(p.to_vector<double>() == std::vector<double>(6, 0.5));
  CHECK(p.grad().shape() == Shape{2, 3});
  for (const double g : p.grad().to_vector<double>()) CHECK(std::isnan(g));
  p.cleargrad();
  CHECK(!p.grad().is_defined());
  Parameter from_array(array<float>({1, 2}));
  CHECK(!from_array.grad().is_defined());
}

TEST_CASE("clearing a gradient forgets its loss scale") {
  Parameter p(Shape{}, 3);
  p.cleargrad();
  (p * 2.0).backward({.loss_scale = 8});
  CHECK(p.loss_scale() == 8);
  CHECK(p.grad().item<double>() == 16);
  p.cleargrad();
  CHECK(p.loss_scale() == 1);
}

TEST_CASE("dtypes: the initializer's, the given one, config's") {
  const auto guard = using_config(&Config::dtype, DtypePolicy(Dtype::float16));
  CHECK(Parameter(Shape{1}, 0).dtype() == Dtype::float16);
  CHECK(Parameter(Shape{1}, 0, Dtype::float64).dtype() == Dtype::float64);
  CHECK(Parameter(Shape{1}, initializers::One(Dtype::float32), Dtype::float64).dtype() == Dtype::float32);
}

TEST_CASE("a size given at the first use") {
  Parameter p(Shape{3, kInfer}, 1);
  CHECK(!p.is_initialized());
  CHECK(p.declared_shape() == Shape{3, -1});
  CHECK_THROWS_AS(p.grad(), StateError);
  CHECK(&p.infer(1, 4) == &p);
  CHECK(p.shape() == Shape{3, 4});
  CHECK(std::isnan(p.grad().to_vector<double>()[0]));
  p.infer(1, 7);  // the first use decides
  CHECK(p.shape() == Shape{3, 4});

  Parameter cleared(Shape{kInfer}, 1);
  cleared.cleargrad();
  CHECK(!cleared.grad().is_defined());
  cleared.infer(0, 2);
  CHECK(!cleared.grad().is_defined());

  Parameter q(Shape{3, kInfer}, 1);
  CHECK_THROWS_WITH_AS(
      q.initialize({4, 2}),
      "Parameter::initialize: the parameter was declared with shape (3, -1), which (4, 2) does not fit", ValueError);
  CHECK_THROWS_AS(q.infer(2, 2), IndexError);
  q.initialize({3, 2});
  CHECK(q.shape() == Shape{3, 2});
}

TEST_CASE("copies are other parameters") {
  Parameter p(Shape{2}, 3);
  Parameter q(p);
  q.array().fill(1);
  CHECK(p.to_vector<double>() == std::vector<double>{3, 3});
  const Variable handle = p;
  CHECK(is_same(handle, p));
  p = q;
  CHECK(is_same(handle, p));
  CHECK(handle.to_vector<double>() == std::vector<double>{1, 1});
  Parameter moved(std::move(p));
  CHECK(is_same(handle, moved));
  CHECK(!p.is_defined());
  CHECK_THROWS_WITH_AS(moved.update_rule(),
                       "Parameter::update_rule: the parameter has none; call optimizer.setup(model) first", StateError);
}

TEST_CASE("snapshots go round, with Chainer's keys") {
  const ScratchDirectory scratch;
  const std::string path = scratch / "model.npz";
  Everything model;
  model.mean.fill(2);
  model.count = 12;
  model.rate = 0.75;
  serializers::save_npz(path, model);
  const serializers::NpzReader npz(path);
  std::vector<std::string> keys = npz.keys();
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<std::string>{"N", "a", "body/l1/W", "body/l1/b", "body/l2/W", "mean", "rate", "w"});

  Everything other;
  other.w.array().fill(0);
  serializers::load_npz(path, other);
  CHECK(other.w.to_vector<float>() == model.w.to_vector<float>());
  CHECK(other.body.l1.W.to_vector<float>() == model.body.l1.W.to_vector<float>());
  CHECK(other.mean.to_vector<double>() == std::vector<double>{2, 2});
  CHECK(other.count == 12);
  CHECK(other.rate == 0.75);
}

TEST_CASE("uninitialised parameters are None in snapshots and initialised from stored ones") {
  const ScratchDirectory scratch;
  const std::string path = scratch / "model.npz";
  TwoLayers deferred;
  serializers::save_npz(path, deferred);
  CHECK(!serializers::NpzReader(path).array("l1/W").is_defined());
  TwoLayers again;
  serializers::load_npz(path, again);
  CHECK(!again.l1.W.is_initialized());
  TwoLayers ready(4);
  const std::vector<float> before = ready.l1.W.to_vector<float>();
  serializers::load_npz(path, ready);
  CHECK(ready.l1.W.to_vector<float>() == before);

  serializers::save_npz(path, ready);
  serializers::load_npz(path, again);
  CHECK(again.l1.W.shape() == Shape{3, 4});
  CHECK(again.l1.W.to_vector<float>() == before);
}

}  // namespace
}  // namespace kusari::testing
