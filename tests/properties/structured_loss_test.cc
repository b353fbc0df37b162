#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/functions/loss/black_out.h"
#include "kusari/framework/functions/loss/connectionist_temporal_classification.h"
#include "kusari/framework/functions/loss/crf1d.h"
#include "kusari/framework/functions/loss/negative_sampling.h"
#include "kusari/tests/properties/property.h"
#include "kusari/tests/test_device.h"

// Losses of sequences against sums over all sequences, and of a few drawn labels.
namespace kusari::testing {
namespace {

using Labels = std::vector<int64_t>;

/// Calls visit for every sequence of n numbers below `symbols`.
void each_sequence(int64_t symbols, size_t n, const std::function<void(const Labels&)>& visit) {
  Labels sequence(n);
  while (true) {
    visit(sequence);
    size_t i = 0;
    while (i < n && ++sequence[i] == symbols) sequence[i++] = 0;
    if (i == n) return;
  }
}

Array int_array(const Labels& values, const Shape& shape) { return array(values, shape).astype(Dtype::int32); }

Reference mean_of(const std::vector<double>& losses) {
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return {{}, {sum / static_cast<double>(losses.size())}};
}

Reference reduced_losses(const std::vector<double>& losses, F::Reduce reduce) {
  if (reduce == F::Reduce::no) return {{static_cast<int64_t>(losses.size())}, losses};
  Reference result = mean_of(losses);
  if (reduce == F::Reduce::sum) result.values[0] *= static_cast<double>(losses.size());
  return result;
}

/// What a way through the frames writes: neighbours that are equal count once, blanks not at all.
Labels written(const Labels& way, int64_t blank) {
  Labels labels;
  for (size_t t = 0; t < way.size(); ++t) {
    if (way[t] != blank && (t == 0 || way[t] != way[t - 1])) labels.push_back(way[t]);
  }
  return labels;
}

/// Frames that the labels need.
int64_t needed(const Labels& labels) {
  int64_t frames = static_cast<int64_t>(labels.size());
  for (size_t i = 1; i < labels.size(); ++i) frames += labels[i] == labels[i - 1];
  return frames;
}

double ctc_loss(const References& x, int64_t b, const Labels& labels, int64_t frames, int64_t blank) {
  const int64_t symbols = x[0].shape[1];
  double total = 0;
  each_sequence(symbols, static_cast<size_t>(frames), [&](const Labels& way) {
    if (written(way, blank) != labels) return;
    double p = 1;
    for (size_t t = 0; t < way.size(); ++t) {
      double z = 0;
      for (int64_t v = 0; v < symbols; ++v) z += std::exp(x[t].at({b, v}));
      p *= std::exp(x[t].at({b, way[t]})) / z;
    }
    total += p;
  });
  return -std::log(total);
}

TEST_CASE("property: connectionist_temporal_classification") {
  check_property([](Draw& draw) -> PropertyCase {
    const int64_t frames = draw.integer(1, 4), batch = draw.integer(1, 3), symbols = draw.integer(2, 4);
    const int64_t width = draw.integer(0, 3), blank = draw.integer(0, symbols - 1);
    std::vector<Labels> labels(static_cast<size_t>(batch));
    Labels table(static_cast<size_t>(batch * width), -1), input_length, label_length;
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t used = draw.integer(1, frames);
      Labels& own = labels[static_cast<size_t>(b)];
      for (int64_t left = draw.integer(0, width); left > 0; --left) {
        own.push_back((blank + draw.integer(1, symbols - 1)) % symbols);
        if (needed(own) > used) own.pop_back();
      }
      std::copy(own.begin(), own.end(), table.begin() + b * width);
      input_length.push_back(used);
      label_length.push_back(static_cast<int64_t>(own.size()));
    }
    const Array t = on_test_device(int_array(table, {batch, width}));
    const F::ConnectionistTemporalClassificationOptions options{
        .input_length = on_test_device(int_array(input_length, {batch})),
        .label_length = on_test_device(int_array(label_length, {batch})),
        .reduce = draw.pick({F::Reduce::mean, F::Reduce::no})};
    PropertyCase one;
    for (int64_t i = 0; i < frames; ++i) one.inputs.push_back(draw.real({batch, symbols}, -2, 2));
    one.function = [=](const Variables& x) {
      return Variables{F::connectionist_temporal_classification({x.data(), x.size()}, t, blank, options)};
    };
    one.reference = [=](const References& x) {
      std::vector<double> losses;
      for (size_t b = 0; b < labels.size(); ++b) {
        losses.push_back(ctc_loss(x, static_cast<int64_t>(b), labels[b], input_length[b], blank));
      }
      return References{reduced_losses(losses, options.reduce)};
    };
    return one;
  });
}

/// Batches of sequences that end one after the other.
struct Sequences {
  int64_t n_label;
  std::vector<int64_t> batches;  // by position

