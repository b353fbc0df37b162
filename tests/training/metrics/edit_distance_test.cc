#include "kusari/framework/training/metrics/edit_distance.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/datasets/text/corpus.h"

namespace kusari::edit_distance_test {
namespace {

using doctest::Approx;
using metrics::edit_distance;
using Words = std::vector<std::string>;

Words words(const char* text) { return datasets::split_words(text, ""); }

// The definition, word by word.
int64_t recursive_distance(std::span<const int32_t> a, std::span<const int32_t> b) {
  if (a.empty() || b.empty()) return static_cast<int64_t>(a.size() + b.size());
  const auto behind_a = a.subspan(1), behind_b = b.subspan(1);
  return std::min({recursive_distance(behind_a, b) + 1, recursive_distance(a, behind_b) + 1,
                   recursive_distance(behind_a, behind_b) + (a[0] == b[0] ? 0 : 1)});
}

TEST_CASE("edit_distance is the smallest number of edits") {
  uint64_t drawn = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<int32_t> a(philox_word(1, drawn++) % 7), b(philox_word(1, drawn++) % 7);
    const uint32_t symbols = 1 + philox_word(1, drawn++) % 4;
    for (auto* sequence : {&a, &b}) {
      for (int32_t& each : *sequence) each = static_cast<int32_t>(philox_word(1, drawn++) % symbols);
    }
    CAPTURE(i);
    const int64_t expected = recursive_distance(a, b);
    CHECK(edit_distance(a, b) == expected);
    CHECK(edit_distance(b, a) == expected);
    const std::vector<int64_t> wide_a(a.begin(), a.end()), wide_b(b.begin(), b.end());
    CHECK(edit_distance(wide_a, wide_b) == expected);
    Words words_a, words_b;
    for (const int32_t each : a) words_a.push_back(std::to_string(each));
    for (const int32_t each : b) words_b.push_back(std::to_string(each));
    CHECK(edit_distance(words_a, words_b) == expected);
  }
}

TEST_CASE("edit_distance of texts") {
  CHECK(edit_distance("kitten", "sitting") == 3);       // Wagner and Fischer's problem on Wikipedia
  CHECK(edit_distance("intention", "execution") == 5);  // Jurafsky and Martin, 2.5
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "abc") == 0);
  // Characters, not bytes.
  CHECK(edit_distance("\xe9\x8e\x96", "\xe9\x8e\x97") == 1);
  CHECK(edit_distance("na\xc3\xafve", "naive") == 1);
  CHECK(edit_distance("\xff\xfe", "a") == 2);  // two bytes that are no characters
}

TEST_CASE("error rates are over the whole corpus") {
  const std::vector<Words> said = {words("the cat sat on mat"), words("a dog"), words("")};
  const std::vector<Words> meant = {words("the cat sat on the mat"), words("the dog barks"), words("yes")};
  const auto by_words = metrics::word_error_rate(said, meant);
  CHECK(by_words.edits == 1 + 2 + 1);
  CHECK(by_words.reference_length == 6 + 3 + 1);
  CHECK(by_words.rate == Approx(0.4));
  const auto by_characters =
      metrics::character_error_rate(Words{"kitten", "\xc3\xa9t\xc3\xa9"}, Words{"sitting", "ete"});
  CHECK(by_characters.edits == 3 + 2);
  CHECK(by_characters.reference_length == 7 + 3);
  CHECK(by_characters.rate == Approx(0.5));
  using Labels = std::vector<int32_t>;
  const auto by_labels =
      metrics::label_error_rate(std::vector<Labels>{{1, 2, 3, 4, 5}, {1}}, std::vector<Labels>{{2, 3}, {}});
  CHECK(by_labels.rate == Approx(2));  // more mistakes than there should be labels
  CHECK(metrics::word_error_rate(meant, meant).rate == 0);
}

TEST_CASE("error rates refuse what has no rate") {
  const std::vector<Words> one = {words("a")}, two = {words("a"), words("b")}, none = {words("")};
  CHECK_THROWS_WITH_AS(metrics::word_error_rate(one, two),
                       "metrics::word_error_rate: there are 1 hypotheses and 2 references: they must be as many",
                       ValueError);
  CHECK_THROWS_WITH_AS(metrics::word_error_rate(one, none),
                       "metrics::word_error_rate: references are empty: there must be something in one", ValueError);
  CHECK_THROWS_WITH_AS(metrics::character_error_rate({}, {}),
                       "metrics::character_error_rate: references are empty: there must be something in one",
                       ValueError);
  CHECK_THROWS_AS(metrics::label_error_rate({}, {}), ValueError);
}

}  // namespace
}  // namespace kusari::edit_distance_test
