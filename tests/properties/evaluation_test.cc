#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "kusari/framework/functions/evaluation/accuracy.h"
#include "kusari/framework/functions/evaluation/binary_accuracy.h"
#include "kusari/framework/functions/evaluation/binary_ranking.h"
#include "kusari/framework/functions/evaluation/classification_summary.h"
#include "kusari/framework/functions/evaluation/confusion_matrix.h"
#include "kusari/framework/functions/evaluation/r2_score.h"
#include "kusari/framework/functions/evaluation/top_k_accuracy.h"
#include "kusari/tests/properties/property.h"

namespace kusari {
namespace {

using namespace testing;

/// Scores (N, C, ...) and their labels (N, ...).
struct Labelled {
  Array scores, labels;
  int64_t classes;
  explicit Labelled(Draw& draw, int64_t lowest, int64_t beyond = 0) {
    Shape shape = draw.shape(2, 4);
    classes = shape[1];
    scores = draw.distinct(shape);
    shape.erase(1);
    labels = draw.integers(shape, lowest, classes - 1 + beyond, draw.pick({Dtype::int32, Dtype::int64, Dtype::int8}));
  }
};

/// For each label in C order, the class of the largest score.
std::vector<int64_t> predictions(const Reference& scores, const Shape& labels) {
  std::vector<int64_t> result;
  naive::each(labels, [&](const Shape& at) {
    Shape index = at;
    index.insert(1, 0);
    int64_t best = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t c = 0; c < scores.shape[1]; ++c) {
      index[1] = c;
      if (scores.at(index) > largest) {
        largest = scores.at(index);
        best = c;
      }
    }
    result.push_back(best);
  });
  return result;
}

/// A case without gradients.
PropertyCase value_case(Arrays inputs, std::function<Variables(const Variables&)> function,
                        std::function<References(const References&)> reference) {
  return {.inputs = std::move(inputs),
          .function = std::move(function),
          .reference = std::move(reference),
          .first_order = false,
          .second_order = false};
}

TEST_CASE("property: accuracy") {
  check_property([](Draw& draw) {
    const Labelled data(draw, -1);
    const auto ignored = draw.flip() ? std::optional<int64_t>(draw.integer(-1, 1)) : std::nullopt;
    return value_case(
        {data.scores, data.labels}, [=](const Variables& x) { return Variables{F::accuracy(x[0], x[1], ignored)}; },
        [=](const References& x) {
          const std::vector<int64_t> predicted = predictions(x[0], x[1].shape);
          double hits = 0, count = 0;
          for (size_t i = 0; i < predicted.size(); ++i) {
            if (ignored && x[1].values[i] == static_cast<double>(*ignored)) continue;
            count += 1;
            hits += x[1].values[i] == static_cast<double>(predicted[i]) ? 1 : 0;
          }
          return References{{{}, {count == 0 ? 0 : hits / count}}};
        });
  });
}

TEST_CASE("property: top_k_accuracy") {
  check_property([](Draw& draw) {
    const Labelled data(draw, -1);
    const int64_t k = draw.integer(1, data.classes);
    const auto ignored = draw.flip() ? std::optional<int64_t>(draw.integer(-1, 1)) : std::nullopt;
    return value_case(
        {data.scores, data.labels},
        [=](const Variables& x) { return Variables{F::top_k_accuracy(x[0], x[1], k, ignored)}; },
        [=](const References& x) {
          double hits = 0, count = 0;
          naive::each(x[1].shape, [&](const Shape& at) {
            const double label = x[1].at(at);
            if (ignored && label == static_cast<double>(*ignored)) return;
            count += 1;
            if (label < 0) return;
            Shape index = at;
            index.insert(1, static_cast<int64_t>(label));
            const double score = x[0].at(index);
            int64_t larger = 0;
            for (index[1] = 0; index[1] < x[0].shape[1]; ++index[1]) larger += x[0].at(index) > score ? 1 : 0;
            hits += larger < k ? 1 : 0;
          });
          return References{{{}, {count == 0 ? 0 : hits / count}}};
        });
  });
}

TEST_CASE("property: binary_accuracy") {
  check_property([](Draw& draw) {
    const Shape shape = draw.shape(0, 4);
    return value_case(
        {draw.real_away(shape, -1, 1, {0}, 0.01), draw.integers(shape, -1, 1)},
        [](const Variables& x) { return Variables{F::binary_accuracy(x[0], x[1])}; },
        [](const References& x) {
          double hits = 0, count = 0;
          for (size_t i = 0; i < x[0].values.size(); ++i) {
            if (x[1].values[i] == -1) continue;
            count += 1;
            hits += (x[0].values[i] >= 0 ? 1 : 0) == x[1].values[i] ? 1 : 0;
          }
          return References{{{}, {count == 0 ? 0 : hits / count}}};
        });
  });
}

TEST_CASE("property: confusion_matrix") {
  check_property([](Draw& draw) {
    const Labelled data(draw, -1);
    F::ConfusionMatrixOptions options;
    const int64_t classes = data.classes + draw.integer(0, 2);
    if (classes > data.classes || draw.flip()) options.label_num = classes;
    return value_case(
        {data.scores, data.labels},
        [=](const Variables& x) { return Variables{F::confusion_matrix(x[0], x[1], options)}; },
        [=](const References& x) {
          const std::vector<int64_t> predicted = predictions(x[0], x[1].shape);
          Reference matrix{{classes, classes}, std::vector<double>(static_cast<size_t>(classes * classes))};
          for (int64_t label = 0; label < classes; ++label) {
            for (int64_t said = 0; said < classes; ++said) {
              for (size_t i = 0; i < predicted.size(); ++i) {
                const bool counts = x[1].values[i] == static_cast<double>(label) && predicted[i] == said;
                matrix.values[static_cast<size_t>(label * classes + said)] += counts ? 1 : 0;
              }
            }
          }
          return References{matrix};
        });
  });
}

/// Scores with ties, and labels 0, 1 or -1, which does not count.
Arrays ranked_examples(Draw& draw) {
  const Shape shape = draw.shape(1, 3);
  return {draw.integers(shape, -4, 4).astype(Dtype::float64), draw.integers(shape, -1, 1)};
}

/// All pairs of an example of the class with one of the others.
TEST_CASE("property: roc_auc_score") {
  check_property([](Draw& draw) {
    return value_case(
        ranked_examples(draw), [](const Variables& x) { return Variables{F::roc_auc_score(x[0], x[1])}; },
        [](const References& x) {
          const std::vector<double>&y = x[0].values, &t = x[1].values;
          double ordered = 0, pairs = 0;
          for (size_t i = 0; i < y.size(); ++i) {
            for (size_t j = 0; j < y.size(); ++j) {
              if (t[i] != 1 || t[j] != 0) continue;
              pairs += 1;
              ordered += y[i] > y[j] ? 1 : y[i] == y[j] ? 0.5 : 0;
            }
          }
          return References{{{}, {ordered / pairs}}};
        });
  });
}

/// The precision at the score of each example of the class.
TEST_CASE("property: average_precision_score") {
  check_property([](Draw& draw) {
    return value_case(
        ranked_examples(draw), [](const Variables& x) { return Variables{F::average_precision_score(x[0], x[1])}; },
        [](const References& x) {
          const std::vector<double>&y = x[0].values, &t = x[1].values;
          double sum = 0, hits = 0;
          for (size_t i = 0; i < y.size(); ++i) {
            if (t[i] != 1) continue;
            double found = 0, right = 0;
            for (size_t j = 0; j < y.size(); ++j) {
              if (t[j] == -1 || y[j] < y[i]) continue;
              found += 1;
              right += t[j];
            }
            sum += right / found;
            hits += 1;
          }
          return References{{{}, {sum / hits}}};
        });
  });
}

enum Score { kPrecision, kRecall, kFbeta, kF1 };

double ratio(double a, double b) { return b == 0 ? std::numeric_limits<double>::quiet_NaN() : a / b; }

/// The score of each class and the support, by counting.
References scores_of(const References& x, Score score, const F::ClassificationSummaryOptions& options) {
  const std::vector<int64_t> predicted = predictions(x[0], x[1].shape);
  double largest = -1e9;
  for (const double label : x[1].values) largest = std::max(largest, label);
  const int64_t classes = options.label_num.value_or(static_cast<int64_t>(largest) + 1);
  Reference result{{classes}, {}}, support{{classes}, {}};
  for (int64_t c = 0; c < classes; ++c) {
    double found = 0, claimed = 0, there = 0;
    for (size_t i = 0; i < predicted.size(); ++i) {
      const auto label = static_cast<int64_t>(x[1].values[i]);
      if (label == options.ignore_label) continue;
      claimed += predicted[i] == c ? 1 : 0;
      there += label == c ? 1 : 0;
      found += predicted[i] == c && label == c ? 1 : 0;
    }
    const double p = ratio(found, claimed), r = ratio(found, there),
                 square = score == kF1 ? 1 : options.beta * options.beta;
    result.values.push_back(score == kPrecision ? p
                            : score == kRecall  ? r
                                                : ratio((1 + square) * p * r, square * p + r));
    support.values.push_back(there);
  }
  return {result, support};
}

template <class Function>
void check_score(Score score, Function function) {
  check_property([=](Draw& draw) {
    F::ClassificationSummaryOptions options;
    const int64_t lowest = draw.integer(-1, 0);
    const Labelled data(draw, lowest, draw.integer(0, 1));
    if (draw.flip()) options.label_num = draw.integer(0, data.classes + 2);
    if (draw.flip()) options.beta = draw.number(0.3, 3);
    if (lowest == 0 && draw.flip()) options.ignore_label = draw.integer(-2, data.classes);
    return value_case(
        {data.scores, data.labels},
        [=](const Variables& x) {
          const auto [values, support] = function(x[0], x[1], options);
          return Variables{values, support};
        },
        [=](const References& x) { return scores_of(x, score, options); });
  });
}

TEST_CASE("property: precision") { check_score(kPrecision, F::precision); }
TEST_CASE("property: recall") { check_score(kRecall, F::recall); }
TEST_CASE("property: fbeta_score") { check_score(kFbeta, F::fbeta_score); }
TEST_CASE("property: f1_score") { check_score(kF1, F::f1_score); }

TEST_CASE("property: classification_summary") {
  check_property([](Draw& draw) {
    F::ClassificationSummaryOptions options{.beta = draw.number(0.3, 3)};
    const Labelled data(draw, -1);
    return value_case(
        {data.scores, data.labels},
        [=](const Variables& x) {
          const F::ClassificationSummary all = F::classification_summary(x[0], x[1], options);
          return Variables(all.precision, all.recall, all.fbeta, all.support);
        },
        [=](const References& x) {
          const References f = scores_of(x, kFbeta, options);
          return References{scores_of(x, kPrecision, options)[0], scores_of(x, kRecall, options)[0], f[0], f[1]};
        });
  });
}

TEST_CASE("property: r2_score") {
  check_property([](Draw& draw) {
    const Shape shape = draw.shape(1, 3);
    const bool is_raw = draw.flip();
    const auto reference = [=](const References& x) {
      const int64_t axis = 0;
      const std::span<const int64_t> examples(&axis, 1);
      const Reference mean = naive::reduce(x[1], examples, true, naive::mean);
      const auto square = [](double a, double b) { return (a - b) * (a - b); };
      const Reference residual = naive::reduce(naive::map(square, x[0], x[1]), examples, false, naive::sum);
      const Reference total = naive::reduce(naive::map(square, x[1], mean), examples, false, naive::sum);
      const Reference score = naive::map([](double r, double t) { return t == 0 ? 0 : 1 - r / t; }, residual, total);
      if (is_raw) return References{score};
      return References{{{}, {naive::mean(score.values)}}};
    };
    return value_case(
        // Truths of few values: some outputs are constant, and others not nearly.
        {draw.real(shape, -2, 2), draw.integers(shape, -3, 3).astype(Dtype::float64)},
        [=](const Variables& x) {
          return Variables{
              F::r2_score(x[0], x[1], is_raw ? F::Multioutput::raw_values : F::Multioutput::uniform_average)};
        },
        reference);
  });
}

}  // namespace
}  // namespace kusari
