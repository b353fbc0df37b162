#include "kusari/framework/links/normalization/batch_normalization.h"

#include <cmath>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/normalization/batch_renormalization.h"
#include "kusari/framework/links/normalization/decorrelated_batch_normalization.h"
#include "kusari/framework/links/sequential.h"
#include "kusari/framework/serializers/npz.h"
#include "kusari/tests/functions/testing.h"
#include "kusari/tests/scratch_directory.h"

using namespace kusari;
using kusari::testing::check_close;
using kusari::testing::ScratchDirectory;
using kusari::testing::uniform;

namespace {

using Values = std::vector<double>;

Array batch(uint64_t seed, const Shape& shape = {4, 3, 2, 2}) {
  return uniform(shape, -2, 3, seed).astype(Dtype::float32);
}

std::vector<std::string> paths(Link& link) {
  std::vector<std::string> found;
  for (const auto& [path, parameter] : link.namedparams()) found.push_back(path);
  return found;
}

}  // namespace

TEST_CASE("BatchNormalization: statistics of the batch while training, averages otherwise") {
  L::BatchNormalization bn(3, {.decay = 0.5, .eps = 1e-3});
  CHECK(paths(bn) == std::vector<std::string>{"/beta", "/gamma"});
  CHECK(bn.avg_mean.to_vector<double>() == Values{0, 0, 0});
  CHECK(bn.avg_var.to_vector<double>() == Values{1, 1, 1});
  bn.gamma.array().fill(2);
  bn.beta.array().fill(-1);
  const Array x = batch(1), mean = zeros({3}), var = ones({3});
  const Variable expected = F::batch_normalization(
      x, bn.gamma, bn.beta, {.eps = 1e-3, .running_mean = mean, .running_var = var, .decay = 0.5});
  check_close(bn(x), x.shape(), expected.to_vector<double>());
  check_close(bn.avg_mean, {3}, mean.to_vector<double>());
  check_close(bn.avg_var, {3}, var.to_vector<double>());

  const auto guard = using_config(&Config::train, false);
  const Variable fixed = F::fixed_batch_normalization(x, bn.gamma, bn.beta, mean, var, {.eps = 1e-3});
  check_close(bn(x), x.shape(), fixed.to_vector<double>());
  check_close(bn.avg_mean, {3}, mean.to_vector<double>());
}

TEST_CASE("BatchNormalization: relu and add_relu") {
  const Array x = batch(1), residual = batch(2);
  for (const bool train : {true, false}) {
    const auto guard = using_config(&Config::train, train);
    L::BatchNormalization bn(3), other = bn;
    check_close(bn.relu(x), x.shape(), F::relu(other(x)).to_vector<double>());
    check_close(bn.add_relu(x, residual), x.shape(), F::relu(other(x) + residual).to_vector<double>());
    check_close(bn.avg_mean, {3}, other.avg_mean.to_vector<double>());
  }
}

TEST_CASE("BatchNormalization: finetuning averages all batches") {
  L::BatchNormalization bn(3);
  const Array first = batch(1), second = batch(2);
  bn(first);  // forgotten by the first call below
  bn(first, {.finetune = true});
  bn(second, {.finetune = true});
  CHECK(bn.N == 2);
  Array mean = zeros({3}), other = zeros({3}), var = zeros({3}), other_var = zeros({3});
  F::batch_normalization(first, ones({3}), zeros({3}), {.running_mean = mean, .running_var = var, .decay = 0});
  F::batch_normalization(second, ones({3}), zeros({3}), {.running_mean = other, .running_var = other_var, .decay = 0});
  check_close(bn.avg_mean, {3}, (Variable(mean) * 0.5 + Variable(other) * 0.5).to_vector<double>());
  check_close(bn.avg_var, {3}, (Variable(var) * 0.5 + Variable(other_var) * 0.5).to_vector<double>());
  {
    const auto guard = using_config(&Config::in_recomputing, true);
    const Values before = bn.avg_mean.to_vector<double>();
    bn(first, {.finetune = true});
    CHECK(bn.N == 2);
    CHECK(bn.avg_mean.to_vector<double>() == before);
  }
  bn.start_finetuning();
  CHECK(bn.N == 0);
  bn(first, {.finetune = true});
  check_close(bn.avg_mean, {3}, mean.to_vector<double>());
}

