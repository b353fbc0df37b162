#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kusari/framework/core/export.h"

namespace kusari::metrics {

/// The fewest elements that must be inserted, left out or replaced by another to make one sequence of the other: of
/// numbers, of words, or of the characters of texts in UTF-8, where a byte that is none counts as one. Takes time in
/// proportion to the product of the lengths. Levenshtein 1966; nltk.edit_distance.
KUSARI_API int64_t edit_distance(std::span<const int32_t> a, std::span<const int32_t> b);
KUSARI_API int64_t edit_distance(std::span<const int64_t> a, std::span<const int64_t> b);
KUSARI_API int64_t edit_distance(std::span<const std::string> a, std::span<const std::string> b);
KUSARI_API int64_t edit_distance(std::string_view a, std::string_view b);

/// How many mistakes there are for what should have been said.
struct ErrorRate {
  double rate;               ///< edits / reference_length, which can be above 1
  int64_t edits;             ///< the sum of the distances
  int64_t reference_length;  ///< elements of all references
};

/// Edits for each word of the references, over a whole corpus. hypotheses: the words of each text. references: of each
/// of them as it should be. Throws ValueError when they are not as many, and for references without a word. jiwer.wer.
KUSARI_API ErrorRate word_error_rate(std::span<const std::vector<std::string>> hypotheses,
                                     std::span<const std::vector<std::string>> references);
/// The same of characters, spaces included. jiwer.cer.
KUSARI_API ErrorRate character_error_rate(std::span<const std::string> hypotheses,
                                          std::span<const std::string> references);
/// The same of numbers, such as F::ctc_greedy_decoder gives.
KUSARI_API ErrorRate label_error_rate(std::span<const std::vector<int32_t>> hypotheses,
                                      std::span<const std::vector<int32_t>> references);

}  // namespace kusari::metrics
