#include "kusari/framework/training/extensions/update_batch_statistics.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/normalization/batch_normalization.h"
#include "kusari/framework/links/normalization/decorrelated_batch_normalization.h"
#include "kusari/framework/training/extensions/stochastic_weight_averaging.h"
#include "kusari/iterators/serial_iterator.h"

using namespace kusari;
using extensions::update_batch_statistics;
using iterators::SerialIterator;
namespace L = kusari::links;

namespace {

using Numbers = std::vector<double>;

class Normalized : public Chain {
 public:
  Normalized() : l1{*this, "l1", 3, 2}, bn{*this, "bn", kInfer}, frozen{*this, "frozen", 2, {.frozen = true}} {}
  Variable operator()(const Variable& x) {
    CHECK(config().train);
    return frozen(bn(l1(x)));
  }

  Child<L::Linear> l1;
  Child<L::BatchNormalization> bn, frozen;
};

Array inputs() {
  std::vector<double> x(30);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i * i % 31));
  return array(x, {10, 3}).astype(Dtype::float32);
}

/// Means over batches of 4, 4 and 2 rows of their means and unbiased variances, in column k of y.
Numbers plain_means(const Array& y, int64_t k) {
  double mean = 0, var = 0;
  for (const auto& [begin, n] : {std::pair<int64_t, int64_t>{0, 4}, {4, 4}, {8, 2}}) {
    double sum = 0, squares = 0;
    const Numbers column = y.slice(0, begin, n).slice(1, k, 1).to_vector<double>();
    for (const double v : column) sum += v / static_cast<double>(n);
    for (const double v : column) squares += (v - sum) * (v - sum) / static_cast<double>(n - 1);
    mean += sum / 3;
    var += squares / 3;
  }
  return {mean, var};
}

}  // namespace

TEST_CASE("update_batch_statistics: plain means over the batches of a sweep") {
  const datasets::TupleDataset data(inputs());
  Normalized model;
  for (const bool is_made : {false, true}) {
    CAPTURE(is_made);
    if (is_made) {
      model.bn.avg_mean.fill(std::numeric_limits<double>::quiet_NaN());
      model.l1.W.array().fill(0.5);
    }
    const auto test_mode = using_config(&Config::train, false);
    update_batch_statistics(SerialIterator(data, 4, {.repeat = false, .shuffle = false}), model);
    CHECK(!config().train);
    const Array y = model.l1(Variable(inputs())).array();
    for (int64_t k : {0, 1}) {
      const Numbers expected = plain_means(y, k);
      CHECK(model.bn.avg_mean.to_vector<double>()[static_cast<size_t>(k)] ==
            doctest::Approx(expected[0]).epsilon(1e-5));
      CHECK(model.bn.avg_var.to_vector<double>()[static_cast<size_t>(k)] == doctest::Approx(expected[1]).epsilon(1e-5));
    }
    CHECK(model.bn.decay == 0.9);
    CHECK(model.frozen.avg_mean.to_vector<double>() == Numbers{0, 0});
    CHECK(model.frozen.avg_var.to_vector<double>() == Numbers{1, 1});
  }
}

TEST_CASE("update_batch_statistics for the averages of StochasticWeightAveraging, with a function of the batch") {
  const datasets::TupleDataset data(inputs(), zeros({10}));
  const iterators::OrderOptions sweep{.repeat = false, .shuffle = false};
  Normalized model;
  model(Variable(inputs()));
  extensions::StochasticWeightAveraging average(model, {.persistents = false});
  for (const double weight : {1.0, 3.0}) {
    model.l1.W.array().fill(weight);
    average.update();
  }
  Numbers under_means;
  {
    const auto applied = average.apply();
    update_batch_statistics(SerialIterator(data, 4, sweep), model, {.func = [&](const Variable& x, const Variable&) {
                              CHECK(!config().enable_backprop);
                              return model(x);
                            }});
    under_means = model.bn.avg_mean.to_vector<double>();
    CHECK(under_means[0] == doctest::Approx(plain_means(model.l1(Variable(inputs())).array(), 0)[0]).epsilon(1e-5));
  }
  CHECK(model.bn.avg_mean.to_vector<double>() == under_means);
  CHECK(model.l1.W.array().to_vector<double>()[0] == 3);
}

TEST_CASE("update_batch_statistics: whitening, and what it refuses") {
  const datasets::TupleDataset data(inputs().slice(1, 0, 2).contiguous());
  L::DecorrelatedBatchNormalization whitening(2, {.groups = 1});
  update_batch_statistics(SerialIterator(data, 10, {.repeat = false}), whitening);
  const Numbers column = inputs().slice(1, 0, 1).to_vector<double>();
  double mean = 0;
  for (const double v : column) mean += v / 10;
  CHECK(whitening.avg_mean.to_vector<double>()[0] == doctest::Approx(mean).epsilon(1e-5));
  CHECK(whitening.decay == 0.9);

  CHECK_THROWS_WITH_AS(
      update_batch_statistics(SerialIterator(data, 4), whitening),
      "update_batch_statistics: the iterator repeats, so a sweep would not end: create it with {.repeat "
      "= false}",
      ValueError);
  CHECK_THROWS_WITH_AS(update_batch_statistics(SerialIterator(data, 4, {.repeat = false}), whitening,
                                               {.func = [](const Variable& x) { return x; }}),
                       doctest::Contains("of which no call was seen"), StateError);
  L::Linear plain(2, 1);
  CHECK_NOTHROW(update_batch_statistics(SerialIterator(data, 4, {.repeat = false}), plain));
}
