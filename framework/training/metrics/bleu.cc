#include "kusari/framework/training/metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>

#include "kusari/framework/core/error.h"

namespace kusari::metrics {
namespace {

using Words = std::vector<std::string>;
using WordSpan = std::span<const std::string>;

struct WordsLess {
  bool operator()(WordSpan a, WordSpan b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};
using NgramCounts = std::map<WordSpan, int64_t, WordsLess>;

NgramCounts count_ngrams(const Words& text, size_t n) {
  NgramCounts counts;
  for (size_t i = 0; i + n <= text.size(); ++i) ++counts[WordSpan(text).subspan(i, n)];
  return counts;
}

// The n-grams of a text, and how many of them references have too.
struct Matches {
  int64_t found = 0, all = 0;
};

void add_matches(const Words& hypothesis, const std::vector<Words>& references, size_t n, Matches* matches) {
  NgramCounts most;
  for (const Words& reference : references) {
    for (const auto& [ngram, count] : count_ngrams(reference, n)) most[ngram] = std::max(most[ngram], count);
  }
  for (const auto& [ngram, count] : count_ngrams(hypothesis, n)) {
    matches->all += count;
    const auto in_references = most.find(ngram);
    if (in_references != most.end()) matches->found += std::min(count, in_references->second);
  }
}

int64_t nearest_length(const std::vector<Words>& references, int64_t length) {
  int64_t best = std::ssize(references[0]);
  for (const Words& reference : references) {
    const int64_t each = std::ssize(reference), off = std::abs(each - length), best_off = std::abs(best - length);
    if (off < best_off || (off == best_off && each < best)) best = each;
  }
  return best;
}

std::vector<double> precisions_of(const std::vector<Matches>& by_order, const BleuOptions& options) {
  std::vector<double> precisions;
  double half = 1;
  for (size_t n = 1; n <= by_order.size(); ++n) {
    auto found = static_cast<double>(by_order[n - 1].found);
    auto all = static_cast<double>(std::max<int64_t>(by_order[n - 1].all, 1));
    if (options.smoothing == BleuSmoothing::add_one && n > 1) {
      found += 1;
      all = static_cast<double>(by_order[n - 1].all + 1);
    } else if (found == 0 && options.smoothing == BleuSmoothing::epsilon) {
      found = options.epsilon;
    } else if (found == 0 && options.smoothing == BleuSmoothing::exponential) {
      found = half /= 2;
    }
    precisions.push_back(found / all);
  }
  return precisions;
}

}  // namespace

Bleu bleu(std::span<const Words> hypotheses, std::span<const std::vector<Words>> references,
          const BleuOptions& options) {
  const auto expect = [](bool holds, const std::string& message) {
    if (!holds) throw ValueError("metrics::bleu: " + message);
  };
  expect(options.max_order >= 1, "max_order is " + std::to_string(options.max_order) + ": it must be at least 1");
  expect(options.epsilon > 0, "epsilon is " + std::to_string(options.epsilon) + ": it must be positive");
  expect(!hypotheses.empty(), "hypotheses is empty: there must be at least one");
  expect(hypotheses.size() == references.size(), "there are " + std::to_string(hypotheses.size()) +
                                                     " hypotheses and references for " +
                                                     std::to_string(references.size()) + ": they must be as many");
  Bleu result{0, {}, 0, 0, 0};
  std::vector<Matches> by_order(static_cast<size_t>(options.max_order));
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    expect(!references[i].empty(), "hypothesis " + std::to_string(i) + " has no reference: there must be at least one");
    const int64_t length = std::ssize(hypotheses[i]);
    result.hypothesis_length += length;
    result.reference_length += nearest_length(references[i], length);
    for (size_t n = 1; n <= by_order.size(); ++n) add_matches(hypotheses[i], references[i], n, &by_order[n - 1]);
  }
  result.precisions = precisions_of(by_order, options);
  if (result.hypothesis_length > 0) {
    const double ratio = static_cast<double>(result.reference_length) / static_cast<double>(result.hypothesis_length);
    result.brevity_penalty = std::exp(std::min(0.0, 1 - ratio));
  }
  if (by_order[0].found == 0) return result;  // not a word is right: whatever the smoothing
  double sum = 0;
  for (const double precision : result.precisions) sum += std::log(precision);
  result.score = result.brevity_penalty * std::exp(sum / static_cast<double>(options.max_order));
  return result;
}

}  // namespace kusari::metrics
