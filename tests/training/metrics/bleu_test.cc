#include "kusari/framework/training/metrics/bleu.h"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/text/corpus.h"

namespace kusari::bleu_test {
namespace {

using metrics::bleu;
using metrics::BleuSmoothing;
using Words = std::vector<std::string>;
using doctest::Approx;

Words words(const char* text) { return datasets::split_words(text, ""); }

// Examples 1 and 2 of Papineni et al. 2002, and NLTK's second sentence.
const Words kCandidate1 =
    words("It is a guide to action which ensures that the military always obeys the commands of the party");
const Words kCandidate2 = words("It is to insure the troops forever hearing the activity guidebook that party direct");
const std::vector<Words> kReferences = {
    words("It is a guide to action that ensures that the military will forever heed Party commands"),
    words("It is the guiding principle which guarantees the military forces always being under the command of the "
          "Party"),
    words("It is the practical guide for the army always to heed the directions of the party")};
const Words kBook = words("he read the book because he was interested in world history");
const std::vector<Words> kBookReferences = {words("he was interested in world history because he read the book")};

metrics::Bleu of_one(const Words& hypothesis, const std::vector<Words>& references,
                     const metrics::BleuOptions& options = {}) {
  return bleu(std::vector<Words>{hypothesis}, std::vector<std::vector<Words>>{references}, options);
}

TEST_CASE("modified precisions of Papineni et al. 2002") {
  // 2.1: 17/18 and 8/14 of the words, with "Party" and "party" alike in the second sentence; 10/17 and 1/13 of the
  // pairs.
  std::vector<Words> references = kReferences;
  for (Words& reference : references) {
    for (std::string& word : reference) word = word == "Party" ? "party" : word;
  }
  const auto first = of_one(kCandidate1, references), second = of_one(kCandidate2, references);
  CHECK(first.precisions[0] == Approx(17.0 / 18));
  CHECK(first.precisions[1] == Approx(10.0 / 17));
  CHECK(second.precisions[0] == Approx(8.0 / 14));
  CHECK(second.precisions[1] == Approx(1.0 / 13));
  // Example 2: seven times "the", of which one reference has two.
  const auto the = of_one(words("the the the the the the the"),
                          {words("The cat is on the mat"), words("There is a cat on the mat")});
  CHECK(the.precisions[0] == Approx(1.0 / 7));
  CHECK(of_one(words("the the the the the the the"), {words("the cat is on the mat"), words("a cat on the mat")})
            .precisions[0] == Approx(2.0 / 7));
}

TEST_CASE("scores that NLTK's documentation gives") {
  CHECK(of_one(kCandidate1, kReferences).score == Approx(0.5045666840058485).epsilon(1e-12));
  CHECK(of_one(kBook, kBookReferences).score == Approx(2 * 0.6223 - 0.5046).epsilon(2e-4));
  const auto corpus =
      bleu(std::vector<Words>{kCandidate1, kBook}, std::vector<std::vector<Words>>{kReferences, kBookReferences});
  CHECK(corpus.score == Approx(0.5920).epsilon(1e-4));
  CHECK(corpus.hypothesis_length == 29);
  CHECK(corpus.reference_length == 29);  // 16 + 2 words of one reference, 18 of another, which is as long; and 11
}

TEST_CASE("a score by hand, too short and with each smoothing") {
  const Words hypothesis = words("the cat sat here"), reference = words("the cat sat on the mat");
  // 3 of 4 words, 2 of 3 pairs, 1 of 2 triples, 0 of 1; 4 words for 6.
  const double brevity = std::exp(1 - 6.0 / 4);
  const auto check = [&](BleuSmoothing smoothing, std::vector<double> precisions) {
    const auto result = of_one(hypothesis, {reference}, {.smoothing = smoothing});
    double product = 1;
    for (size_t i = 0; i < 4; ++i) {
      CHECK(result.precisions[i] == Approx(precisions[i]));
      product *= precisions[i];
    }
    CHECK(result.brevity_penalty == Approx(brevity));
    CHECK(result.score == Approx(brevity * std::pow(product, 0.25)));
  };
  check(BleuSmoothing::none, {3.0 / 4, 2.0 / 3, 1.0 / 2, 0});
  check(BleuSmoothing::epsilon, {3.0 / 4, 2.0 / 3, 1.0 / 2, 0.1});
  check(BleuSmoothing::add_one, {3.0 / 4, 3.0 / 4, 2.0 / 3, 1.0 / 2});
  check(BleuSmoothing::exponential, {3.0 / 4, 2.0 / 3, 1.0 / 2, 1.0 / 2});
  // Half and a quarter where two lengths have none.
  const auto two = of_one(words("a x b y"), {words("a b x")}, {.smoothing = BleuSmoothing::exponential});
  CHECK(two.precisions == std::vector<double>{3.0 / 4, 1.0 / 6, 1.0 / 8, 1.0 / 8});
  CHECK(of_one(hypothesis, {reference}, {.max_order = 2}).score == Approx(brevity * std::sqrt(0.5)));
}

TEST_CASE("of references the length that is nearest counts, and of two the smaller") {
  CHECK(of_one(words("a b c"), {words("a b"), words("a b c d"), words("a")}).reference_length == 2);
  CHECK(of_one(words("a b c"), {words("a b c d"), words("a")}).reference_length == 4);
}

TEST_CASE("the best and the worst scores") {
  CHECK(of_one(kCandidate1, {kCandidate1}).score == Approx(1));
  CHECK(of_one(words("a b"), {words("c d")}, {.smoothing = BleuSmoothing::add_one}).score == 0);
  CHECK(of_one({}, {words("c d")}).score == 0);
  CHECK(of_one({}, {words("c d")}).brevity_penalty == 0);
  CHECK(of_one(words("a b"), {words("a b")}).score == 0);  // no four words
  CHECK(of_one(words("a b"), {words("a b")}, {.max_order = 2}).score == Approx(1));
}

TEST_CASE("arguments that bleu refuses") {
  const std::vector<Words> one = {words("a")};
  const std::vector<std::vector<Words>> none = {{}}, two = {one, one};
  CHECK_THROWS_WITH_AS(bleu({}, {}), "metrics::bleu: hypotheses is empty: there must be at least one", ValueError);
  CHECK_THROWS_WITH_AS(bleu(one, two),
                       "metrics::bleu: there are 1 hypotheses and references for 2: they must be as many", ValueError);
  CHECK_THROWS_WITH_AS(bleu(one, none), "metrics::bleu: hypothesis 0 has no reference: there must be at least one",
                       ValueError);
  CHECK_THROWS_WITH_AS(of_one(one[0], one, {.max_order = 0}), "metrics::bleu: max_order is 0: it must be at least 1",
                       ValueError);
  CHECK_THROWS_AS(of_one(one[0], one, {.epsilon = 0}), ValueError);
}

}  // namespace
}  // namespace kusari::bleu_test
