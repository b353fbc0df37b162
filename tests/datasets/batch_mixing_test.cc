#include "kusari/framework/datasets/batch_mixing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/datasets/example_random.h"
#include "kusari/framework/datasets/image_converter.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/functions/evaluation/accuracy.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/model/classifier.h"
#include "kusari/iterators/serial_iterator.h"
#include "kusari/optimizers/sgd.h"
#include "kusari/tests/datasets/transforms/images.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::batch_mixing_test {
namespace {

using datasets::cutmix;
using datasets::Example;
using datasets::MixedBatch;
using datasets::mixing_converter;
using datasets::mixup;

/// Labels 0 .. n - 1, so that targets tell who was mixed with whom.
Array own_labels(int64_t n) { return arange(n, Dtype::int32); }

/// Example i of another pattern than the others, its memory (N, H, W, C) or (N, C, H, W).
Array patterns(const Shape& shape, Dtype dtype, bool channels_last) {
  const Array x = channels_last ? empty_channels_last(shape, dtype) : empty(shape, dtype);
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 251);
  x.copy_from(array(values, shape).astype(dtype));
  return x;
}

/// What a row of targets says: the share of the example itself, and the other one; itself where there is none.
struct Partner {
  double share = 1;
  int64_t other;
};
Partner partner_of(const Array& targets, int64_t i) {
  const std::vector<double> row = targets.at(i).to_vector<double>();
  Partner partner{.other = i};
  double sum = 0;
  for (size_t k = 0; k < row.size(); ++k) {
    CHECK(row[k] >= 0);
    sum += row[k];
    if (static_cast<int64_t>(k) != i && row[k] > 0) {
      CHECK(partner.other == i);
      partner = {.share = row[static_cast<size_t>(i)], .other = static_cast<int64_t>(k)};
    }
  }
  CHECK(sum == doctest::Approx(1).epsilon(1e-3));
  return partner;
}

void check_is_permutation(const std::vector<int64_t>& partners) {
  CHECK(std::set<int64_t>(partners.begin(), partners.end()).size() == partners.size());
}

}  // namespace

TEST_CASE("mixup: images and targets are sums with the same shares") {
  random::seed(5);
  for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::float16, Dtype::bfloat16}) {
    for (const Shape& shape : {Shape{6, 3, 4, 5}, Shape{6, 7}, Shape{6}, Shape{1, 2}, Shape{0, 3}}) {
      for (const bool channels_last : {false, true}) {
        CAPTURE(dtype);
        CAPTURE(shape);
        const int64_t n = shape[0];
        const Array x = patterns(shape, dtype, channels_last);
        const std::vector<double> before = x.to_vector<double>();
        const MixedBatch y = mixup(x, own_labels(n), {.n_classes = 7, .alpha = 2});
        CHECK(x.to_vector<double>() == before);
        REQUIRE(y.x.shape() == shape);
        CHECK(y.x.dtype() == dtype);
        CHECK(y.x.strides() == x.strides());
        REQUIRE(y.t.shape() == Shape{n, 7});
        CHECK(y.t.dtype() == dtype);
        std::vector<int64_t> partners;
        const double rounding = dtype == Dtype::float64 ? 1e-12 : dtype == Dtype::float32 ? 1e-5 : 251 * 0x1p-7;
        for (int64_t i = 0; i < n; ++i) {
          const Partner partner = partner_of(y.t, i);
          partners.push_back(partner.other);
          const auto own = x.at(i).to_vector<double>(), other = x.at(partner.other).to_vector<double>();
          const auto got = y.x.at(i).to_vector<double>();
          for (size_t k = 0; k < own.size(); ++k) {
            const double expected = partner.share * own[k] + (1 - partner.share) * other[k];
            CHECK(std::abs(got[k] - expected) <= 251 * 1e-6 + rounding);
          }
        }
        check_is_permutation(partners);
      }
    }
  }
}

