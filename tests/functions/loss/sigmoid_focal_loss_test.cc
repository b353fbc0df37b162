#include "kusari/framework/functions/loss/sigmoid_focal_loss.h"

#include <cmath>
#include <limits>

#include "kusari/framework/kernels/array_operators.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;
using Normalizer = F::DetectionNormalizer;

/// The losses of images by the paper's formula.
std::vector<double> focal_losses(const std::vector<double>& x, const std::vector<int>& t, size_t images, size_t classes,
                                 double alpha, double gamma) {
  std::vector<double> losses(images);
  const size_t anchors = t.size() / images;
  for (size_t i = 0; i < t.size(); ++i) {
    if (t[i] == -2) continue;
    for (size_t c = 0; c < classes; ++c) {
      const bool positive = t[i] == static_cast<int>(c);
      const double score = x[i * classes + c], p = 1 / (1 + std::exp(positive ? -score : score));
      losses[i / anchors] += (positive ? alpha : 1 - alpha) * std::pow(1 - p, gamma) * -std::log(p);
    }
  }
  return losses;
}

// Two images; n_i = 2 and 1.
const std::vector<int> kLabels = {0, -1, -2, 2, -1, -1, -2, 1};

TEST_CASE("sigmoid_focal_loss") {
  const Array t = array(kLabels, {2, 4}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const double gamma : {2.0, 1.5, 0.0}) {
      CAPTURE(gamma);
      const Array x = uniform({2, 4, 3}, -4, 4).astype(dtype);
      const std::vector<double> each = focal_losses(x.to_vector<double>(), kLabels, 2, 3, 0.25, gamma);
      const auto loss = [&](Normalizer normalizer) {
        return F::sigmoid_focal_loss(x, t, {.gamma = gamma, .normalizer = normalizer});
      };
      CHECK(loss(Normalizer::batch).dtype() == (dtype == Dtype::float64 ? dtype : Dtype::float32));
      check_close(loss(Normalizer::batch), {}, {(each[0] + each[1]) / 4});
      check_close(loss(Normalizer::images_plus_one), {}, {(each[0] + each[1]) / 5});
      check_close(loss(Normalizer::image), {}, {(each[0] / 2 + each[1] / 1) / 2});
      check_close(loss(Normalizer::positives), {}, {(each[0] + each[1]) / 3});
      check_close(loss(Normalizer::none), {}, {each[0] + each[1]});
    }
  }
}

TEST_CASE("sigmoid_focal_loss of many anchors, of labels of other dtypes, and with counts of its own") {
  const size_t anchors = 700, classes = 5;
  const Array x = uniform({2, static_cast<int64_t>(anchors), static_cast<int64_t>(classes)}, -6, 1);
  std::vector<int> labels(2 * anchors);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int>(philox_word(9, i) % 7) - 2;
  const std::vector<double> each = focal_losses(x.to_vector<double>(), labels, 2, classes, 0.4, 2);
  for (const Dtype dtype : {Dtype::int32, Dtype::int64, Dtype::int8}) {
    const Array t = array(labels, {2, static_cast<int64_t>(anchors)}, test_device()).astype(dtype);
    check_close(
        F::sigmoid_focal_loss(
            x, t, {.alpha = 0.4, .normalizer = Normalizer::batch, .positives = array<int>({9, 20}, test_device())}),
        {}, {(each[0] + each[1]) / 30});
  }
}

TEST_CASE("sigmoid_focal_loss of large scores, without anchors, images or classes, and without a label's class") {
  const Array t = array<int>({0, -1}, {1, 2}, test_device());
  const Array x = array<float>({-1000, 0, 1000, 0}, {1, 2, 2}, test_device());
  const double half = std::log(2.0) / 4;  // of a score of 0: p^2 = 1/4
  check_close(F::sigmoid_focal_loss(x, t, {.normalizer = Normalizer::none}), {},
              {0.25 * 1000 + 0.75 * half + 0.75 * 1000 + 0.75 * half});
  for (const Shape& shape : {Shape{0, 3, 2}, Shape{2, 0, 2}, Shape{2, 3, 0}}) {
    const Array none = zeros({shape[0], shape[1]}, Dtype::int32, test_device()) - int64_t{1};
    check_close(F::sigmoid_focal_loss(zeros(shape, Dtype::float32, test_device()), none), {}, {0});
  }
  CHECK(std::isnan(F::sigmoid_focal_loss(x, array<int>({2, -1}, {1, 2}, test_device())).item<double>()));
}

