#include <cmath>

#include <doctest/doctest.h>

#include "kusari/examples/memnn/model.h"
#include "kusari/examples/memnn/stories.h"

namespace kusari::memnn_test {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("stories of bAbI") {
  const auto questions =
      parse_stories({"1 Mary moved to the Garden.", "2 Where is Mary? \tgarden\t1", "3 She took the milk.",
                     "4 What is there?\tmilk,apple\t1 3", "", "1 John left.", "2 Who left?\tJohn\t1"},
                    "qa");
  REQUIRE(questions.size() == 3);
  CHECK(questions[0].story == std::vector<Sentence>{{"mary", "moved", "to", "the", "garden"}});
  CHECK(questions[0].words == Words{"where", "is", "mary"});
  CHECK(questions[0].answer == "garden");
  CHECK(questions[1].story.size() == 2);
  CHECK(questions[1].answer == "milk,apple");
  CHECK(questions[2].story == std::vector<Sentence>{{"john", "left"}});
  CHECK_THROWS_WITH_AS(parse_stories({"1 A b.", "Mary moved."}, "qa"),
                       "qa:2: \"Mary moved.\" does not begin with a number and a blank", ValueError);

  datasets::Vocabulary words(Words{"mary", "moved", "to", "the", "garden", "where", "is", "she", "took", "milk", "what",
                                   "there", "milk,apple", "john", "left", "who", "John"});
  const auto data = to_arrays(questions, words, 2, 5);
  CHECK(data.arrays()[0].shape() == Shape{3, 2, 5});
  CHECK(data.get(0)[0].to_vector<int32_t>() == std::vector<int32_t>{-1, -1, -1, -1, -1, 0, 1, 2, 3, 4});
  CHECK(data.get(0)[1].to_vector<int32_t>() == std::vector<int32_t>{5, 6, 0, -1, -1});
  CHECK(data.get(1)[2].item<int32_t>() == 12);
  // The oldest sentences are forgotten.
  CHECK(to_arrays(questions, words, 1, 5).get(1)[0].to_vector<int32_t>() == std::vector<int32_t>{7, 8, 3, 9, -1});
}

// One question by plain loops. Places count from 1.
std::vector<double> scores_of(const MemNN& model, const std::vector<std::vector<int>>& sentences,
                              const std::vector<int>& question, bool by_place) {
  using Vector = std::vector<double>;
  const auto row = [](const L::EmbedID& embed, size_t id) {
    return F::get_item(Variable(embed.W.array()), static_cast<int64_t>(id)).to_vector<double>();
  };
  const auto units = static_cast<size_t>(model.embeds[0].W.shape(1));
  const auto encode = [&](size_t k, const std::vector<int>& words) {
    Vector sum(units, 0.0);
    for (size_t j = 0; j < words.size(); ++j) {
      const Vector word = row(model.embeds[k], static_cast<size_t>(words[j]));
      const double place = static_cast<double>(j + 1) / static_cast<double>(words.size());
      for (size_t d = 0; d < units; ++d) {
        const double unit = static_cast<double>(d + 1) / static_cast<double>(units);
        sum[d] += word[d] * (by_place ? (1 - place) - unit * (1 - 2 * place) : 1.0);
      }
    }
    return sum;
  };
  const auto remember = [&](size_t k, size_t i) {
    Vector m = encode(k, sentences[i]);
    const Vector age = row(model.ages[k], i);
    for (size_t d = 0; d < units; ++d) m[d] += age[d];
    return m;
  };
  const auto dot = [](const Vector& a, const Vector& b) {
    double sum = 0;
    for (size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
    return sum;
  };
  Vector u = encode(0, question);
  for (size_t k = 0; k + 1 < model.embeds.size(); ++k) {
    double total = 0;
    Vector found(units, 0.0);
    for (size_t i = 0; i < sentences.size(); ++i) {
      const double weight = std::exp(dot(remember(k, i), u));
      const Vector content = remember(k + 1, i);
      for (size_t d = 0; d < units; ++d) found[d] += weight * content[d];
      total += weight;
    }
    for (size_t d = 0; d < units; ++d) u[d] += found[d] / total;
  }
  Vector scores;
  const L::EmbedID& last = model.embeds[model.embeds.size() - 1];
  for (int64_t word = 0; word < last.W.shape(0); ++word) scores.push_back(dot(row(last, static_cast<size_t>(word)), u));
  return scores;
}

TEST_CASE("a memory network reads softmax(m u) c at each hop") {
  for (const bool by_place : {false, true}) {
    CAPTURE(by_place);
    MemNN model(6, 3, 3, 2, by_place ? SentenceEncoding::positions : SentenceEncoding::bag_of_words);
    for (Parameter* p : model.params()) p->array() *= Scalar(10.0);  // so that weights differ
    const Variable sentences(array(std::vector<int32_t>{0, 1, 2, 3, -1, -1, -1, -1, -1}, {1, 3, 3}), false);
    const Variable question(array(std::vector<int32_t>{4, 5, -1}, {1, 3}), false);
    const auto scores = model(sentences, question).to_vector<double>();
    const auto expected = scores_of(model, {{0, 1, 2}, {3}, {}}, {4, 5}, by_place);
    REQUIRE(scores.size() == 6);
    for (size_t i = 0; i < 6; ++i) CHECK(scores[i] == doctest::Approx(expected[i]).epsilon(1e-4));
  }
}

}  // namespace
}  // namespace kusari::memnn_test
