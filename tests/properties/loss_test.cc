#include <cmath>
#include <utility>

#include "kusari/framework/functions/loss/absolute_error.h"
#include "kusari/framework/functions/loss/contrastive.h"
#include "kusari/framework/functions/loss/cross_covariance.h"
#include "kusari/framework/functions/loss/decov.h"
#include "kusari/framework/functions/loss/discriminative_loss.h"
#include "kusari/framework/functions/loss/hinge.h"
#include "kusari/framework/functions/loss/huber_loss.h"
#include "kusari/framework/functions/loss/mean_absolute_error.h"
#include "kusari/framework/functions/loss/mean_squared_error.h"
#include "kusari/framework/functions/loss/squared_error.h"
#include "kusari/framework/functions/loss/triplet.h"
#include "kusari/framework/functions/loss/vae.h"
#include "kusari/tests/properties/property.h"

namespace kusari {
namespace {

using namespace testing;

using Values = std::vector<double>;

/// A number as an array without axes.
Reference reduced(const Reference& terms, F::Reduce reduce, double count) {
  if (reduce == F::Reduce::no) return terms;
  return scalar(naive::sum(terms.values) / (reduce == F::Reduce::mean ? count : 1));
}

F::Reduce draw_reduce(Draw& draw) { return draw.pick({F::Reduce::mean, F::Reduce::sum, F::Reduce::no}); }

/// Two arrays whose elements differ by at least `gap`.
Arrays apart(Draw& draw, const Shape& shape, double gap = 0.05) {
  const Array a = draw.real(shape, -2, 2), d = draw.real_away(shape, -2, 2, {0}, gap);
  Values b = a.to_vector<double>();
  const Values difference = d.to_vector<double>();
  for (size_t i = 0; i < b.size(); ++i) b[i] += difference[i];
  return {a, array(b, shape)};
}

/// function(x0, x1) against the terms formula(x0 - x1), or their mean.
template <class Function, class Formula>
void check_error(Function function, Formula formula, bool is_mean) {
  check_property([=](Draw& draw) -> PropertyCase {
    return {.inputs = apart(draw, draw.shape(0, 4, 5, !is_mean)),
            .function = [=](const Variables& x) { return Variables{function(x[0], x[1])}; },
            .reference =
                [=](const References& x) {
                  const Reference terms = naive::map([=](double a, double b) { return formula(a - b); }, x[0], x[1]);
                  return References{is_mean ? scalar(naive::mean(terms.values)) : terms};
                }};
  });
}

double square(double d) { return d * d; }
double magnitude(double d) { return std::abs(d); }

TEST_CASE("property: absolute_error") { check_error(F::absolute_error, magnitude, false); }
TEST_CASE("property: squared_error") { check_error(F::squared_error, square, false); }
TEST_CASE("property: squared_difference") { check_error(F::squared_difference, square, false); }
TEST_CASE("property: mean_absolute_error") { check_error(F::mean_absolute_error, magnitude, true); }
TEST_CASE("property: mean_squared_error") { check_error(F::mean_squared_error, square, true); }

TEST_CASE("property: huber_loss") {
  check_property([](Draw& draw) -> PropertyCase {
    const bool is_sum = draw.flip();
    const double delta = draw.number(0.3, 1.5);
    const Shape shape = draw.shape(is_sum ? 2 : 0, 4);
    const Array zero = full(shape, 0, Dtype::float64);
    return {.inputs = {draw.real_away(shape, -3, 3, {-delta, delta}), zero},
            .function =
                [=](const Variables& x) {
                  const auto how = is_sum ? F::HuberReduce::sum_along_second_axis : F::HuberReduce::no;
                  return Variables{F::huber_loss(x[0], x[1], delta, how)};
                },
            .reference =
                [=](const References& x) {
                  const Reference terms = naive::map(
                      [=](double a, double t) {
                        const double d = std::abs(a - t);
                        return d <= delta ? d * d / 2 : delta * (d - delta / 2);
                      },
                      x[0], x[1]);
                  const int64_t axis = 1;
                  if (!is_sum) return References{terms};
                  return References{naive::reduce(terms, std::span<const int64_t>(&axis, 1), false, naive::sum)};
                }};
  });
}

TEST_CASE("property: gaussian_kl_divergence") {
  check_property([](Draw& draw) -> PropertyCase {
    const F::Reduce reduce = draw_reduce(draw);
    const Shape shape = draw.shape(0, 4);
    return {.inputs = {draw.real(shape, -2, 2), draw.real(shape, -2, 2)},
            .function = [=](const Variables& x) { return Variables{F::gaussian_kl_divergence(x[0], x[1], reduce)}; },
            .reference =
                [=](const References& x) {
                  const auto term = [](double m, double v) { return (m * m + std::exp(v) - v - 1) / 2; };
                  const Reference terms = naive::map(term, x[0], x[1]);
                  return References{reduced(terms, reduce, static_cast<double>(terms.values.size()))};
                }};
  });
}

TEST_CASE("property: bernoulli_nll") {
  check_property([](Draw& draw) -> PropertyCase {
    const F::Reduce reduce = draw_reduce(draw);
    const Shape shape = draw.shape(0, 4);
    return {.inputs = {draw.real(shape, 0, 1), draw.real(shape, -3, 3)},
            .function = [=](const Variables& x) { return Variables{F::bernoulli_nll(x[0], x[1], reduce)}; },
            .reference =
                [=](const References& x) {
                  const auto term = [](double v, double logit) {
                    const double p = 1 / (1 + std::exp(-logit));
                    return -v * std::log(p) - (1 - v) * std::log(1 - p);
                  };
                  const Reference terms = naive::map(term, x[0], x[1]);
                  return References{reduced(terms, reduce, static_cast<double>(terms.values.size()))};
                }};
  });
}

TEST_CASE("property: gaussian_nll") {
  check_property([](Draw& draw) -> PropertyCase {
    const F::Reduce reduce = draw_reduce(draw);
    const Shape shape = draw.shape(0, 4);
    return {.inputs = {draw.real(shape, -2, 2), draw.real(shape, -2, 2), draw.real(shape, -2, 2)},
            .function = [=](const Variables& x) { return Variables{F::gaussian_nll(x[0], x[1], x[2], reduce)}; },
            .reference =
                [=](const References& x) {
                  const auto term = [](double v, double mean, double ln_var) {
                    return square(v - mean) / (2 * std::exp(ln_var)) + std::log(2 * M_PI * std::exp(ln_var)) / 2;
                  };
                  const Reference terms = naive::map(term, x[0], x[1], x[2]);
                  return References{reduced(terms, reduce, static_cast<double>(terms.values.size()))};
                },
            .float32_rtol = 1e-4};  // squares of up to 16 times exp(2)
  });
}

/// Squares of the distances of the rows of two matrices.
Values squared_distances(const Reference& a, const Reference& b) {
  Values result;
  for (int64_t i = 0; i < a.shape[0]; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < a.shape[1]; ++k) sum += square(a.at({i, k}) - b.at({i, k}));
    result.push_back(sum);
  }
  return result;
}

bool is_near(double a, double b) { return std::abs(a - b) < 0.05; }

TEST_CASE("property: contrastive") {
  check_property([](Draw& draw) -> PropertyCase {
    const F::Reduce reduce = draw_reduce(draw);
    const double margin = draw.number(0.5, 4);
    const Shape shape = draw.shape(2, 2);
    Arrays inputs;
    bool is_smooth;
    do {  // no distance of 0 or of the margin
      inputs = {draw.real(shape, -2, 2), draw.real(shape, -2, 2), draw.integers({shape[0]}, 0, 1)};
      is_smooth = true;
      for (const double d :
           squared_distances({shape, inputs[0].to_vector<double>()}, {shape, inputs[1].to_vector<double>()})) {
        is_smooth = is_smooth && d > 0.01 && !is_near(std::sqrt(d), margin);
      }
    } while (!is_smooth);
    return {.inputs = inputs,
            .function = [=](const Variables& x) { return Variables{F::contrastive(x[0], x[1], x[2], margin, reduce)}; },
            .reference =
                [=](const References& x) {
                  Reference losses{{shape[0]}, {}};
                  const Values distances = squared_distances(x[0], x[1]);
                  for (size_t i = 0; i < distances.size(); ++i) {
                    const double gap = std::max(margin - std::sqrt(distances[i]), 0.0);
                    losses.values.push_back((x[2].values[i] == 1 ? distances[i] : gap * gap) / 2);
                  }
                  return References{reduced(losses, reduce, static_cast<double>(shape[0]))};
                },
            .gradient_atol = 1e-5};  // near a distance of 0 the direction turns quickly
  });
}

TEST_CASE("property: triplet") {
  check_property([](Draw& draw) -> PropertyCase {
    const F::Reduce reduce = draw_reduce(draw);
    const double margin = draw.number(0.1, 4);
    const Shape shape = draw.shape(2, 2);
    const auto losses = [=](const References& x) {
      Reference result{{shape[0]}, {}};
      const Values positive = squared_distances(x[0], x[1]), negative = squared_distances(x[0], x[2]);
      for (size_t i = 0; i < positive.size(); ++i) result.values.push_back(positive[i] - negative[i] + margin);
      return result;
    };
    Arrays inputs;
    bool is_smooth;
    do {
      inputs = {draw.real(shape, -2, 2), draw.real(shape, -2, 2), draw.real(shape, -2, 2)};
      References x;
      for (const Array& input : inputs) x.push_back({shape, input.to_vector<double>()});
      is_smooth = true;
      for (const double loss : losses(x).values) is_smooth = is_smooth && !is_near(loss, 0);
    } while (!is_smooth);
    return {.inputs = inputs,
            .function = [=](const Variables& x) { return Variables{F::triplet(x[0], x[1], x[2], margin, reduce)}; },
            .reference =
                [=](const References& x) {
                  const Reference positive = naive::map([](double loss) { return std::max(loss, 0.0); }, losses(x));
                  return References{reduced(positive, reduce, static_cast<double>(shape[0]))};
                },
            .float32_atol = 1e-4};  // differences of sums of up to 80
  });
}

TEST_CASE("property: hinge") {
  check_property([](Draw& draw) -> PropertyCase {
    const F::Reduce reduce = draw_reduce(draw);
    const F::HingeNorm norm = draw.pick({F::HingeNorm::L1, F::HingeNorm::L2});
    const Shape shape = draw.shape(2, 2);
    const int64_t n = shape[0], classes = shape[1];
    return {.inputs = {draw.real_away(shape, -3, 3, {-1, 1}),
                       draw.integers({n}, -classes, classes - 1, draw.pick({Dtype::int32, Dtype::int64}))},
            .function = [=](const Variables& x) { return Variables{F::hinge(x[0], x[1], norm, reduce)}; },
            .reference =
                [=](const References& x) {
                  const Reference terms = naive::make(shape, [&](const Shape& at) {
                    const double label = x[1].at({at[0]}), column = static_cast<double>(at[1]);
                    const bool is_label = label == column || label + static_cast<double>(classes) == column;
                    const double violation = std::max(1 - (is_label ? 1 : -1) * x[0].at(at), 0.0);
                    return norm == F::HingeNorm::L1 ? violation : violation * violation;
                  });
                  return References{reduced(terms, reduce, static_cast<double>(n))};
                },
            .gradient_atol = 1e-5};
  });
}

Values column_means(const Reference& x) {
  Values means(static_cast<size_t>(x.shape[1]), 0);
  naive::each(x.shape, [&](const Shape& at) {
    means[static_cast<size_t>(at[1])] += x.at(at) / static_cast<double>(x.shape[0]);
  });
  return means;
}

Reference covariances(const Reference& y, const Reference& z, bool has_diagonal) {
  const Values y_mean = column_means(y), z_mean = column_means(z);
  return naive::make({y.shape[1], z.shape[1]}, [&](const Shape& at) {
    if (!has_diagonal && at[0] == at[1]) return 0.0;
    double sum = 0;
    for (int64_t i = 0; i < y.shape[0]; ++i) {
      sum += (y.at({i, at[0]}) - y_mean[static_cast<size_t>(at[0])]) *
             (z.at({i, at[1]}) - z_mean[static_cast<size_t>(at[1])]);
    }
    return sum / static_cast<double>(y.shape[0]);
  });
}

Reference half_squared_sum(const Reference& c) {
  double sum = 0;
  for (const double v : c.values) sum += v * v / 2;
  return scalar(sum);
}

TEST_CASE("property: cross_covariance") {
  check_property([](Draw& draw) -> PropertyCase {
    const bool is_matrix = draw.flip();
    const Shape shape = draw.shape(2, 2);
    const auto reduce = is_matrix ? F::CovarianceReduce::no : F::CovarianceReduce::half_squared_sum;
    return {.inputs = {draw.real(shape, -2, 2), draw.real({shape[0], draw.integer(1, 5)}, -2, 2)},
            .function = [=](const Variables& x) { return Variables{F::cross_covariance(x[0], x[1], reduce)}; },
            .reference =
                [=](const References& x) {
                  const Reference c = covariances(x[0], x[1], true);
                  return References{is_matrix ? c : half_squared_sum(c)};
                },
            .gradient_atol = 1e-5};
  });
}

TEST_CASE("property: decov") {
  check_property([](Draw& draw) -> PropertyCase {
    const bool is_matrix = draw.flip();
    const auto reduce = is_matrix ? F::CovarianceReduce::no : F::CovarianceReduce::half_squared_sum;
    return {.inputs = {draw.real(draw.shape(2, 2), -2, 2)},
            .function = [=](const Variables& x) { return Variables{F::decov(x[0], reduce)}; },
            .reference =
                [=](const References& x) {
                  const Reference c = covariances(x[0], x[0], false);
                  return References{is_matrix ? c : half_squared_sum(c)};
                },
            .gradient_atol = 1e-5};
  });
}

/// The three parts of the discriminative loss without weights; and whether some maximum or norm is near its kink.
struct Discriminative {
  double variance = 0, distance = 0, regularization = 0;
  bool is_smooth = true;

