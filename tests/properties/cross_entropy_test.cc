#include <cmath>
#include <utility>

#include "kusari/framework/functions/loss/sigmoid_cross_entropy.h"
#include "kusari/framework/functions/loss/sigmoid_focal_loss.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/tests/properties/property.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("property: sigmoid_cross_entropy") {
  check_property([](Draw& draw) -> PropertyCase {
    const F::SigmoidCrossEntropyOptions options{.normalize = draw.flip(),
                                                .reduce = draw.pick({F::Reduce::mean, F::Reduce::no})};
    const Shape shape = draw.shape(1, 4);
    return {.inputs = {draw.real(shape, -4, 4), draw.integers(shape, -1, 1)},
            .function = [=](const Variables& x) { return Variables{F::sigmoid_cross_entropy(x[0], x[1], options)}; },
            .reference =
                [=](const References& x) {
                  double count = 0;
                  const Reference terms = naive::map(
                      [&](double v, double t) {
                        const double p = 1 / (1 + std::exp(-v));
                        count += t == -1 ? 0 : 1;
                        return t == -1 ? 0 : -std::log(t == 1 ? p : 1 - p);
                      },
                      x[0], x[1]);
                  if (options.reduce == F::Reduce::no) return References{terms};
                  const double divisor = options.normalize ? std::max(count, 1.0) : static_cast<double>(shape[0]);
                  return References{scalar(naive::sum(terms.values) / divisor)};
                }};
  });
}

TEST_CASE("property: sigmoid_focal_loss") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(3, 3);
    const F::SigmoidFocalLossOptions options{
        .alpha = draw.number(0, 1),
        .gamma = draw.number(0, 3),
        .normalizer = draw.pick({F::DetectionNormalizer::batch, F::DetectionNormalizer::images_plus_one,
                                 F::DetectionNormalizer::image, F::DetectionNormalizer::positives,
                                 F::DetectionNormalizer::none})};
    return {.inputs = {draw.real(shape, -4, 4),
                       draw.integers({shape[0], shape[1]}, -2, shape[2] - 1, draw.pick({Dtype::int32, Dtype::int64}))},
            .function = [=](const Variables& x) { return Variables{F::sigmoid_focal_loss(x[0], x[1], options)}; },
            .reference =
                [=](const References& x) {
                  const auto n = static_cast<size_t>(shape[0]), anchors = static_cast<size_t>(shape[1]);
                  const auto classes = static_cast<size_t>(shape[2]);
                  std::vector<double> losses(n), positives(n);
                  for (size_t k = 0; k < n * anchors; ++k) {
                    const double t = x[1].values[k];
                    positives[k / anchors] += t >= 0 ? 1 : 0;
                    for (size_t c = 0; c < classes && t != -2; ++c) {
                      const bool is_it = t == static_cast<double>(c);
                      const double v = x[0].values[k * classes + c], p = 1 / (1 + std::exp(is_it ? -v : v));
                      losses[k / anchors] +=
                          (is_it ? options.alpha : 1 - options.alpha) * std::pow(1 - p, options.gamma) * -std::log(p);
                    }
                  }
                  const double all = naive::sum(positives), images = static_cast<double>(n);
                  double total = 0;
                  for (size_t i = 0; i < n; ++i) {
                    double divisor = 1;
                    if (options.normalizer == F::DetectionNormalizer::batch) divisor = 1 + all;
                    if (options.normalizer == F::DetectionNormalizer::images_plus_one) divisor = all + images;
                    if (options.normalizer == F::DetectionNormalizer::image) {
                      divisor = images * std::max(positives[i], 1.0);
                    }
                    if (options.normalizer == F::DetectionNormalizer::positives) divisor = std::max(all, 1.0);
                    total += losses[i] / divisor;
                  }
                  return References{scalar(total)};
                }};
  });
}

/// Logarithms of the softmax over axis 1.
Reference log_softmax(const Reference& x) {
  const int64_t axis = 1;
  const Reference total =
      naive::reduce(x, std::span<const int64_t>(&axis, 1), true, [](const std::vector<double>& scores) {
        double sum = 0;
        for (const double score : scores) sum += std::exp(score);
        return sum;
      });
  return naive::map([](double score, double sum) { return score - std::log(sum); }, x, total);
}

TEST_CASE("property: softmax_cross_entropy") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(2, 4);
    F::SoftmaxCrossEntropyOptions options{.normalize = draw.flip(),
                                          .cache_score = draw.flip(),
                                          .ignore_label = draw.integer(-1, shape[1] - 1),
                                          .reduce = draw.pick({F::Reduce::mean, F::Reduce::no}),
                                          .enable_double_backprop = draw.flip()};
    const bool is_weighted = draw.flip();
    Shape labels = shape;
    labels.erase(1);
    return {.inputs = {draw.real(shape, -3, 3),
                       draw.integers(labels, std::min<int64_t>(options.ignore_label, 0), shape[1] - 1,
                                     draw.pick({Dtype::int32, Dtype::int64})),
                       draw.real({shape[1]}, 0.2, 2)},
            .function =
                [=](const Variables& x) {
                  F::SoftmaxCrossEntropyOptions with_weights = options;
                  if (is_weighted) with_weights.class_weight = x[2].array();
                  return Variables{F::softmax_cross_entropy(x[0], x[1], with_weights)};
                },
            .reference =
                [=](const References& x) {
                  const Reference log_p = log_softmax(x[0]);
                  double count = 0;
                  const Reference terms = naive::make(labels, [&](const Shape& at) {
                    const auto label = static_cast<int64_t>(x[1].at(at));
                    if (label == options.ignore_label) return 0.0;
                    count += 1;
                    Shape index = at;
                    index.insert(1, label);
                    return -log_p.at(index) * (is_weighted ? x[2].at({label}) : 1);
                  });
                  if (options.reduce == F::Reduce::no) return References{terms};
                  const double divisor = options.normalize ? count : static_cast<double>(shape[0]);
                  return References{scalar(naive::sum(terms.values) / std::max(divisor, 1.0))};
                },
            .no_grads = {false, true, true}};
  });
}

constexpr double kEps = 1e-7;  // what Chainer adds to probabilities before it takes their logarithm

TEST_CASE("softmax_cross_entropy with distributions as targets") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(2, 4);
    const bool is_divergence = draw.flip();
    const F::SoftmaxCrossEntropyOptions options{
        .reduce = draw.pick({F::Reduce::mean, F::Reduce::no}),
        .soft_target_loss = is_divergence ? F::SoftTargetLoss::kl_divergence : F::SoftTargetLoss::cross_entropy};
    return {.inputs = {draw.real(shape, -3, 3), draw.real(shape, 0.05, 1)},
            .function = [=](const Variables& x) { return Variables{F::softmax_cross_entropy(x[0], x[1], options)}; },
            .reference =
                [=](const References& x) {
                  const Reference terms = naive::map(
                      [=](double t, double log_p) { return t * ((is_divergence ? std::log(t + kEps) : 0) - log_p); },
                      x[1], log_softmax(x[0]));
                  const int64_t axis = 1;
                  const Reference losses = naive::reduce(terms, std::span<const int64_t>(&axis, 1), false, naive::sum);
                  return References{options.reduce == F::Reduce::no ? losses : scalar(naive::mean(losses.values))};
                },
            .no_grads = {false, true}};
  });
}

}  // namespace
}  // namespace kusari