TEST_CASE("mixup: shares are Beta distributed, one for a batch") {
  random::seed(8);
  constexpr int kBatches = 2000;
  for (const double alpha : {0.2, 1.0, 4.0}) {
    CAPTURE(alpha);
    double sum = 0, squares = 0;
    int batches = 0;
    const Array x = ones({6, 1});
    for (int batch = 0; batch < kBatches; ++batch) {
      const MixedBatch y = mixup(x, own_labels(6), {.n_classes = 6, .alpha = alpha});
      std::set<double> shares;
      for (int64_t i = 0; i < 6; ++i) {
        const Partner partner = partner_of(y.t, i);
        if (partner.other != i) shares.insert(partner.share);
      }
      if (shares.empty()) continue;
      REQUIRE(shares.size() == 1);
      ++batches;
      sum += *shares.begin();
      squares += (*shares.begin() - 0.5) * (*shares.begin() - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));  // of Beta(alpha, alpha)
    CHECK(std::abs(sum / batches - 0.5) < 5 * std::sqrt(variance / batches));
    CHECK(std::abs(squares / batches - variance) < 5 * 0.25 * std::sqrt(1.0 / batches));
  }
  const MixedBatch extreme = mixup(ones({6, 1}), own_labels(6), {.n_classes = 6, .alpha = 1e-6});
  for (const float share : extreme.t.to_vector<float>()) CHECK((share == 0 || share == 1));
}

TEST_CASE("cutmix: a rectangle of another image, and targets by areas") {
  random::seed(11);
  double sum = 0;
  int cuts = 0;
  for (int repeat = 0; repeat < 300; ++repeat) {
    const Dtype dtype = repeat % 3 == 0 ? Dtype::uint8 : repeat % 3 == 1 ? Dtype::float32 : Dtype::float64;
    const bool channels_last = repeat % 2 == 0;
    constexpr int64_t kImages = 5, kHeight = 6, kWidth = 9;
    Array x = patterns({kImages, 3, kHeight, kWidth}, dtype, channels_last);
    if (repeat % 5 == 0) x = patterns({kImages, 3, kHeight, kWidth + 2}, dtype, channels_last).slice(3, 1, kWidth);
    const std::vector<double> before = x.to_vector<double>();
    const MixedBatch y = cutmix(x, own_labels(kImages), {.n_classes = kImages});
    CHECK(x.to_vector<double>() == before);
    CHECK(y.x.dtype() == dtype);
    CHECK(y.t.dtype() == (dtype == Dtype::uint8 ? Dtype::float32 : dtype));
    if (repeat % 5 != 0) CHECK(y.x.strides() == x.strides());
    REQUIRE(y.t.shape() == Shape{kImages, kImages});
    std::vector<int64_t> partners;
    std::set<std::vector<int64_t>> rectangles;  // first and last row and column
    for (int64_t i = 0; i < kImages; ++i) {
      const Partner partner = partner_of(y.t, i);
      partners.push_back(partner.other);
      if (partner.other == i) {
        CHECK(y.x.at(i).to_vector<double>() == x.at(i).to_vector<double>());
        continue;
      }
      int64_t top = kHeight, bottom = -1, left = kWidth, right = -1, area = 0;
      for (int64_t h = 0; h < kHeight; ++h) {
        for (int64_t w = 0; w < kWidth; ++w) {
          const auto pixel = [&](const Array& from, int64_t n) {
            return from.at(n).slice(1, h, 1).slice(2, w, 1).to_vector<double>();
          };
          if (pixel(y.x, i) == pixel(x, i)) continue;
          CHECK(pixel(y.x, i) == pixel(x, partner.other));
          top = std::min(top, h), bottom = std::max(bottom, h);
          left = std::min(left, w), right = std::max(right, w);
          ++area;
        }
      }
      CHECK(area == (bottom - top + 1) * (right - left + 1));
      CHECK(partner.share == doctest::Approx(1 - static_cast<double>(area) / (kHeight * kWidth)).epsilon(1e-6));
      rectangles.insert({top, bottom, left, right});
      sum += partner.share;
      ++cuts;
    }
    CHECK(rectangles.size() <= 1);
    check_is_permutation(partners);
  }
  CHECK(cuts > 500);
  // Uniform shares on average leave one half; what lies outside of an image, and rounding, leave more.
  CHECK(sum / cuts > 0.5);
  CHECK(sum / cuts < 0.85);
}