  Discriminative(const Reference& e, const Reference& labels, double delta_v, double delta_d, int norm) {
    const int64_t n = e.shape[0], k = e.shape[1];
    const auto length = [&](const Values& v) {
      double sum = 0;
      for (const double c : v) {
        sum += norm == 1 ? std::abs(c) : c * c;
        is_smooth = is_smooth && (norm == 2 || c == 0 || std::abs(c) > 0.01);
      }
      is_smooth = is_smooth && (norm == 1 || sum == 0 || sum > 0.01);
      return norm == 1 ? sum : std::sqrt(sum);
    };
    const auto positive = [&](double v) {
      is_smooth = is_smooth && std::abs(v) > 0.01;
      return std::max(v, 0.0);
    };
    std::vector<std::vector<Values>> centres;  // by instance and image
    for (int64_t c = 0; c < k; ++c) {
      Values flat;
      double pulled = 0, pixels = 0;
      centres.emplace_back();
      for (int64_t i = 0; i < n; ++i) {
        Values centre(static_cast<size_t>(k), 0);
        std::vector<Values> members;
        naive::each({e.shape[2], e.shape[3]}, [&](const Shape& at) {
          if (labels.at({i, at[0], at[1]}) != static_cast<double>(c + 1)) return;
          members.emplace_back();
          for (int64_t d = 0; d < k; ++d) members.back().push_back(e.at({i, d, at[0], at[1]}));
        });
        for (const Values& pixel : members) {
          for (size_t d = 0; d < pixel.size(); ++d) centre[d] += pixel[d] / static_cast<double>(members.size());
        }
        for (Values pixel : members) {
          for (size_t d = 0; d < pixel.size(); ++d) pixel[d] -= centre[d];
          if (members.size() > 1) pulled += square(positive(length(pixel) - delta_v));
        }
        pixels += static_cast<double>(members.size());
        flat.insert(flat.end(), centre.begin(), centre.end());
        centres.back().push_back(centre);
      }
      variance += pulled / std::max(pixels, 1.0) / static_cast<double>(k);
      regularization += length(flat) / static_cast<double>(k * n);
    }
    double pairs = 0;
    for (size_t a = 0; a < centres.size(); ++a) {
      for (size_t b = a + 1; b < centres.size(); ++b) {
        for (size_t i = 0; i < centres[a].size(); ++i) {
          Values apart = centres[a][i];
          for (size_t d = 0; d < apart.size(); ++d) apart[d] -= centres[b][i][d];
          distance += square(positive(2 * delta_d - length(apart)));
          pairs += 1;
        }
      }
    }
    distance /= std::max(pairs, 1.0);
  }
};

TEST_CASE("property: discriminative_margin_based_clustering_loss") {
  check_property([](Draw& draw) -> PropertyCase {
    const F::DiscriminativeLossOptions options{.norm = static_cast<int>(draw.integer(1, 2)),
                                               .alpha = draw.number(0.5, 2),
                                               .beta = draw.number(0.5, 2),
                                               .gamma = draw.number(0.5, 2)};
    const double delta_v = draw.number(0.2, 1), delta_d = draw.number(0.2, 1);
    const int64_t n = draw.integer(1, 2), k = draw.integer(1, 3), h = draw.integer(1, 3), w = draw.integer(1, 3);
    Arrays inputs;
    bool is_smooth;
    do {
      inputs = {draw.real({n, k, h, w}, -2, 2), draw.integers({n, h, w}, -1, k + 1)};
      is_smooth = Discriminative({inputs[0].shape(), inputs[0].to_vector<double>()},
                                 {inputs[1].shape(), inputs[1].to_vector<double>()}, delta_v, delta_d, options.norm)
                      .is_smooth;
    } while (!is_smooth);
    return {.inputs = inputs,
            .function =
                [=](const Variables& x) {
                  const F::DiscriminativeLoss all =
                      F::discriminative_margin_based_clustering_loss(x[0], x[1], delta_v, delta_d, k, options);
                  return Variables(all.variance, all.distance, all.regularization);
                },
            .reference =
                [=](const References& x) {
                  const Discriminative all(x[0], x[1], delta_v, delta_d, options.norm);
                  return References{scalar(options.alpha * all.variance), scalar(options.beta * all.distance),
                                    scalar(options.gamma * all.regularization)};
                },
            .gradient_atol = 1e-5};
  });
}

}  // namespace
}  // namespace kusari
