#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/export.h"

namespace kusari::metrics {

/// What stands for the share of n-grams of a length of which none is found (Chen and Cherry 2014).
enum class BleuSmoothing : uint8_t {
  none,         ///< 0, so that the score is 0 too
  epsilon,      ///< `BleuOptions::epsilon` n-grams found: their method 1, NLTK's too
  add_one,      ///< one n-gram more that is found, at all lengths above 1: Lin and Och 2004, their method 2
  exponential,  ///< half an n-gram found, a quarter at the next such length, and so on: NIST's, their method 3
};

struct BleuOptions {
  int64_t max_order = 4;  ///< words of the longest n-grams, at least 1
  BleuSmoothing smoothing = BleuSmoothing::none;
  double epsilon = 0.1;  ///< of BleuSmoothing::epsilon, positive
};

/// A score and what it is made of.
struct Bleu {
  double score;                    ///< in [0, 1]: brevity_penalty times the geometric mean of the precisions
  std::vector<double> precisions;  ///< for n = 1, 2, ..: the share of n-grams that a reference has too, smoothed
  double brevity_penalty;          ///< exp(1 - reference_length / hypothesis_length), at most 1
  int64_t hypothesis_length;       ///< words of all hypotheses
  int64_t reference_length;        ///< of each hypothesis's references the length that is nearest, the smaller of two
};

/// How near translations come to those of people, over a whole corpus.
/// hypotheses: the words of each text. references: for each hypothesis one or more texts as they should be; an n-gram
/// counts as often as the one reference with most of them has it. Throws ValueError without hypotheses, when there are
/// not as many references, when a hypothesis has none, and for options out of range. Papineni et al. 2002;
/// nltk.translate.bleu_score.corpus_bleu.
KUSARI_API Bleu bleu(std::span<const std::vector<std::string>> hypotheses,
                     std::span<const std::vector<std::vector<std::string>>> references,
                     const BleuOptions& options = {});

}  // namespace kusari::metrics
