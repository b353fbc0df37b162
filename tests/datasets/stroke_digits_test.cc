#include "kusari/framework/datasets/stroke_digits.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"

using namespace kusari;
using namespace kusari::datasets;

TEST_CASE("get_stroke_digits: shapes, dtypes, range, classes") {
  const auto [train, test] = get_stroke_digits({.n_train = 2000, .n_test = 500});
  CHECK(train.size() == 2000);
  CHECK(test.size() == 500);
  CHECK(train[0][0].shape() == Shape{784});
  CHECK(train[0][0].dtype() == Dtype::float32);
  CHECK(train[0][1].dtype() == Dtype::int32);
  std::vector<int> counts(10);
  for (int label : train.arrays()[1].to_vector<int>()) ++counts.at(static_cast<size_t>(label));
  // 200 of each expected, deviation 13.4: five deviations.
  for (int count : counts) CHECK(std::abs(count - 200) < 67);
  for (int64_t i = 0; i < 2000; ++i) {
    const std::vector<float> x = train[i][0].to_vector<float>();
    CHECK(*std::min_element(x.begin(), x.end()) == 0.0f);
    CHECK(*std::max_element(x.begin(), x.end()) <= 1.0f);
    CHECK(std::count_if(x.begin(), x.end(), [](float v) { return v > 0.3f; }) > 10);
    CHECK(std::all_of(x.begin(), x.end(), [](float v) { return std::abs(v * 255 - std::round(v * 255)) < 1e-3; }));
  }
  CHECK(get_stroke_digits({.n_train = 1, .n_test = 0, .ndim = 2}).train[0][0].shape() == Shape{28, 28});
  CHECK(get_stroke_digits({.n_train = 1, .n_test = 0, .ndim = 3}).train[0][0].shape() == Shape{1, 28, 28});
}

TEST_CASE("get_stroke_digits: the seed decides, not the threads nor the sizes") {
  const auto pixels = [](const StrokeDigitsOptions& options) {
    return get_stroke_digits(options).train.arrays()[0].to_vector<float>();
  };
  const std::vector<float> all = pixels({.n_train = 600, .n_test = 1, .seed = 3});
  const int threads = num_threads();
  set_num_threads(1);
  CHECK(pixels({.n_train = 600, .n_test = 1, .seed = 3}) == all);
  set_num_threads(3);
  CHECK(pixels({.n_train = 600, .n_test = 1, .seed = 3}) == all);
  set_num_threads(threads);
  const std::vector<float> first = pixels({.n_train = 10, .n_test = 7, .seed = 3});
  CHECK(std::equal(first.begin(), first.end(), all.begin()));
  CHECK(pixels({.n_train = 600, .n_test = 1, .seed = 4}) != all);
  const auto [train, test] = get_stroke_digits({.n_train = 10, .n_test = 10, .seed = 3});
  CHECK(train.arrays()[0].to_vector<float>() != test.arrays()[0].to_vector<float>());
}

TEST_CASE("get_stroke_digits can be learned, but not by comparing pixels") {
  // The nearest class mean: far above chance (10 %), far below what a network reaches.
  const auto [train, test] = get_stroke_digits({.n_train = 3000, .n_test = 1000});
  std::vector<std::vector<double>> mean(10, std::vector<double>(784));
  std::vector<double> count(10);
  for (int64_t i = 0; i < train.size(); ++i) {
    const Example example = train[i];
    const auto label = static_cast<size_t>(example[1].item<int>());
    ++count[label];
    for (size_t k = 0; k < 784; ++k) mean[label][k] += example[0].data<float>()[k];
  }
  int right = 0;
  for (int64_t i = 0; i < test.size(); ++i) {
    const Example example = test[i];
    size_t best = 0;
    double least = 1e300;
    for (size_t c = 0; c < 10; ++c) {
      double distance = 0;
      for (size_t k = 0; k < 784; ++k) {
        const double d = example[0].data<float>()[k] - mean[c][k] / count[c];
        distance += d * d;
      }
      if (distance < least) least = distance, best = c;
    }
    right += best == static_cast<size_t>(example[1].item<int>());
  }
  CHECK(right > 600);
  CHECK(right < 930);
}

TEST_CASE("get_stroke_digits: bad options") {
  CHECK_THROWS_AS(get_stroke_digits({.n_train = -1}), ValueError);
  CHECK_THROWS_AS(get_stroke_digits({.n_test = -1}), ValueError);
  CHECK_THROWS_WITH_AS(get_stroke_digits({.ndim = 0}), "get_stroke_digits: ndim is 0: it must be 1, 2 or 3",
                       ValueError);
}