TEST_CASE("BatchNormalization: sizes") {
  SUBCASE("from the first batch") {
    L::BatchNormalization bn(kInfer, {.initial_gamma = 3, .initial_avg_var = 4});
    CHECK(!bn.gamma.is_initialized());
    CHECK(!bn.avg_mean.is_defined());
    const auto guard = using_config(&Config::train, false);
    const Array x = batch(1);
    const Variable y = bn(x);
    CHECK(bn.gamma.to_vector<double>() == Values{3, 3, 3});
    CHECK(bn.avg_var.to_vector<double>() == Values{4, 4, 4});
    check_close(y, x.shape(), (Variable(x) * (3 / std::sqrt(4 + 2e-5))).to_vector<double>(), 2);
  }
  SUBCASE("of several axes") {
    L::BatchNormalization bn(Shape{3, 2, 2});
    bn(batch(1));
    CHECK(bn.avg_mean.shape() == Shape{3, 2, 2});
    CHECK_THROWS_AS(bn(batch(1, {4, 3, 2, 3})), TypeError);
  }
  SUBCASE("by axes") {
    L::BatchNormalization bn(kInfer, {.axis = {0, 1, -2}});
    bn(batch(1, {4, 3, 2, 5}));
    CHECK(bn.avg_mean.shape() == Shape{5});
    L::BatchNormalization two(Shape{kInfer, kInfer}, {.axis = {0, 2}});
    two(batch(1, {4, 3, 2, 5}));
    CHECK(two.avg_mean.shape() == Shape{3, 5});
  }
  SUBCASE("that do not fit") {
    L::BatchNormalization bn(4);
    CHECK_THROWS_WITH_AS(
        bn(batch(1)),
        "F::batch_normalization: gamma has shape (4,) but x has shape (4, 3, 2, 2): gamma.shape[0] must "
        "equal x.shape[1] (4 != 3)",
        TypeError);
  }
}

TEST_CASE("BatchNormalization without gamma or beta") {
  L::BatchNormalization bn(3, {.use_gamma = false, .use_beta = false}), full(3);
  CHECK(paths(bn).empty());
  const Array x = batch(1);
  check_close(bn(x), x.shape(), full(x).to_vector<double>());
  CHECK(paths(*std::make_unique<L::BatchNormalization>(3, L::BatchNormalizationOptions{.use_beta = false})) ==
        std::vector<std::string>{"/gamma"});
}

TEST_CASE("BatchNormalization: dtypes") {
  {
    const auto policy = using_config(&Config::dtype, mixed16);
    L::BatchNormalization bn(3);
    CHECK(bn.gamma.dtype() == Dtype::float32);
    CHECK(bn.avg_var.dtype() == Dtype::float32);
    CHECK(bn(batch(1).astype(Dtype::float16)).dtype() == Dtype::float16);
  }
  const auto policy = using_config(&Config::dtype, DtypePolicy(Dtype::float16));
  CHECK(L::BatchNormalization(3).beta.dtype() == Dtype::float16);
  CHECK(L::BatchNormalization(3, {.dtype = Dtype::float64}).avg_mean.dtype() == Dtype::float64);
}

TEST_CASE("BatchNormalization is a value, and goes through a file") {
  L::BatchNormalization bn(3);
  bn(batch(1), {.finetune = true});
  L::BatchNormalization copied = bn;
  copied(batch(2));
  CHECK(copied.avg_mean.to_vector<double>() != bn.avg_mean.to_vector<double>());
  L::BatchNormalization moved = std::move(copied);
  CHECK(moved.N == 1);
  moved = bn;
  CHECK(moved.avg_mean.to_vector<double>() == bn.avg_mean.to_vector<double>());

  const ScratchDirectory scratch;
  const std::string file = scratch / "bn.npz";
  serializers::save_npz(file, bn);
  L::BatchNormalization sized(3), inferred(kInfer);
  serializers::load_npz(file, sized);
  serializers::load_npz(file, inferred);
  for (L::BatchNormalization* loaded : {&sized, &inferred}) {
    CHECK(loaded->N == 1);
    CHECK(loaded->avg_mean.to_vector<double>() == bn.avg_mean.to_vector<double>());
    CHECK(loaded->gamma.to_vector<double>() == bn.gamma.to_vector<double>());
  }
  // A link that takes its size from a file keeps its dtype.
  L::BatchNormalization wide = bn;
  wide.avg_var = bn.avg_var.astype(Dtype::float64);
  serializers::save_npz(file, wide);
  L::BatchNormalization narrow(kInfer);
  serializers::load_npz(file, narrow);
  CHECK(narrow.avg_var.dtype() == Dtype::float32);
  CHECK(narrow.avg_var.to_vector<double>() == bn.avg_var.to_vector<double>());
  CHECK(to_string(bn) ==
        "BatchNormalization(size=3, decay=0.9, eps=2e-05, dtype=float32, use_gamma=True, use_beta=True)");
}

