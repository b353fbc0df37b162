#include "kusari/framework/links/attention/beam_search.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"

namespace kusari::beam_search_test {
namespace {

constexpr int64_t kWords = 4, kEnd = 3;

// Scores that depend on the row of the input and on all tokens so far.
double score_of(int64_t row, const std::vector<int32_t>& tokens, int64_t next) {
  double phase = 0.3 * static_cast<double>(row) + static_cast<double>(next);
  for (const int32_t token : tokens) phase = 1.7 * phase + token;
  return 2 * std::sin(phase + 0.5);
}
double log_prob_of(int64_t row, const std::vector<int32_t>& tokens, int64_t next) {
  double sum = 0;
  for (int64_t word = 0; word < kWords; ++word) sum += std::exp(score_of(row, tokens, word));
  return score_of(row, tokens, next) - std::log(sum);
}

// A decoder whose state is what it has seen.
class Decoder {
 public:
  Decoder(int64_t rows, int64_t beams) : beams_{beams}, texts_(static_cast<size_t>(rows * beams)) {}

  Variable scores(const Variable& tokens) {
    std::vector<float> values;
    const auto last = tokens.to_vector<int32_t>();
    REQUIRE(last.size() == texts_.size());
    for (size_t i = 0; i < last.size(); ++i) {
      if (is_begun_) texts_[i].push_back(last[i]);
      for (int64_t word = 0; word < kWords; ++word) {
        values.push_back(static_cast<float>(score_of(static_cast<int64_t>(i) / beams_, texts_[i], word)));
      }
    }
    is_begun_ = true;
    return Variable(array(values, {static_cast<int64_t>(last.size()), kWords}), false);
  }
  void select(const Array& which) {
    std::vector<std::vector<int32_t>> chosen;
    for (const int64_t row : which.to_vector<int64_t>()) chosen.push_back(texts_[static_cast<size_t>(row)]);
    texts_ = chosen;
  }

 private:
  int64_t beams_;
  bool is_begun_ = false;
  std::vector<std::vector<int32_t>> texts_;
};

std::vector<std::vector<Beam>> search(int64_t rows, const BeamSearchOptions& options) {
  Decoder decoder(rows, options.beams);
  return beam_search([&](const Variable& tokens) { return decoder.scores(tokens); },
                     [&](const Array& which) { decoder.select(which); }, rows, options);
}

// All texts that end within `length` tokens, with their log probabilities.
void collect(int64_t row, std::vector<int32_t> tokens, double log_prob, size_t length,
             std::map<std::vector<int32_t>, double>* all) {
  if (tokens.size() == length) return;
  all->emplace(tokens, log_prob + log_prob_of(row, tokens, kEnd));
  for (int32_t word = 0; word < kEnd; ++word) {
    std::vector<int32_t> longer = tokens;
    longer.push_back(word);
    collect(row, longer, log_prob + log_prob_of(row, tokens, word), length, all);
  }
}

}  // namespace

TEST_CASE("a search with beams for everything finds the best texts") {
  const auto found = search(3, {.beams = 150, .begin = 0, .end = kEnd, .max_length = 5, .length_penalty = 0});
  REQUIRE(found.size() == 3);
  for (int64_t row = 0; row < 3; ++row) {
    std::map<std::vector<int32_t>, double> all;
    collect(row, {}, 0, 5, &all);
    const Beam* best = nullptr;  // among those that ended
    for (const Beam& beam : found[static_cast<size_t>(row)]) {
      const auto known = all.find(beam.tokens.to_vector<int32_t>());
      if (known == all.end()) continue;
      if (best == nullptr) best = &beam;
      CHECK(beam.score == doctest::Approx(known->second).epsilon(1e-5));
    }
    REQUIRE(best != nullptr);
    double expected = -1e9;
    for (const auto& [tokens, log_prob] : all) expected = std::max(expected, log_prob);
    CHECK(best->score == doctest::Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("one beam takes the best token each time") {
  const auto found = search(2, {.beams = 1, .begin = 0, .end = kEnd, .max_length = 6, .length_penalty = 0.6});
  for (int64_t row = 0; row < 2; ++row) {
    std::vector<int32_t> tokens;
    double log_prob = 0;
    while (tokens.size() < 6) {
      int32_t best = 0;
      for (int32_t word = 1; word < kWords; ++word) {
        if (score_of(row, tokens, word) > score_of(row, tokens, best)) best = word;
      }
      log_prob += log_prob_of(row, tokens, best);
      if (best == kEnd) break;
      tokens.push_back(best);
    }
    REQUIRE(found[static_cast<size_t>(row)].size() == 1);
    const Beam& beam = found[static_cast<size_t>(row)][0];
    CHECK(beam.tokens.to_vector<int32_t>() == tokens);
    CHECK(beam.score == doctest::Approx(log_prob / std::pow((5.0 + static_cast<double>(tokens.size())) / 6, 0.6)));
  }
}

TEST_CASE("more beams find nothing worse") {
  double before = -1e9;
  for (const int64_t beams : {1, 4, 40}) {
    const auto found = search(1, {.beams = beams, .end = kEnd, .max_length = 5, .length_penalty = 0});
    CHECK(found[0][0].score >= before - 1e-6);
    before = found[0][0].score;
    CHECK(found[0].size() <= static_cast<size_t>(beams));
    for (size_t i = 1; i < found[0].size(); ++i) CHECK(found[0][i - 1].score >= found[0][i].score);
  }
}

TEST_CASE("rows that are no texts yet may have any scores") {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const auto scores = [&](const Variable&) {  // token 1 alone may come
    return Variable(array<float>({-infinity, 0, -infinity, nan, nan, nan}, {2, 3}));
  };
  const auto found = beam_search(scores, [](const Array&) {}, 1, {.beams = 2, .end = 2, .max_length = 3});
  REQUIRE(found[0].size() == 1);
  CHECK(found[0][0].tokens.to_vector<int32_t>() == std::vector<int32_t>{1, 1, 1});
}

TEST_CASE("searches that cannot be") {
  const auto none = [](const Variable&) { return Variable(zeros({3, 4})); };
  const auto select = [](const Array&) {};
  CHECK(beam_search(none, select, 0).empty());
  CHECK_THROWS_WITH_AS(beam_search(none, select, 1, {.beams = 2}),
                       "beam_search: the scores have shape (3, 4): they must be (2, words)", TypeError);
  CHECK_THROWS_AS(beam_search(none, select, 1, {.beams = 0}), ValueError);
  CHECK_THROWS_AS(beam_search(none, select, -1), ValueError);
  CHECK_THROWS_AS(beam_search(none, select, 1, {.max_length = -1}), ValueError);
  CHECK_THROWS_AS(beam_search(nullptr, select, 1), ValueError);
  CHECK_THROWS_AS(beam_search(none, nullptr, 1), ValueError);
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const auto in_second = [&](float value) {
    return [value](const Variable&) { return Variable(array<float>({0, 1, 2, 0, value, value}, {2, 3})); };
  };
  CHECK_THROWS_WITH_AS(beam_search(in_second(nan), select, 2, {.beams = 1}),
                       "beam_search: scores of row 1 hold NaN, or nothing above minus infinity", ValueError);
  CHECK_NOTHROW(beam_search(in_second(-infinity), select, 2, {.beams = 1, .end = 2, .max_length = 3}));
  const auto nothing = [](const Variable&) { return Variable(); };
  CHECK_THROWS_AS(beam_search(nothing, select, 1), TypeError);
}

}  // namespace kusari::beam_search_test
