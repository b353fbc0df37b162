#include "kusari/framework/functions/loss/ctc_decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/loss/ctc_frames.h"

namespace kusari::functions {
namespace {

constexpr const char* kGreedy = "F::ctc_greedy_decoder";
constexpr const char* kBeamSearchDecoder = "F::ctc_beam_search_decoder";
constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b))
double log_sum(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kImpossible ? a : a + std::log1p(std::exp(b - a));
}

// The frames of (T, B, V), on the host.
std::vector<Variable> frames_of_scores(const char* call, const Variable& scores) {
  expect_floating(scores, call, "scores");
  const std::string begin = std::string(call) + ": scores has shape ";
  if (scores.ndim() != 3) throw TypeError(begin + to_string(scores.shape()) + ": it must have 3 axes");
  if (scores.shape()[0] == 0) throw ValueError(begin + to_string(scores.shape()) + ": it must have a frame");
  const Array host = scores.array().to_device(Device());
  std::vector<Variable> frames;
  for (int64_t t = 0; t < host.shape()[0]; ++t) frames.emplace_back(host.at(t), false);
  return frames;
}

std::vector<int64_t> input_lengths(const char* call, std::span<const Variable> x, const Array& given) {
  const int64_t batch = x[0].shape()[0], frames = std::ssize(x);
  if (!given.is_defined()) return std::vector<int64_t>(static_cast<size_t>(batch), frames);
  if (!is_integral(given.dtype()) || given.shape() != Shape{batch}) {
    throw TypeError(std::string(call) + ": input_length has shape " + to_string(given.shape()) + " and dtype " +
                    name(given.dtype()) + ": it must have integers of shape " + to_string(Shape{batch}));
  }
  std::vector<int64_t> lengths = given.to_vector<int64_t>();
  for (size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] >= 0 && lengths[b] <= frames) continue;
    throw ValueError(std::string(call) + ": input_length[" + std::to_string(b) + "] is " + std::to_string(lengths[b]) +
                     ": it must be in [0, " + std::to_string(frames) + "]");
  }
  return lengths;
}

// The largest of the scores of a frame; they become log probabilities.
size_t log_softmax_row(const char* call, int64_t t, size_t b, std::span<double> row) {
  size_t best = 0;
  bool is_nan = false;
  for (size_t v = 0; v < row.size(); ++v) {
    is_nan = is_nan || std::isnan(row[v]);
    if (row[v] > row[best]) best = v;
  }
  const double largest = row[best];
  if (is_nan || !std::isfinite(largest)) {
    throw ValueError(std::string(call) + ": scores of sequence " + std::to_string(b) + " in frame " +
                     std::to_string(t) + " hold NaN, plus infinity, or nothing above minus infinity");
  }
  double sum = 0;
  for (const double score : row) sum += std::exp(score - largest);
  for (double& score : row) score = score - largest - std::log(sum);
  return best;
}

// Calls take(b, log probabilities (V), the likeliest symbol) for each frame that counts of each sequence, in order.
template <class Take>
void each_frame(const char* call, std::span<const Variable> x, const std::vector<int64_t>& lengths, const Take& take) {
  const auto symbols = static_cast<size_t>(x[0].shape()[1]);
  const int64_t last = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  for (int64_t t = 0; t < last; ++t) {
    std::vector<double> scores = x[static_cast<size_t>(t)].array().to_vector<double>();
    for (size_t b = 0; b < lengths.size(); ++b) {
      if (t >= lengths[b]) continue;
      const std::span<double> row(scores.data() + b * symbols, symbols);
      const size_t best = log_softmax_row(call, t, b, row);
      take(b, std::span<const double>(row), static_cast<int32_t>(best));
    }
  }
}

// The search over one sequence.
class PrefixSearch {
 public:
  PrefixSearch(int64_t blank, int64_t width) : blank_{static_cast<int32_t>(blank)}, width_{static_cast<size_t>(width)} {
    nodes_.push_back({0, kNoLabel, 0});
    beams_.push_back({0, 0, kImpossible});
  }

