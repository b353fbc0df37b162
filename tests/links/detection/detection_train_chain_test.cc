#include "kusari/framework/links/detection/detection_train_chain.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/reporter.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/tests/links/detection/drawn_weights.h"

namespace kusari::testing {
namespace {

namespace F = functions;

constexpr int64_t kAnchors = 9 * (4 * 4 + 2 * 2), kClasses = 3;

/// A detector whose outputs are its parameters: 180 anchors in images of 32 x 32.
class GivenOutputs : public L::Detector {
 public:
  explicit GivenOutputs(int64_t images = 2, bool softmax = false)
      : Detector({.n_classes = kClasses,
                  .grid = L::AnchorGrid({.levels = {3, 4}}),
                  .coding = {},
                  .visualize = {},
                  .evaluate = {},
                  .loss = {}},
                 {.size = 32}),
        loc{*this, "loc", drawn_array("loc", {images, kAnchors, 4}, -1, 1)},
        conf{*this, "conf", drawn_array("conf", {images, kAnchors, kClasses + (softmax ? 1 : 0)}, -3, 1)} {}

  Parameter loc, conf;

 protected:
  std::pair<Variable, Variable> forward(const Variable&) const override { return {loc, conf}; }
};

struct Given {
  Array x = zeros({2, 3, 32, 32});
  Array loc = drawn_array("gt", {2, kAnchors, 4}, -1, 1);
  Array label;
  std::vector<int> labels;