TEST_CASE("BatchNormalization in a Sequential") {
  Sequential model(L::BatchNormalization(3), F::relu, L::BatchNormalization(kInfer, {.use_beta = false}));
  CHECK(model(batch(1)).shape() == Shape{4, 3, 2, 2});
  CHECK(paths(model) == std::vector<std::string>{"/0/beta", "/0/gamma", "/1/gamma"});
}

TEST_CASE("BatchRenormalization corrects towards the averages") {
  L::BatchRenormalization brn(3, {.rmax = 50, .dmax = 50, .decay = 0.5, .eps = 1e-3});
  CHECK(paths(brn) == std::vector<std::string>{"/beta", "/gamma"});
  const Array x = batch(1);
  // Far from every limit the result is that of the averages before the call.
  check_close(
      brn(x), x.shape(),
      F::fixed_batch_normalization(x, ones({3}), zeros({3}), zeros({3}), ones({3}), {.eps = 1e-3}).to_vector<double>(),
      4);
  L::BatchNormalization bn(3, {.decay = 0.5, .eps = 1e-3});
  bn(x);
  check_close(brn.avg_mean, {3}, bn.avg_mean.to_vector<double>());
  check_close(brn.avg_var, {3}, bn.avg_var.to_vector<double>());
  {
    const Values first = brn(batch(2)).to_vector<double>();
    const Values mean = brn.avg_mean.to_vector<double>();
    const auto guard = using_config(&Config::in_recomputing, true);
    CHECK(brn(batch(2)).to_vector<double>() == first);  // although the averages have moved on
    CHECK(brn.avg_mean.to_vector<double>() == mean);
  }
  const auto guard = using_config(&Config::train, false);
  check_close(brn(x), x.shape(),
              F::fixed_batch_normalization(x, brn.gamma, brn.beta, static_cast<const Array&>(brn.avg_mean),
                                           static_cast<const Array&>(brn.avg_var), {.eps = 1e-3})
                  .to_vector<double>());
}

TEST_CASE("DecorrelatedBatchNormalization") {
  L::DecorrelatedBatchNormalization link(4, {.groups = 2, .decay = 0, .eps = 1e-2});
  CHECK(link.avg_mean.shape() == Shape{2, 2});
  CHECK(link.avg_projection.to_vector<double>() == Values{1, 0, 0, 1, 1, 0, 0, 1});
  const Array x = batch(1, {50, 4, 3, 3});
  const Variable y = link(x);
  {
    const auto guard = using_config(&Config::train, false);
    const Values batch_result = y.to_vector<double>(), fixed = link(x).to_vector<double>();
    for (size_t i = 0; i < fixed.size(); ++i) CHECK(std::abs(fixed[i] / (450.0 / 449) - batch_result[i]) < 1e-4);
  }
  link(x, {.finetune = true});
  CHECK(link.N == 1);
  const ScratchDirectory scratch;
  serializers::save_npz(scratch / "dbn.npz", link);
  L::DecorrelatedBatchNormalization loaded(4, {.groups = 2});
  serializers::load_npz(scratch / "dbn.npz", loaded);
  CHECK(loaded.avg_projection.to_vector<double>() == link.avg_projection.to_vector<double>());
  CHECK(loaded.N == 1);
  loaded.start_finetuning();
  CHECK(loaded.N == 0);
  CHECK_THROWS_WITH_AS(L::DecorrelatedBatchNormalization(6, {.groups = 4}),
                       "L::DecorrelatedBatchNormalization: groups is 4 but size is 6: groups must divide size",
                       ValueError);
}

TEST_CASE("DecorrelatedBatchNormalization reads averages that all groups shared") {
  /// What Chainer 6 wrote for one group's worth of channels.
  class Old : public Link {
   public:
    Old()
        : avg_mean{*this, "avg_mean", ones({2})},
          avg_projection{*this, "avg_projection", full({2, 2}, 3, Dtype::float32)},
          N{*this, "N", 5} {}
    Persistent avg_mean, avg_projection;
    PersistentScalar<int64_t> N;
  };
  const ScratchDirectory scratch;
  Old old;
  serializers::save_npz(scratch / "old.npz", old);
  L::DecorrelatedBatchNormalization link(4, {.groups = 2}), other(6, {.groups = 2});
  serializers::load_npz(scratch / "old.npz", link);
  CHECK(link.avg_mean.to_vector<double>() == Values{1, 1, 1, 1});
  CHECK(link.avg_projection.to_vector<double>() == Values{3, 3, 3, 3, 3, 3, 3, 3});
  CHECK(link.N == 5);
  CHECK_THROWS_AS(serializers::load_npz(scratch / "old.npz", other), TypeError);
}

