#include "kusari/framework/functions/loss/ctc_decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "kusari/framework/functions/loss/connectionist_temporal_classification.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

using Labels = std::vector<int32_t>;
using BeamOptions = F::CtcBeamSearchDecoderOptions;
constexpr double kInf = std::numeric_limits<double>::infinity();

// What a way through the frames writes.
Labels labels_of_way(const Labels& way, int32_t blank) {
  Labels labels;
  for (size_t t = 0; t < way.size(); ++t) {
    if (way[t] != blank && (t == 0 || way[t] != way[t - 1])) labels.push_back(way[t]);
  }
  return labels;
}

// Probabilities (T, V) of one sequence, from scores (T, 1, V).
std::vector<std::vector<double>> probabilities_of(const Array& scores) {
  std::vector<std::vector<double>> p;
  for (int64_t t = 0; t < scores.shape(0); ++t) {
    p.push_back(scores.at(t).to_vector<double>());
    double sum = 0;
    for (double& each : p.back()) sum += each = std::exp(each);
    for (double& each : p.back()) each /= sum;
  }
  return p;
}

// The probability of each sequence of labels, from all ways through the frames.
std::map<Labels, double> all_labellings(const std::vector<std::vector<double>>& p, int32_t blank) {
  std::map<Labels, double> result;
  Labels way(p.size(), 0);
  const auto symbols = static_cast<int32_t>(p[0].size());
  for (bool is_done = false; !is_done;) {
    double product = 1;
    for (size_t t = 0; t < way.size(); ++t) product *= p[t][static_cast<size_t>(way[t])];
    result[labels_of_way(way, blank)] += product;
    size_t at = 0;
    while (at < way.size() && ++way[at] == symbols) way[at++] = 0;
    is_done = at == way.size();
  }
  return result;
}

// Prefix beam search as Hannun et al. 2014 write it, in probabilities and with whole prefixes.
std::vector<std::pair<Labels, double>> plain_search(const std::vector<std::vector<double>>& p, int32_t blank,
                                                    size_t width) {
  struct Ways {
    double blank = 0, label = 0;
  };
  std::vector<std::pair<Labels, Ways>> beams = {{{}, {1, 0}}};
  for (const std::vector<double>& frame : p) {
    std::map<Labels, Ways> next;
    for (const auto& [labels, ways] : beams) {
      for (int32_t v = 0; v < static_cast<int32_t>(frame.size()); ++v) {
        const double each = frame[static_cast<size_t>(v)], total = ways.blank + ways.label;
        if (v == blank) {
          next[labels].blank += each * total;
          continue;
        }
        const bool is_last = !labels.empty() && labels.back() == v;
        if (is_last) next[labels].label += each * ways.label;
        Labels longer = labels;
        longer.push_back(v);
        next[longer].label += each * (is_last ? ways.blank : total);
      }
    }
    beams.assign(next.begin(), next.end());
    std::stable_sort(beams.begin(), beams.end(), [](const auto& a, const auto& b) {
      return a.second.blank + a.second.label > b.second.blank + b.second.label;
    });
    beams.resize(std::min(beams.size(), width));
  }
  std::vector<std::pair<Labels, double>> result;
  for (const auto& [labels, ways] : beams) result.emplace_back(labels, std::log(ways.blank + ways.label));
  return result;
}

// Scores (T, 1, V) whose largest are those of a way.
Array scores_of_way(const Labels& way, int64_t symbols) {
  std::vector<double> scores;
  for (const int32_t symbol : way) {
    for (int64_t v = 0; v < symbols; ++v) scores.push_back(v == symbol ? 1 : -0.25 * static_cast<double>(v));
  }
  return array(scores, {static_cast<int64_t>(way.size()), 1, symbols}, test_device());
}

std::vector<Variable> split_frames(const Array& scores) {
  std::vector<Variable> frames;
  for (int64_t t = 0; t < scores.shape(0); ++t) frames.emplace_back(scores.at(t));
  return frames;
}

TEST_CASE("ctc_greedy_decoder writes what the likeliest way does") {
  struct Case {
    Labels way;
    int64_t blank;
    Labels labels;
  };
  for (const Case& c : {Case{{0, 1, 1, 0, 1, 2, 2, 0}, 0, {1, 1, 2}},
                        {{0, 0, 0}, 0, {}},
                        {{0, 1, 1, 0, 1, 2, 2, 0}, 2, {0, 1, 0, 1, 0}},
                        {{2, 2, 1}, 1, {2}},
                        {{1}, 0, {1}}}) {
    for (const Dtype dtype : kFloatingDtypes) {
      const Array scores = scores_of_way(c.way, 3).astype(dtype);
      CHECK(F::ctc_greedy_decoder(scores, c.blank) == std::vector<Labels>{c.labels});
      CHECK(F::ctc_greedy_decoder(split_frames(scores), c.blank) == std::vector<Labels>{c.labels});
    }
  }
  // Of equal scores the first.
  CHECK(F::ctc_greedy_decoder({zeros({2, 3}, Dtype::float32, test_device())}, 1) == std::vector<Labels>{{0}, {0}});
}