  Given() {
    for (const float number : drawn_numbers("labels", 2 * kAnchors, -8, kClasses)) {
      labels.push_back(std::max(static_cast<int>(std::floor(number)), -2));
    }
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = labels[i] == -2 && i % 3 != 0 ? -1 : labels[i];
    label = array(labels, {2, kAnchors});
  }
  double positives(size_t image) const {
    const auto begin = labels.begin() + static_cast<ptrdiff_t>(image * kAnchors);
    return static_cast<double>(std::count_if(begin, begin + kAnchors, [](int t) { return t >= 0; }));
  }
};

/// The sum over an image's positive anchors of each(difference).
template <class Each>
double box_sum(const Given& given, const GivenOutputs& model, size_t image, const Each& each) {
  const std::vector<double> loc = model.loc.array().to_vector<double>(), gt = given.loc.to_vector<double>();
  double sum = 0;
  for (size_t k = image * kAnchors; k < (image + 1) * kAnchors; ++k) {
    for (size_t j = 4 * k; j < 4 * k + 4 && given.labels[k] >= 0; ++j) sum += each(loc[j] - gt[j]);
  }
  return sum;
}

double l1(double d) { return std::abs(d); }
double huber(double d, double delta) { return std::abs(d) <= delta ? d * d / 2 : delta * (std::abs(d) - delta / 2); }

TEST_CASE("DetectionTrainChain's losses of boxes") {
  const Given given;
  using Normalizer = F::DetectionNormalizer;
  const auto loss = [&](const L::DetectionLossOptions& options) {
    L::DetectionTrainChain chain(GivenOutputs(), {.loss = options});
    chain(given.x, given.loc, given.label);
    return chain.loc_loss.item<double>();
  };
  const GivenOutputs model;
  const double n0 = given.positives(0), n1 = given.positives(1);
  const auto smooth = [](double d) { return huber(d, 0.11) / 0.11; };
  const auto huber_of = [](double d) { return huber(d, 0.3); };
  const auto sums = [&](const auto& each) {
    return std::pair(box_sum(given, model, 0, each), box_sum(given, model, 1, each));
  };
  {
    const auto [a, b] = sums(smooth);
    CHECK(loss({}) == doctest::Approx((a + b) / (1 + n0 + n1)).epsilon(1e-5));
    CHECK(loss({.normalizer = Normalizer::images_plus_one}) == doctest::Approx((a + b) / (2 + n0 + n1)).epsilon(1e-5));
  }
  {
    const auto [a, b] = sums(l1);
    CHECK(loss({.loc = L::BoxLoss::l1, .normalizer = Normalizer::image}) ==
          doctest::Approx((a / n0 + b / n1) / 2).epsilon(1e-5));
    CHECK(loss({.loc = L::BoxLoss::l1, .normalizer = Normalizer::none}) == doctest::Approx(a + b).epsilon(1e-5));
  }
  const auto [a, b] = sums(huber_of);
  CHECK(loss({.loc = L::BoxLoss::huber, .delta = 0.3, .normalizer = Normalizer::positives}) ==
        doctest::Approx((a + b) / (n0 + n1)).epsilon(1e-5));
}

TEST_CASE("DetectionTrainChain adds its losses, reports them, and takes counts of positives") {
  const Given given;
  L::DetectionTrainChain chain(GivenOutputs(), {.loss = L::DetectionLossOptions{.loc_weight = 3}});
  Reporter reporter;
  reporter.add_observer("main", chain);
  Observation seen;
  {
    const auto scope = reporter.scope(seen);
    chain(given.x, given.loc, given.label);
  }
  const double loc = chain.loc_loss.item<double>(), conf = chain.conf_loss.item<double>();
  CHECK(chain.loss.item<double>() == doctest::Approx(conf + 3 * loc));
  CHECK(seen.at("main/loss") == doctest::Approx(conf + 3 * loc));
  CHECK(seen.at("main/loss/loc") == doctest::Approx(loc));
  CHECK(seen.at("main/loss/conf") == doctest::Approx(conf));
  const double n = 1 + given.positives(0) + given.positives(1);
  chain(given.x, given.loc, given.label, array<int64_t>({99, 100}));
  CHECK(chain.loc_loss.item<double>() == doctest::Approx(loc * n / 200).epsilon(1e-5));
  CHECK(chain.conf_loss.item<double>() == doctest::Approx(conf * n / 200).epsilon(1e-5));
}

TEST_CASE("DetectionTrainChain's multibox loss takes the hardest of the background") {
  Given given;
  // The first image has few positives, the second none.
  for (size_t k = 0; k < given.labels.size(); ++k) {
    if (given.labels[k] >= 0 && (k % 7 != 0 || k >= kAnchors)) given.labels[k] = -1;
  }
  given.label = array(given.labels, {2, kAnchors});
  GivenOutputs model(2, true);
  const std::vector<double> conf = model.conf.array().to_vector<double>();
  std::vector<double> negatives;
  double sum = 0, positives = 0;
  for (size_t k = 0; k < kAnchors; ++k) {
    double total = 0;
    for (size_t c = 0; c < 4; ++c) total += std::exp(conf[4 * k + c]);
    if (given.labels[k] == -2) continue;
    const double each = std::log(total) - conf[4 * k + static_cast<size_t>(given.labels[k] + 1)];
    if (given.labels[k] >= 0) {
      sum += each;
      ++positives;
    } else {
      negatives.push_back(each);
    }
  }
  std::sort(negatives.rbegin(), negatives.rend());
  REQUIRE(positives > 2);
  for (const double ratio : {3.0, 1.5, 0.0, 1e9}) {
    CAPTURE(ratio);
    const auto most = static_cast<size_t>(std::min(ratio * positives, static_cast<double>(negatives.size())));
    double expected = sum;
    for (size_t i = 0; i < most; ++i) expected += negatives[i];
    L::DetectionTrainChain chain(model,
                                 {.loss = L::DetectionLossOptions{.conf = L::ClassLoss::multibox,
                                                                  .negative_ratio = ratio,
                                                                  .normalizer = F::DetectionNormalizer::positives}});
    chain(given.x, given.loc, given.label);
    CHECK(chain.conf_loss.item<double>() == doctest::Approx(expected / positives).epsilon(1e-5));
  }
}

TEST_CASE("of equally hard anchors the first count, and without boxes nothing does") {
  GivenOutputs model(1, true);
  model.conf.array().fill(0);
  L::DetectionTrainChain chain(model, {.loss = L::DetectionLossOptions{.conf = L::ClassLoss::multibox}});
  std::vector<int> labels(kAnchors, -1);
  labels[5] = 1;
  const Array x = zeros({1, 3, 32, 32}), loc = zeros({1, kAnchors, 4});
  chain.cleargrads();
  chain(x, loc, array(labels, {1, kAnchors})).backward();
  const std::vector<double> g = chain.model.conf.grad().to_vector<double>();
  for (size_t k = 0; k < kAnchors; ++k) {
    CAPTURE(k);
    CHECK((g[4 * k] != 0) == (k == 5 || k < 3));
  }
  chain(x, loc, array(std::vector<int>(kAnchors, -1), {1, kAnchors}));
  CHECK(chain.loss.item<double>() == 0);
}

TEST_CASE("DetectionTrainChain refuses targets that do not fit") {
  const Given given;
  L::DetectionTrainChain chain{GivenOutputs()};
  CHECK_THROWS_AS(chain(given.x, zeros({2, 3, 4}), given.label), TypeError);
  CHECK_THROWS_AS(chain(given.x, given.loc, given.loc), TypeError);
  CHECK_THROWS_AS(chain(given.x, given.loc, Variable()), TypeError);
  CHECK_THROWS_AS(chain(given.x, given.loc, given.label, array<int>({1})), TypeError);
  chain.options.delta = 0;
  CHECK_THROWS_AS(chain(given.x, given.loc, given.label), ValueError);
}

TEST_CASE("DetectionTrainChain refuses labels beyond the classes") {
  Given given;
  given.labels.back() = kClasses;
  const Array beyond = array(given.labels, {2, kAnchors});
  const char* const text = "L::DetectionTrainChain: label is 3: it must be less than 3, the number of classes";
  for (const bool softmax : {false, true}) {
    CAPTURE(softmax);
    const auto conf = softmax ? L::ClassLoss::multibox : L::ClassLoss::focal;
    L::DetectionTrainChain chain(GivenOutputs(2, softmax), {.loss = L::DetectionLossOptions{.conf = conf}});
    CHECK_THROWS_WITH_AS(chain(given.x, given.loc, beyond), text, ValueError);
    const auto training = using_config(&Config::train, true);
    auto step = static_graph(chain);
    for (int i = 0; i < 2; ++i) step(given.x, given.loc, given.label);
    CHECK_THROWS_WITH_AS(step(given.x, given.loc, beyond), text, ValueError);
  }
}

}  // namespace
}  // namespace kusari::testing