  void step(std::span<const double> log_p) {
    heap_.clear();
    for (size_t i = 0; i < beams_.size(); ++i) stay(i, log_p);
    const std::vector<int32_t> likely = likeliest(log_p);
    for (const Beam& beam : beams_) extend(beam, log_p, likely);
    std::sort(heap_.begin(), heap_.end(), is_better);
    for (const Beam& beam : beams_) nodes_[beam.node].place = kNowhere;
    beams_.clear();
    for (Candidate& candidate : heap_) {
      Beam& beam = candidate.beam;
      if (candidate.label != kNoLabel) beam.node = child(beam.node, candidate.label);
      nodes_[beam.node].place = beams_.size();
      beams_.push_back(beam);
    }
  }

  std::vector<CtcLabelling> best(int64_t count) const {
    std::vector<CtcLabelling> result;
    for (const Beam& beam : beams_) {
      if (std::ssize(result) == count) break;
      CtcLabelling found{{}, beam.total()};
      for (size_t node = beam.node; node != 0; node = nodes_[node].parent) found.labels.push_back(nodes_[node].label);
      std::reverse(found.labels.begin(), found.labels.end());
      result.push_back(std::move(found));
    }
    return result;
  }

 private:
  static constexpr int32_t kNoLabel = -1;
  static constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

  // A beginning: that of its parent and a label. One that was dropped and comes again is the same node, so that no two
  // beams have the same labels.
  struct Node {
    size_t parent;
    int32_t label;
    size_t place;  // among the beams
  };

  // Log probabilities of the ways to write a beginning that end with a blank, and with its last label.
  struct Beam {
    size_t node;
    double blank, label;
    double total() const { return log_sum(blank, label); }
  };

  struct Candidate {
    double total;
    Beam beam;
    int32_t label;  // that it adds to the beam's node
  };

  static bool is_better(const Candidate& a, const Candidate& b) { return a.total > b.total; }

  // The beginning stays as it is: a blank, its last label once more, or that label behind its parent, if that is a
  // beam.
  void stay(size_t i, std::span<const double> log_p) {
    const Beam& beam = beams_[i];
    Beam next{beam.node, beam.total() + log_p[static_cast<size_t>(blank_)], kImpossible};
    if (const Node& node = nodes_[beam.node]; node.label != kNoLabel) {
      const double p = log_p[static_cast<size_t>(node.label)];
      next.label = beam.label + p;
      const size_t above = nodes_[node.parent].place;
      if (above != kNowhere) next.label = log_sum(next.label, before(beams_[above], node.label) + p);
    }
    offer({next.total(), next, kNoLabel});
  }

  // New beginnings, those that are beams already left out.
  void extend(const Beam& beam, std::span<const double> log_p, const std::vector<int32_t>& likely) {
    const double total = beam.total();
    for (const int32_t label : likely) {
      const double p = log_p[static_cast<size_t>(label)];
      if (heap_.size() == width_ && total + p <= heap_.front().total) return;  // nor are those that follow any better
      const auto found = children_.find({beam.node, label});
      if (found != children_.end() && nodes_[found->second].place != kNowhere) continue;
      const double extended = before(beam, label) + p;
      offer({extended, {beam.node, kImpossible, extended}, label});
    }
  }

  // The ways that a label can follow: between two that are equal there must be a blank.
  double before(const Beam& beam, int32_t label) const {
    return nodes_[beam.node].label == label ? beam.blank : beam.total();
  }