TEST_CASE("ctc decoders read the frames of each sequence") {
  const Array scores = uniform({6, 3, 4}, -3, 3), length = array<int>({6, 0, 3}, test_device());
  const auto greedy = F::ctc_greedy_decoder(scores, 3, {.input_length = length});
  const auto beams = F::ctc_beam_search_decoder(scores, 3, {.input_length = length});
  CHECK(F::ctc_greedy_decoder(split_frames(scores), 3, {.input_length = length}) == greedy);
  const std::vector<int64_t> frames = {6, 0, 3};
  REQUIRE(greedy.size() == 3);
  REQUIRE(beams.size() == 3);
  for (const size_t b : {0u, 2u}) {
    const Array own = scores.slice(0, 0, frames[b]).slice(1, static_cast<int64_t>(b), 1);
    CHECK(F::ctc_greedy_decoder(own, 3)[0] == greedy[b]);
    const F::CtcLabelling alone = F::ctc_beam_search_decoder(own, 3)[0][0];
    CHECK(alone.labels == beams[b][0].labels);
    CHECK(alone.log_probability == beams[b][0].log_probability);
  }
  CHECK(greedy[1].empty());
  CHECK(beams[1][0].labels.empty());
  CHECK(beams[1][0].log_probability == 0);
  CHECK(F::ctc_greedy_decoder(zeros({2, 0, 3}, Dtype::float32, test_device()), 0).empty());
  CHECK(F::ctc_beam_search_decoder(zeros({2, 0, 3}, Dtype::float32, test_device()), 0).empty());
  // NaN behind a length does not matter.
  scores.at(4).slice(0, 2, 1).fill(std::nan(""));
  CHECK(F::ctc_greedy_decoder(scores, 3, {.input_length = length}) == greedy);
}

TEST_CASE("a wide ctc_beam_search_decoder finds every sequence of labels with its probability") {
  struct Case {
    int64_t frames, symbols, blank;
  };
  for (const Case& c : {Case{1, 2, 0}, {4, 2, 1}, {8, 2, 0}, {5, 3, 0}, {6, 3, 2}, {4, 4, 1}, {5, 4, 3}, {3, 6, 0}}) {
    for (const uint64_t seed : {1u, 2u, 3u}) {
      CAPTURE(c.frames);
      CAPTURE(c.symbols);
      CAPTURE(seed);
      const Array scores = uniform({c.frames, 1, c.symbols}, -3, 3, seed);
      const std::map<Labels, double> expected = all_labellings(probabilities_of(scores), static_cast<int32_t>(c.blank));
      const auto found = F::ctc_beam_search_decoder(scores, c.blank, {.beam_width = 5000, .top_paths = 5000})[0];
      REQUIRE(found.size() == expected.size());
      double sum = 0;
      std::map<Labels, double> seen;
      for (size_t i = 0; i < found.size(); ++i) {
        REQUIRE(expected.contains(found[i].labels));
        CHECK(found[i].log_probability == doctest::Approx(std::log(expected.at(found[i].labels))).epsilon(1e-12));
        if (i > 0) CHECK(found[i].log_probability <= found[i - 1].log_probability);
        sum += std::exp(found[i].log_probability);
        seen[found[i].labels] = 0;
      }
      CHECK(seen.size() == found.size());  // each of them once
      CHECK(sum == doctest::Approx(1).epsilon(1e-12));
      // As the loss has it.
      const Labels& best = found[0].labels;
      const Variable loss = F::connectionist_temporal_classification(
          split_frames(scores), array(best, {1, static_cast<int64_t>(best.size())}, test_device()), c.blank);
      CHECK(found[0].log_probability == doctest::Approx(-loss.item<double>()).epsilon(1e-9));
    }
  }
}