TEST_CASE("the loss of mixed targets is the mixed loss of the labels") {
  random::seed(3);
  const Array x = patterns({4, 3, 2, 2}, Dtype::float64, false);
  const MixedBatch y = mixup(x, own_labels(4), {.n_classes = 4});
  const Variable scores(array<double>({1, 2, -1, 0, 3, 1, 1, 2, 0, 0, 5, 1, -2, 1, 2, 4}, {4, 4}));
  const std::vector<double> all =
      functions::softmax_cross_entropy(scores, Variable(y.t), {.reduce = functions::Reduce::no})
          .array()
          .to_vector<double>();
  for (int64_t i = 0; i < 4; ++i) {
    const auto loss = [&](int64_t label) {
      const std::vector<double> row = scores.array().at(i).to_vector<double>();
      double sum = 0;
      for (const double score : row) sum += std::exp(score);
      return std::log(sum) - row[static_cast<size_t>(label)];
    };
    const Partner partner = partner_of(y.t, i);
    CHECK(all[static_cast<size_t>(i)] ==
          doctest::Approx(partner.share * loss(i) + (1 - partner.share) * loss(partner.other)));
  }
}

TEST_CASE("a seed repeats a mixture") {
  const Array x = patterns({6, 3, 8, 8}, Dtype::float32, true);
  for (const auto mix : {mixup, cutmix}) {
    const auto drawn = [&](uint64_t seed) {
      random::seed(seed);
      const MixedBatch y = mix(x, own_labels(6), {.n_classes = 6});
      std::vector<float> all = y.x.to_vector<float>(), t = y.t.to_vector<float>();
      all.insert(all.end(), t.begin(), t.end());
      return all;
    };
    CHECK(drawn(1) == drawn(1));
    CHECK(drawn(1) != drawn(2));
  }
}

TEST_CASE("mixing_converter mixes what another converter makes") {
  std::vector<Example> batch;
  for (int64_t i = 0; i < 8; ++i) {
    const Array image = testing::pixels(3, 4, 6, Dtype::uint8).copy();
    image.slice(0, 0, 1).fill(static_cast<int>(i));
    batch.push_back({image, array(static_cast<double>(i)), array(static_cast<int32_t>(i))});
  }
  const datasets::Converter plain = datasets::image_converter({.mean = {20}, .deviation = {4}});
  const Example unmixed = plain(batch, Device());
  int cut = 0, mixed = 0, left = 0;
  const auto converter =
      mixing_converter({.n_classes = 8, .mixup_alpha = 1, .cutmix_alpha = 1, .probability = 0.75, .converter = plain});
  const auto batch_of = [&](uint64_t seed) {
    const datasets::ExampleRandomScope scope(seed, 3);
    return converter(batch, Device());
  };
  for (uint64_t seed = 0; seed < 200; ++seed) {
    random::seed(seed % 2);  // does not matter
    const Example result = batch_of(seed);
    REQUIRE(result.size() == 3);
    CHECK(result[1].to_vector<double>() == unmixed[1].to_vector<double>());
    REQUIRE(result[2].shape() == Shape{8, 8});
    CHECK(result[0].strides() == unmixed[0].strides());
    const std::vector<float> before = unmixed[0].to_vector<float>(), after = result[0].to_vector<float>();
    const std::set<float> given(before.begin(), before.end());
    if (after == before) {
      ++left;
      continue;
    }
    const bool is_cut = std::all_of(after.begin(), after.end(), [&](float value) { return given.count(value) > 0; });
    ++(is_cut ? cut : mixed);
    if (seed < 10) {
      random::seed(99);
      CHECK(batch_of(seed)[0].to_vector<float>() == after);
    }
  }
  // 200 batches, shares 3/8, 3/8, 1/4, within 5 deviations; rectangles may be empty.
  CHECK(std::abs(mixed - 75) < 35);
  CHECK(cut > 30);
  CHECK(left > 20);
  CHECK(mixed + cut + left == 200);

  const Example never = mixing_converter({.n_classes = 8, .mixup_alpha = 1, .probability = 0})(batch, Device());
  CHECK(never[0].dtype() == Dtype::uint8);
  std::vector<float> identity(64);
  for (size_t i = 0; i < 8; ++i) identity[9 * i] = 1;
  CHECK(never[2].to_vector<float>() == identity);
}

