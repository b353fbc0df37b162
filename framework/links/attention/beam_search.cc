#include "kusari/framework/links/attention/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/top_k.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari {
namespace {

const char* const kBeamSearch = "beam_search";

void check_search(const Callable<Variable(const Variable&)>& scores, const Callable<void(const Array&)>& select,
                  int64_t rows, const BeamSearchOptions& options) {
  argument::callable(kBeamSearch, "scores", scores);
  argument::callable(kBeamSearch, "select", select);
  argument::require(rows >= 0 && rows <= 1'000'000, kBeamSearch, "rows", rows, "be in [0, 1000000]");
  argument::count(kBeamSearch, "beams", options.beams);
  argument::not_negative(kBeamSearch, "begin", options.begin);
  argument::not_negative(kBeamSearch, "end", options.end);
  argument::not_negative(kBeamSearch, "max_length", options.max_length);
  argument::finite_not_negative(kBeamSearch, "length_penalty", options.length_penalty);
}

/// A text that is not finished.
struct Live {
  std::vector<int32_t> tokens;
  double log_prob;
};

/// What is known of one row.
struct Row {
  std::vector<Live> live;
  std::vector<Beam> finished;
};

class Search {
 public:
  Search(int64_t rows, const BeamSearchOptions& options) : options_{options}, rows_(static_cast<size_t>(rows)) {
    for (Row& row : rows_) {  // all begin alike, so that one is enough
      row.live.assign(beams(), {{}, -std::numeric_limits<double>::infinity()});
      row.live[0].log_prob = 0;
    }
  }

  std::vector<int32_t> last_tokens() const {
    std::vector<int32_t> result;
    for (const Row& row : rows_) {
      for (const Live& live : row.live) {
        result.push_back(live.tokens.empty() ? static_cast<int32_t>(options_.begin) : live.tokens.back());
      }
    }
    return result;
  }

  /// Takes a step, and returns the row that each goes on from. log_probs: (rows beams, V), float64.
  std::vector<int64_t> step(const Array& log_probs) {
    const int64_t words = log_probs.shape()[1], wide = static_cast<int64_t>(beams()) * words;
    const auto count = static_cast<int64_t>(rows_.size());
    std::vector<double> so_far;
    for (const Row& row : rows_) {
      for (const Live& live : row.live) so_far.push_back(live.log_prob);
    }
    const Array before = array(so_far, {count * static_cast<int64_t>(beams()), 1}, log_probs.device());
    const Array none = full({}, -std::numeric_limits<double>::infinity(), Dtype::float64, log_probs.device());
    // Whatever the scores of what is no text.
    const Array totals = pointwise(kernels::Where{}, pointwise(kernels::Equal{}, before, none).astype(Dtype::float64),
                                   none, log_probs + before);
    // As many that do not end as there are beams are among these.
    const int64_t k = std::min<int64_t>(2 * static_cast<int64_t>(beams()), wide);
    const functions::TopK best = functions::top_k(Variable(totals.reshape({count, wide}), false), k);
    const std::vector<double> values = best.values.to_vector<double>();
    const std::vector<int64_t> places = best.indices.array().astype(Dtype::int64).to_vector<int64_t>();
    std::vector<int64_t> which;
    for (size_t r = 0; r < rows_.size(); ++r) {
      const size_t at = r * static_cast<size_t>(k);
      if (std::isnan(values[at])) {  // the first of them if there is one
        throw ValueError(std::string(kBeamSearch) + ": scores of row " + std::to_string(r) +
                         " hold NaN, or nothing above minus infinity");
      }
      advance(rows_[r], {values.data() + at, static_cast<size_t>(k)}, {places.data() + at, static_cast<size_t>(k)},
              words, static_cast<int64_t>(r * beams()), &which);
    }
    return which;
  }

  bool is_done() const {
    return std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) { return row.finished.size() >= beams(); });
  }

  std::vector<std::vector<Beam>> results() {
    std::vector<std::vector<Beam>> result;
    for (Row& row : rows_) {
      for (const Live& live : row.live) {
        if (row.finished.size() < beams() && std::isfinite(live.log_prob)) finish(row, live.tokens, live.log_prob);
      }
      std::stable_sort(row.finished.begin(), row.finished.end(),
                       [](const Beam& a, const Beam& b) { return a.score > b.score; });
      result.push_back(std::move(row.finished));
    }
    return result;
  }

 private:
  size_t beams() const { return static_cast<size_t>(options_.beams); }

  void finish(Row& row, const std::vector<int32_t>& tokens, double log_prob) {
    const auto length = static_cast<int64_t>(tokens.size());
    const double divisor = std::pow((5.0 + static_cast<double>(length)) / 6.0, options_.length_penalty);
    row.finished.push_back({array(tokens, {length}), log_prob / divisor});
  }

  void advance(Row& row, std::span<const double> values, std::span<const int64_t> places, int64_t words, int64_t first,
               std::vector<int64_t>* which) {
    std::vector<Live> next;
    std::vector<int64_t> from;
    for (size_t i = 0; i < places.size() && next.size() < beams(); ++i) {
      if (!std::isfinite(values[i])) break;
      const int64_t beam = places[i] / words, token = places[i] % words;
      const Live& live = row.live[static_cast<size_t>(beam)];
      if (token == options_.end) {
        if (i < beams() && row.finished.size() < beams()) finish(row, live.tokens, values[i]);
        continue;
      }
      next.push_back({live.tokens, values[i]});
      next.back().tokens.push_back(static_cast<int32_t>(token));
      from.push_back(first + beam);
    }
    while (next.size() < beams()) {
      next.push_back({{}, -std::numeric_limits<double>::infinity()});
      from.push_back(first);
    }
    row.live = std::move(next);
    which->insert(which->end(), from.begin(), from.end());
  }

  BeamSearchOptions options_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<std::vector<Beam>> beam_search(const Callable<Variable(const Variable&)>& scores,
                                           const Callable<void(const Array&)>& select, int64_t rows,
                                           const BeamSearchOptions& options) {
  check_search(scores, select, rows, options);
  const auto no_graph = no_backprop_mode();
  const auto test_mode = using_config(&Config::train, false);
  Search search(rows, options);
  const Device& device = options.device;
  for (int64_t i = 0; i < options.max_length && rows > 0 && !search.is_done(); ++i) {
    const std::vector<int32_t> last = search.last_tokens();
    const Variable y = scores(Variable(array(last, device), false));
    functions::expect_floating(y, kBeamSearch, "what the scores function returns");
    if (y.ndim() != 2 || y.shape()[0] != static_cast<int64_t>(last.size()) || y.shape()[1] == 0) {
      throw TypeError(std::string(kBeamSearch) + ": the scores have shape " + to_string(y.shape()) +
                      ": they must be (" + std::to_string(last.size()) + ", words)");
    }
    const Variable wide(y.array().astype(Dtype::float64), false);
    select(array(search.step(functions::log_softmax(wide, 1).array()), device));
  }
  return search.results();
}

}  // namespace kusari