  explicit Sequences(Draw& draw) : n_label{draw.integer(1, 3)} {
    int64_t batch = draw.integer(1, 3);
    for (int64_t left = draw.integer(1, 4); left > 0; --left) {
      batches.push_back(batch);
      batch = draw.integer(1, batch);
    }
  }
  size_t length(int64_t b) const {
    size_t n = 0;
    while (n < batches.size() && batches[n] > b) ++n;
    return n;
  }
  Arrays inputs(Draw& draw) const {
    Arrays result(draw.real({n_label, n_label}, -1, 1));
    for (const int64_t batch : batches) result.push_back(draw.real({batch, n_label}, -2, 2));
    return result;
  }
};

/// What labels of sequence b add up to; x is the costs and then the positions.
double crf_score(const References& x, int64_t b, const Labels& labels) {
  double score = 0;
  for (size_t t = 0; t < labels.size(); ++t) {
    score += x[t + 1].at({b, labels[t]});
    if (t > 0) score += x[0].at({labels[t - 1], labels[t]});
  }
  return score;
}

std::span<const Variable> positions(const Variables& x) { return {x.data() + 1, x.size() - 1}; }

TEST_CASE("property: crf1d") {
  check_property([](Draw& draw) -> PropertyCase {
    const Sequences sequences(draw);
    std::vector<Variable> ys;
    for (const int64_t batch : sequences.batches) ys.emplace_back(draw.integers({batch}, 0, sequences.n_label - 1));
    const F::Reduce reduce = draw.pick({F::Reduce::mean, F::Reduce::no});
    PropertyCase one;
    one.inputs = sequences.inputs(draw);
    one.function = [=](const Variables& x) { return Variables{F::crf1d(x[0], positions(x), ys, reduce)}; };
    one.reference = [=](const References& x) {
      std::vector<double> losses;
      for (int64_t b = 0; b < sequences.batches[0]; ++b) {
        double z = 0;
        const size_t length = sequences.length(b);
        each_sequence(sequences.n_label, length, [&](const Labels& labels) { z += std::exp(crf_score(x, b, labels)); });
        Labels labels;
        for (size_t t = 0; t < length; ++t) labels.push_back(ys[t].array().at(b).item<int64_t>());
        losses.push_back(std::log(z) - crf_score(x, b, labels));
      }
      return References{reduced_losses(losses, reduce)};
    };
    return one;
  });
}

TEST_CASE("property: argmax_crf1d") {
  check_property([](Draw& draw) -> PropertyCase {
    const Sequences sequences(draw);
    PropertyCase one;
    one.inputs = sequences.inputs(draw);
    one.function = [](const Variables& x) {
      const F::CrfPath best = F::argmax_crf1d(x[0], positions(x));
      Variables all(best.score);
      for (const Array& labels : best.path) all.push_back(labels);
      return all;
    };
    one.reference = [=](const References& x) {
      References results = {naive::filled({sequences.batches[0]})};
      for (const int64_t batch : sequences.batches) results.push_back(naive::filled({batch}));
      for (int64_t b = 0; b < sequences.batches[0]; ++b) {
        Labels best;
        each_sequence(sequences.n_label, sequences.length(b), [&](const Labels& labels) {
          if (best.empty() || crf_score(x, b, labels) > crf_score(x, b, best)) best = labels;
        });
        results[0].at({b}) = crf_score(x, b, best);
        for (size_t t = 0; t < best.size(); ++t) results[t + 1].at({b}) = static_cast<double>(best[t]);
      }
      return results;
    };
    one.first_order = one.second_order = false;  // a kink lies wherever two sequences are equal
    return one;
  });
}

double dot(const Reference& x, int64_t i, const Reference& W, int64_t row) {
  double sum = 0;
  for (int64_t d = 0; d < x.shape[1]; ++d) sum += x.at({i, d}) * W.at({row, d});
  return sum;
}

TEST_CASE("property: negative_sampling") {
  check_property([](Draw& draw) -> PropertyCase {
    const int64_t n = draw.integer(1, 4), size = draw.integer(1, 5), labels = draw.integer(1, 5),
                  drawn = draw.integer(0, 3);
    const Array t = draw.integers({n}, -1, labels - 1), samples = draw.integers({n, 1 + drawn}, 0, labels - 1);
    const F::Reduce reduce = draw.pick({F::Reduce::sum, F::Reduce::no});
    return {
        .inputs = {draw.real({n, size}, -1.5, 1.5), draw.real({labels, size}, -1.5, 1.5)},
        .function =
            [=](const Variables& x) {
              const auto sampler = [&](const Shape&) { return on_test_device(samples); };
              return Variables{F::negative_sampling(x[0], on_test_device(t), x[1], sampler, drawn, {.reduce = reduce})};
            },
        .reference =
            [=](const References& x) {
              std::vector<double> losses;
              for (int64_t i = 0; i < n; ++i) {
                const int64_t label = t.at(i).item<int64_t>();
                double loss = label == -1 ? 0 : std::log1p(std::exp(-dot(x[0], i, x[1], label)));
                for (int64_t k = 1; label != -1 && k <= drawn; ++k) {
                  loss += std::log1p(std::exp(dot(x[0], i, x[1], samples.at(i).at(k).item<int64_t>())));
                }
                losses.push_back(loss);
              }
              return References{reduced_losses(losses, reduce)};
            }};
  });
}

TEST_CASE("property: black_out") {
  check_property([](Draw& draw) -> PropertyCase {
    const int64_t n = draw.integer(1, 4), size = draw.integer(1, 4), labels = draw.integer(1, 5),
                  drawn = draw.integer(1, 3);
    const Array t = draw.integers({n}, 0, labels - 1), samples = draw.integers({n, drawn}, 0, labels - 1);
    const F::Reduce reduce = draw.pick({F::Reduce::mean, F::Reduce::no});
    return {.inputs = {draw.real({n, size}, -1, 1), draw.real({labels, size}, -1, 1)},
            .function =
                [=](const Variables& x) {
                  return Variables{F::black_out(x[0], on_test_device(t), x[1], on_test_device(samples), reduce)};
                },
            .reference =
                [=](const References& x) {
                  std::vector<double> losses;
                  for (int64_t i = 0; i < n; ++i) {
                    std::vector<double> p = {std::exp(dot(x[0], i, x[1], t.at(i).item<int64_t>()))};
                    for (int64_t k = 0; k < drawn; ++k) {
                      p.push_back(std::exp(dot(x[0], i, x[1], samples.at(i).at(k).item<int64_t>())));
                    }
                    double z = 0;
                    for (const double v : p) z += v;
                    double loss = -std::log(p[0] / z);
                    for (size_t k = 1; k < p.size(); ++k) loss -= std::log(1 - p[k] / z);
                    losses.push_back(loss);
                  }
                  return References{reduced_losses(losses, reduce)};
                }};
  });
}

}  // namespace
}  // namespace kusari::testing
