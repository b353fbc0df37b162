#include "kusari/framework/links/attention/generate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/minmax.h"

namespace kusari {
namespace {

const char* const kCall = "generate";

void check(const GenerateOptions& options) {
  argument::not_negative(kCall, "max_new", options.max_new);
  argument::finite_not_negative(kCall, "temperature", options.temperature);
  argument::not_negative(kCall, "top_k", options.top_k);
  argument::require(options.top_p > 0 && options.top_p <= 1, kCall, "top_p", options.top_p, "be in (0, 1]");
  argument::finite_positive(kCall, "repetition_penalty", options.repetition_penalty);
}

// The scores of the last row.
Array last_row(const Variable& scores) {
  functions::expect_given(scores, kCall, "what the scores function returns");
  const Array& array = scores.array();
  const bool fits = (array.ndim() == 2 || (array.ndim() == 3 && array.shape()[0] == 1)) && array.size() > 0;
  if (!fits || !array.is_floating()) {
    throw TypeError(std::string(kCall) + ": the scores have shape " + to_string(array.shape()) + " and dtype " +
                    name(array.dtype()) + ": they must be (T, words) or (1, T, words), floating");
  }
  const int axis = array.ndim() - 2;
  return array.slice(axis, array.shape()[axis] - 1, 1).reshape({array.shape()[axis + 1]});
}

double draw_uniform(const std::optional<uint64_t>& seed, uint64_t i) {
  if (seed) return (static_cast<double>(philox_word(*seed, i)) + 0.5) * 0x1p-32;
  return static_cast<double>(random::bits() >> 11) * 0x1p-53;
}

}  // namespace

int64_t draw_token(const Array& scores, std::span<const int64_t> came, const GenerateOptions& options, double uniform) {
  check(options);
  if (!scores.is_defined() || scores.ndim() != 1 || scores.size() == 0 || !scores.is_floating()) {
    throw TypeError("draw_token: scores " +
                    (scores.is_defined()
                         ? "has shape " + to_string(scores.shape()) + " and dtype " + name(scores.dtype())
                         : std::string("is not given")) +
                    ": it must be a floating vector of at least one number");
  }
  const bool is_greedy = options.temperature == 0;
  if (is_greedy && options.repetition_penalty == 1) {
    const auto best = functions::argmax(Variable(scores, false)).item<int64_t>();
    if (std::isfinite(scores.at(best).item<double>())) return best;  // otherwise NaN must be told from infinity
  }
  std::vector<double> values = scores.astype(Dtype::float64).to_vector<double>();
  if (options.repetition_penalty != 1) {
    std::vector<bool> seen(values.size());
    for (const int64_t token : came) {
      if (token >= 0 && token < static_cast<int64_t>(values.size())) seen[static_cast<size_t>(token)] = true;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (!seen[i]) continue;
      values[i] = values[i] > 0 ? values[i] / options.repetition_penalty : values[i] * options.repetition_penalty;
    }
  }
  // NaN never comes.
  for (double& value : values) value = std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto better = [&](int64_t a, int64_t b) {
    const double x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const auto limit = static_cast<size_t>(options.top_k);
  const size_t kept = is_greedy ? 1 : limit > 0 && limit < order.size() ? limit : order.size();
  if (kept < order.size()) {
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(), better);
    order.resize(kept);
  } else if (options.top_p < 1) {
    std::sort(order.begin(), order.end(), better);
  }
  const double best = values[static_cast<size_t>(
      options.top_p < 1 || kept < values.size() ? order[0] : *std::min_element(order.begin(), order.end(), better))];
  if (!std::isfinite(best)) {
    throw ValueError(std::string(kCall) + ": the best score is " + std::to_string(best) + ": it must be a number");
  }
  if (is_greedy) return order[0];
  std::vector<double> weights;
  double sum = 0;
  for (const int64_t token : order) {
    weights.push_back(std::exp((values[static_cast<size_t>(token)] - best) / options.temperature));
    sum += weights.back();
  }
  if (options.top_p < 1) {
    double reached = 0;
    size_t count = 0;
    while (count < weights.size() && reached < options.top_p * sum) reached += weights[count++];
    weights.resize(count);
    sum = reached;
  }
  double left = uniform * sum;
  for (size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return order[i];
  }
  return order[weights.size() - 1];
}

Array generate(const Callable<Variable(const Variable& ids)>& scores, const Array& ids,
               const GenerateOptions& options) {
  argument::callable(kCall, "scores", scores);
  check(options);
  functions::expect_given(ids, kCall, "ids");
  if (ids.ndim() != 1 || ids.size() == 0 || ids.is_floating()) {
    throw TypeError(std::string(kCall) + ": ids has shape " + to_string(ids.shape()) + " and dtype " +
                    name(ids.dtype()) + ": it must be a vector of integers with one at least");
  }
  const auto without_graph = no_backprop_mode();
  const auto testing = using_config(&Config::train, false);
  std::vector<int64_t> came = ids.astype(Dtype::int64).to_vector<int64_t>();
  std::vector<int32_t> text;
  Array next = ids.astype(Dtype::int32).reshape({1, ids.size()});
  while (static_cast<int64_t>(text.size()) < options.max_new) {
    const Array row = last_row(scores(Variable(next, false)));
    const int64_t token = draw_token(row, came, options, draw_uniform(options.seed, text.size()));
    text.push_back(static_cast<int32_t>(token));
    came.push_back(token);
    if (options.on_token && !options.on_token(token)) break;
    if (options.end && token == *options.end) break;
    next = array(std::vector<int32_t>{text.back()}, {1, 1}, ids.device());
  }
  return array(text);
}

}  // namespace kusari