  // The heap has the worst candidate in front.
  void offer(const Candidate& candidate) {
    if (candidate.total == kImpossible) return;
    if (heap_.size() == width_) {
      if (!is_better(candidate, heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), is_better);
      heap_.pop_back();
    }
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(), is_better);
  }

  // Labels from the likeliest: as many as can matter for a beam. Fewer than `width` of them lead to other beams, and
  // one may be the beam's last.
  std::vector<int32_t> likeliest(std::span<const double> log_p) const {
    std::vector<int32_t> labels(log_p.size());
    std::iota(labels.begin(), labels.end(), 0);
    labels.erase(labels.begin() + blank_);
    const auto enough = labels.begin() + static_cast<std::ptrdiff_t>(std::min(labels.size(), 2 * width_));
    std::partial_sort(labels.begin(), enough, labels.end(), [&](int32_t a, int32_t b) {
      const double p = log_p[static_cast<size_t>(a)], q = log_p[static_cast<size_t>(b)];
      return p > q || (p == q && a < b);
    });
    labels.erase(enough, labels.end());
    return labels;
  }

  size_t child(size_t node, int32_t label) {
    const auto [at, is_new] = children_.try_emplace({node, label}, nodes_.size());
    if (is_new) nodes_.push_back({node, label, kNowhere});
    return at->second;
  }

  int32_t blank_;
  size_t width_;
  std::vector<Node> nodes_;  // the first is the empty beginning
  std::map<std::pair<size_t, int32_t>, size_t> children_;
  std::vector<Beam> beams_;  // the likeliest first
  std::vector<Candidate> heap_;
};

std::vector<std::vector<int32_t>> decode_greedily(std::span<const Variable> x, int64_t blank_symbol,
                                                  const Array& input_length) {
  check_ctc_frames(kGreedy, x, blank_symbol);
  expect_floating(x[0], kGreedy, "x[0]");
  const std::vector<int64_t> lengths = input_lengths(kGreedy, x, input_length);
  std::vector<std::vector<int32_t>> result(lengths.size());
  std::vector<int32_t> last(lengths.size(), static_cast<int32_t>(blank_symbol));
  each_frame(kGreedy, x, lengths, [&](size_t b, std::span<const double>, int32_t best) {
    if (best != last[b] && best != blank_symbol) result[b].push_back(best);
    last[b] = best;
  });
  return result;
}

std::vector<std::vector<CtcLabelling>> search_beams(std::span<const Variable> x, int64_t blank_symbol,
                                                    const CtcBeamSearchDecoderOptions& options) {
  check_ctc_frames(kBeamSearchDecoder, x, blank_symbol);
  expect_floating(x[0], kBeamSearchDecoder, "x[0]");
  argument::count(kBeamSearchDecoder, "beam_width", options.beam_width);
  argument::require(options.top_paths >= 1 && options.top_paths <= options.beam_width, kBeamSearchDecoder, "top_paths",
                    options.top_paths, "be in [1, beam_width]");
  const std::vector<int64_t> lengths = input_lengths(kBeamSearchDecoder, x, options.input_length);
  std::vector<PrefixSearch> searches(lengths.size(), PrefixSearch(blank_symbol, options.beam_width));
  each_frame(kBeamSearchDecoder, x, lengths,
             [&](size_t b, std::span<const double> log_p, int32_t) { searches[b].step(log_p); });
  std::vector<std::vector<CtcLabelling>> result;
  for (const PrefixSearch& search : searches) result.push_back(search.best(options.top_paths));
  return result;
}

}  // namespace

std::vector<std::vector<int32_t>> ctc_greedy_decoder(std::span<const Variable> x, int64_t blank_symbol,
                                                     const CtcGreedyDecoderOptions& options) {
  return in_host_memory(kGreedy, [&] { return decode_greedily(x, blank_symbol, options.input_length); });
}

std::vector<std::vector<int32_t>> ctc_greedy_decoder(const Variable& scores, int64_t blank_symbol,
                                                     const CtcGreedyDecoderOptions& options) {
  return in_host_memory(
      kGreedy, [&] { return decode_greedily(frames_of_scores(kGreedy, scores), blank_symbol, options.input_length); });
}

std::vector<std::vector<CtcLabelling>> ctc_beam_search_decoder(std::span<const Variable> x, int64_t blank_symbol,
                                                               const CtcBeamSearchDecoderOptions& options) {
  return in_host_memory(kBeamSearchDecoder, [&] { return search_beams(x, blank_symbol, options); });
}

std::vector<std::vector<CtcLabelling>> ctc_beam_search_decoder(const Variable& scores, int64_t blank_symbol,
                                                               const CtcBeamSearchDecoderOptions& options) {
  return in_host_memory(kBeamSearchDecoder, [&] {
    return search_beams(frames_of_scores(kBeamSearchDecoder, scores), blank_symbol, options);
  });
}

}  // namespace kusari::functions