TEST_CASE("ctc_beam_search_decoder of any width is the plain search") {
  for (const uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u}) {
    const Array scores = uniform({12, 1, 4}, -2, 2, seed);
    const auto p = probabilities_of(scores);
    for (const int64_t width : {1, 2, 3, 5, 17}) {
      CAPTURE(seed);
      CAPTURE(width);
      const auto expected = plain_search(p, 2, static_cast<size_t>(width));
      const auto found = F::ctc_beam_search_decoder(scores, 2, {.beam_width = width, .top_paths = width})[0];
      REQUIRE(found.size() == expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        CHECK(found[i].labels == expected[i].first);
        CHECK(found[i].log_probability == doctest::Approx(expected[i].second).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("the likeliest labels are not those of the likeliest way") {
  // Graves 2012, figure 7.5: twice a blank has 0.36, but one label 0.24 + 0.24 + 0.16.
  const Array log_p =
      array<double>({std::log(0.4), std::log(0.6), std::log(0.4), std::log(0.6)}, {2, 1, 2}, test_device());
  CHECK(F::ctc_greedy_decoder(log_p, 1) == std::vector<Labels>{{}});
  const auto found = F::ctc_beam_search_decoder(log_p, 1, {.top_paths = 5})[0];
  REQUIRE(found.size() == 2);
  CHECK(found[0].labels == Labels{0});
  CHECK(found[0].log_probability == doctest::Approx(std::log(0.64)));
  CHECK(found[1].labels == Labels{});
  CHECK(found[1].log_probability == doctest::Approx(std::log(0.36)));
  CHECK(F::ctc_beam_search_decoder(log_p, 1)[0].size() == 1);
}

TEST_CASE("ctc_beam_search_decoder of long sequences and of impossible symbols") {
  // Two equal symbols: a label k times has choose(T + 1, 2 k) of the 2^T ways, most of them for k = T / 4.
  const Array even = zeros({400, 1, 2}, Dtype::float32, test_device());
  const auto best = F::ctc_beam_search_decoder(even, 0)[0][0];
  CHECK(best.labels == Labels(100, 1));
  const double ways = std::lgamma(402.0) - std::lgamma(201.0) - std::lgamma(202.0);
  CHECK(best.log_probability == doctest::Approx(ways - 400 * std::log(2.0)).epsilon(1e-6));
  // Only a, then only a blank or b.
  const Array some = array<double>({-kInf, 0, -kInf, 0, -kInf, 0}, {2, 1, 3}, test_device());
  const auto found = F::ctc_beam_search_decoder(some, 0, {.top_paths = 9})[0];
  REQUIRE(found.size() == 2);
  CHECK(found[0].log_probability == doctest::Approx(std::log(0.5)));
  CHECK(found[0].labels.size() + found[1].labels.size() == 3);  // a and ab
  // One label that must come again: without a blank it does not.
  const Array again = array<double>({-kInf, 0, -kInf, 0}, {2, 1, 2}, test_device());
  CHECK(F::ctc_beam_search_decoder(again, 0)[0][0].labels == Labels{1});
}

TEST_CASE("ctc decoders with wrong arguments") {
  const Variable x = ones({2, 3}, Dtype::float32, test_device());
  CHECK_THROWS_WITH_AS(F::ctc_greedy_decoder(std::span<const Variable>(), 0),
                       "F::ctc_greedy_decoder: x is empty: it must have an array per frame", ValueError);
  CHECK_THROWS_WITH_AS(F::ctc_greedy_decoder({x, x}, 3),
                       "F::ctc_greedy_decoder: blank_symbol is 3: it must be in [0, 3)", ValueError);
  CHECK_THROWS_WITH_AS(F::ctc_greedy_decoder(x, 0),
                       "F::ctc_greedy_decoder: scores has shape (2, 3): it must have 3 axes", TypeError);
  CHECK_THROWS_WITH_AS(F::ctc_beam_search_decoder(zeros({0, 2, 3}), 0),
                       "F::ctc_beam_search_decoder: scores has shape (0, 2, 3): it must have a frame", ValueError);
  CHECK_THROWS_WITH_AS(F::ctc_beam_search_decoder(int_ones({2, 2, 3}), 0),
                       "F::ctc_beam_search_decoder: scores has dtype int64: scores.dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::ctc_beam_search_decoder({Variable(int_ones({2, 3}), false)}, 0),
                       "F::ctc_beam_search_decoder: x[0] has dtype int64: x[0].dtype must be floating", TypeError);
  CHECK_THROWS_WITH_AS(F::ctc_beam_search_decoder({x}, 0, {.input_length = array<int>({1, 2}, test_device())}),
                       "F::ctc_beam_search_decoder: input_length[1] is 2: it must be in [0, 1]", ValueError);
  CHECK_THROWS_WITH_AS(F::ctc_greedy_decoder({x}, 0, {.input_length = ones({2}, Dtype::float32, test_device())}),
                       "F::ctc_greedy_decoder: input_length has shape (2,) and dtype float32: it must have integers of "
                       "shape (2,)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::ctc_beam_search_decoder({x}, 0, {.beam_width = 0}),
                       "F::ctc_beam_search_decoder: beam_width is 0: it must be in [1, 10000]", ValueError);
  CHECK_THROWS_WITH_AS(F::ctc_beam_search_decoder({x}, 0, {.beam_width = 3, .top_paths = 4}),
                       "F::ctc_beam_search_decoder: top_paths is 4: it must be in [1, beam_width]", ValueError);
  const Array bad = ones({2, 2, 3}, Dtype::float32, test_device());
  for (const double value : {std::nan(""), kInf, -kInf}) {
    bad.at(1).slice(0, 1, 1).fill(value);
    CHECK_THROWS_WITH_AS(F::ctc_beam_search_decoder(bad, 0),
                         "F::ctc_beam_search_decoder: scores of sequence 1 in frame 1 hold NaN, plus infinity, or "
                         "nothing above minus infinity",
                         ValueError);
    CHECK_THROWS_AS(F::ctc_greedy_decoder(bad, 0), ValueError);
  }
}

}  // namespace
}  // namespace kusari