TEST_CASE("sigmoid_focal_loss sums more than float16 holds") {
  const Array x = zeros({2, 100'000, 8}, Dtype::float16, test_device());
  const Array t = full({2, 100'000}, int64_t{-1}, Dtype::int32, test_device());
  const double sum = 1.6e6 * 0.75 * std::log(2.0) / 4;
  CHECK(F::sigmoid_focal_loss(x, t).item<double>() == doctest::Approx(sum).epsilon(1e-5));
}

TEST_CASE("sigmoid_focal_loss's gradients") {
  const Array x = uniform({2, 4, 3}, -3, 3), t = array(kLabels, {2, 4}, test_device());
  for (const double gamma : {2.0, 1.5, 0.0}) {
    for (const Normalizer normalizer : {Normalizer::batch, Normalizer::image}) {
      check_gradients(
          [&](const Variable& v) { return F::sigmoid_focal_loss(v, t, {.gamma = gamma, .normalizer = normalizer}); },
          x);
    }
  }
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32}) {
    CAPTURE(name(dtype));
    const auto gradient = [&](Dtype of) {
      Variable v(x.astype(dtype).astype(of));
      F::sigmoid_focal_loss(v, t).backward();
      return v.grad();
    };
    CHECK(gradient(dtype).dtype() == dtype);
    check_close(gradient(dtype), {2, 4, 3}, gradient(Dtype::float64).to_vector<double>());
  }
}

TEST_CASE("gradients of any order of sigmoid_focal_loss at anchors that do not count") {
  const Variable x(array<double>({1, std::numeric_limits<double>::infinity(), 2, 3}, {1, 2, 2}, test_device()));
  const Variable loss = F::sigmoid_focal_loss(x, array<int>({-2, 1}, {1, 2}, test_device()));
  const std::vector<double> expected = grad({loss}, {x})[0].to_vector<double>();
  CHECK(expected[1] == 0);
  check_close(grad({loss}, {x}, {.enable_double_backprop = true})[0], {1, 2, 2}, expected);
}

TEST_CASE("sigmoid_focal_loss of what does not fit") {
  const Array x = ones({2, 3, 4}, Dtype::float32, test_device()), t = int_ones({2, 3});
  CHECK_THROWS_WITH_AS(F::sigmoid_focal_loss(x, int_ones({2, 4})),
                       "F::sigmoid_focal_loss: t has shape (2, 4) but x has shape (2, 3, 4): t.shape[1] must equal "
                       "x.shape[1] (4 != 3)",
                       TypeError);
  CHECK_THROWS_AS(F::sigmoid_focal_loss(x, x), TypeError);
  CHECK_THROWS_AS(F::sigmoid_focal_loss(t, t), TypeError);
  CHECK_THROWS_AS(F::sigmoid_focal_loss(x, t, {.positives = int_ones({3})}), TypeError);
  CHECK_THROWS_WITH_AS(F::sigmoid_focal_loss(x, t, {.gamma = -1}),
                       "F::sigmoid_focal_loss: gamma is -1: it must be finite and not negative", ValueError);
  CHECK_THROWS_AS(F::sigmoid_focal_loss(x, t, {.alpha = 2}), ValueError);
  CHECK_THROWS_AS(F::sigmoid_focal_loss(x, t, {.gamma = std::numeric_limits<double>::infinity()}), ValueError);
}

}  // namespace
}  // namespace kusari