TEST_CASE("a class derived from DecorrelatedBatchNormalization reads its own members") {
  class Scaled : public L::DecorrelatedBatchNormalization {
   public:
    Scaled() : DecorrelatedBatchNormalization(4, {.groups = 2}), scale{*this, "scale", ones({2})} {}
    Persistent scale;
  };
  /// The same with averages that all groups share.
  class Old : public Link {
   public:
    explicit Old(const Shape& scale_shape)
        : avg_mean{*this, "avg_mean", ones({2})},
          avg_projection{*this, "avg_projection", full({2, 2}, 3, Dtype::float32)},
          N{*this, "N", 5},
          scale{*this, "scale", full(scale_shape, 7, Dtype::float32)} {}
    Persistent avg_mean, avg_projection;
    PersistentScalar<int64_t> N;
    Persistent scale;
  };
  const ScratchDirectory scratch;
  Scaled link, loaded;
  link.scale.fill(4);
  link.avg_mean.fill(6);
  serializers::save_npz(scratch / "scaled.npz", link);
  const Array mean = loaded.avg_mean;
  serializers::load_npz(scratch / "scaled.npz", loaded);
  CHECK(loaded.scale.to_vector<double>() == Values{4, 4});
  CHECK(mean.to_vector<double>() == Values{6, 6, 6, 6});

  Old wrong({3}), old({2});
  serializers::save_npz(scratch / "wrong.npz", wrong);
  CHECK_THROWS_AS(serializers::load_npz(scratch / "wrong.npz", loaded), TypeError);
  CHECK(loaded.avg_mean.to_vector<double>() == Values{6, 6, 6, 6});
  serializers::save_npz(scratch / "old.npz", old);
  serializers::load_npz(scratch / "old.npz", loaded);
  CHECK(loaded.scale.to_vector<double>() == Values{7, 7});
  CHECK(loaded.N == 5);
  CHECK(mean.to_vector<double>() == Values{1, 1, 1, 1});  // in the same memory
  CHECK(loaded.avg_projection.to_vector<double>() == Values(8, 3));
}

TEST_CASE("a frozen BatchNormalization uses its averages while training, and does not learn") {
  L::BatchNormalization bn(3, {.eps = 1e-3, .frozen = true});
  CHECK(bn.is_frozen());
  bn.avg_mean.copy_from(array<float>({1, -1, 0.5F}));
  bn.avg_var.copy_from(array<float>({2, 0.5F, 1}));
  bn.gamma.array().fill(2);
  const Array x = batch(1), residual = batch(2);
  const Variable fixed = F::fixed_batch_normalization(x, bn.gamma, bn.beta, bn.avg_mean, bn.avg_var, {.eps = 1e-3});
  bn.cleargrads();
  Variable vx(x);
  Variable y = bn(vx);
  check_close(y, x.shape(), fixed.to_vector<double>());
  check_close(bn.relu(x), x.shape(), F::relu(fixed).to_vector<double>());
  check_close(bn.add_relu(x, residual), x.shape(), F::relu(fixed + residual).to_vector<double>());
  CHECK(bn.avg_mean.to_vector<double>() == Values{1, -1, 0.5});
  y.set_grad(ones(x.shape(), Dtype::float32));
  y.backward();
  CHECK(vx.grad().at(0).at(0).at(0).at(0).item<double>() == doctest::Approx(2 / std::sqrt(2 + 1e-3)));
  CHECK_FALSE(bn.gamma.has_gradient());
  CHECK_FALSE(bn.beta.has_gradient());
  CHECK_FALSE(bn.gamma.update_enabled());

  L::BatchNormalization copied(bn);
  CHECK(copied.is_frozen());
  copied.unfreeze();
  copied(x);
  CHECK(copied.avg_mean.to_vector<double>() != Values{1, -1, 0.5});
  CHECK(copied.gamma.update_enabled());
  auto two = Sequential(L::BatchNormalization(3), L::BatchNormalization(3));
  L::freeze_batch_normalization(two);
  for (const auto& [path, parameter] : two.namedparams()) CHECK_FALSE(parameter->update_enabled());
}