TEST_CASE("an updater trains with mixed batches, sent ahead or not, recorded or not") {
  const auto trained = [](int64_t prefetch, bool static_graph) {
    random::seed(21);
    const datasets::TupleDataset data(patterns({12, 1, 2, 3}, Dtype::float32, false),
                                      array<int32_t>({0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
    auto model = L::classifier(L::Linear(6, 4), {.accfun = [](const Variable& y, const Variable& t) {
                                 return functions::accuracy(y, t.ndim() == 2 ? functions::argmax(t, 1) : t);
                               }});
    optimizers::SGD optimizer(1e-4);
    optimizer.setup(model);
    iterators::SerialIterator iterator(data, 5);
    updaters::StandardUpdater updater(
        iterator, optimizer,
        {.converter = mixing_converter({.n_classes = 4, .mixup_alpha = 1, .cutmix_alpha = 1}),
         .prefetch = prefetch,
         .static_graph = static_graph});
    for (int i = 0; i < 7; ++i) updater.update();
    const float accuracy = model.accuracy.array().item<float>();
    CHECK(accuracy >= 0);
    CHECK(accuracy <= 1);
    return model.predictor.W.array().to_vector<float>();
  };
  const std::vector<float> plain = trained(0, false);
  CHECK(trained(2, false) == plain);
  const std::vector<float> recorded = trained(1, true);
  for (size_t i = 0; i < plain.size(); ++i) CHECK(recorded[i] == doctest::Approx(plain[i]).epsilon(1e-5));
}

TEST_CASE("batches that cannot be mixed") {
  const Array x = ones({2, 3, 4, 4}), t = arange(2, Dtype::int32);
  CHECK_THROWS_WITH_AS(mixup(x, t, {.n_classes = 0}), "mixup: n_classes is 0: it must be positive", ValueError);
  CHECK_THROWS_WITH_AS(mixup(x, t, {.n_classes = 2, .alpha = 0}), "mixup: alpha is 0: it must be positive and finite",
                       ValueError);
  CHECK_THROWS_AS(cutmix(x, t, {.n_classes = 2, .alpha = std::numeric_limits<double>::quiet_NaN()}), ValueError);
  CHECK_THROWS_WITH_AS(mixup(x, t, {.n_classes = 1}), "mixup: label 1 must be in [0, 1)", ValueError);
  CHECK_THROWS_WITH_AS(cutmix(x, array<int32_t>({0, -1}), {.n_classes = 2}), "cutmix: label -1 must be in [0, 2)",
                       ValueError);
  CHECK_THROWS_WITH_AS(mixup(x, arange(3, Dtype::int32), {.n_classes = 4}),
                       "mixup: x has shape (2, 3, 4, 4) but t has shape (3,) and dtype int32: t must be integers, one "
                       "for each example of x",
                       TypeError);
  CHECK_THROWS_AS(mixup(x, ones({2}), {.n_classes = 4}), TypeError);
  CHECK_THROWS_WITH_AS(mixup(x.astype(Dtype::uint8), t, {.n_classes = 2}),
                       "mixup: x has dtype uint8: it must be floating", TypeError);
  CHECK_THROWS_WITH_AS(cutmix(ones({2, 4}), t, {.n_classes = 2}), "cutmix: x has shape (2, 4): it must be (N, C, H, W)",
                       TypeError);
  CHECK_THROWS_WITH_AS(cutmix(Array(), t, {.n_classes = 2}), "cutmix: x is an undefined array", TypeError);

  CHECK_THROWS_WITH_AS(mixing_converter({.n_classes = 2}),
                       "mixing_converter: mixup_alpha and cutmix_alpha are 0: at least one must be positive",
                       ValueError);
  CHECK_THROWS_AS(mixing_converter({.mixup_alpha = 1}), ValueError);
  CHECK_THROWS_AS(mixing_converter({.n_classes = 2, .mixup_alpha = -1}), ValueError);
  CHECK_THROWS_AS(mixing_converter({.n_classes = 2, .mixup_alpha = 1, .probability = 1.5}), ValueError);
  const datasets::Converter converter = mixing_converter({.n_classes = 2, .mixup_alpha = 1});
  CHECK_THROWS_WITH_AS(converter(std::vector<Example>{{ones({3})}}, Device()),
                       "mixing_converter: there are 1 components: the first must be an image, the last a label",
                       ValueError);
  CHECK_THROWS_WITH_AS(converter(std::vector<Example>{{ones({3}), array<int32_t>(2)}}, Device()),
                       "mixing_converter: label 2 must be in [0, 2)", ValueError);
}

}  // namespace kusari::batch_mixing_test
