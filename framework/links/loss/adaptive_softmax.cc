#include "kusari/framework/links/loss/adaptive_softmax.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/log_softmax.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

const char* const kAdaptiveSoftmax = "L::AdaptiveSoftmax";

const std::vector<int64_t>& checked(const std::vector<int64_t>& cutoffs, int64_t words) {
  if (cutoffs.empty())
    throw ValueError(std::string(kAdaptiveSoftmax) + ": cutoffs is empty: it must have at least one number");
  for (size_t i = 0; i < cutoffs.size(); ++i) {
    const int64_t before = i == 0 ? 0 : cutoffs[i - 1];
    if (cutoffs[i] > before && cutoffs[i] < words) continue;
    throw ValueError(std::string(kAdaptiveSoftmax) + ": cutoffs[" + std::to_string(i) + "] is " +
                     std::to_string(cutoffs[i]) + ": it must be above " + std::to_string(before) +
                     " and below words, " + std::to_string(words));
  }
  return cutoffs;
}

// In float32 at least: of many words, the sum is beyond 16 bits where the mean is not.
Variable sum_of_losses(const Variable& scores, const Array& t, int64_t ignore_label = -1) {
  const Variable losses = functions::softmax_cross_entropy(
      scores, Variable(t, false), {.ignore_label = ignore_label, .reduce = functions::Reduce::no});
  return functions::sum(functions::cast(losses, is_half(losses.dtype()) ? Dtype::float32 : losses.dtype()));
}

}  // namespace

AdaptiveSoftmax::AdaptiveSoftmax(int64_t in_size, int64_t words, std::vector<int64_t> cutoffs, const Options& options)
    : head{*this,
           "head",
           argument::positive(kAdaptiveSoftmax, "in_size", in_size),
           checked(cutoffs, words)[0] + static_cast<int64_t>(cutoffs.size()),
           {.nobias = !options.head_bias}},
      down{*this, "down"},
      out{*this, "out"},
      cutoffs_{std::move(cutoffs)},
      ignore_label_{options.ignore_label} {
  argument::require(options.div_value >= 1 && std::isfinite(options.div_value), kAdaptiveSoftmax, "div_value",
                    options.div_value, "be at least 1");
  cutoffs_.push_back(words);
  for (size_t i = 0; i + 1 < cutoffs_.size(); ++i) {
    const double shorter = static_cast<double>(in_size) / std::pow(options.div_value, static_cast<double>(i + 1));
    const auto width = std::max<int64_t>(1, static_cast<int64_t>(shorter));
    down.append(Linear(in_size, width, {.nobias = true}));
    out.append(Linear(width, cutoffs_[i + 1] - cutoffs_[i], {.nobias = true}));
  }
}

Variable AdaptiveSoftmax::operator()(const Variable& x, const Variable& t) const {
  const LinkCall hooked(*this);
  functions::expect_floating(x, kAdaptiveSoftmax, "x");
  functions::expect_given(t, kAdaptiveSoftmax, "t");
  if (x.ndim() != 2 || t.ndim() != 1 || t.shape()[0] != x.shape()[0] || !is_integral(t.dtype())) {
    throw TypeError(std::string(kAdaptiveSoftmax) + ": x has shape " + to_string(x.shape()) + " and t " +
                    to_string(t.shape()) + " and dtype " + kusari::name(t.dtype()) +
                    ": they must be (N, in_size) and (N), integers");
  }
  const std::vector<int64_t> labels = t.array().astype(Dtype::int64).to_vector<int64_t>();
  const auto groups = static_cast<int64_t>(out.size());
  std::vector<int64_t> first_labels;
  std::vector<std::vector<int64_t>> rows(out.size()), places(out.size());
  int64_t count = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t label = labels[i];
    if (label == ignore_label_) {
      first_labels.push_back(-1);
      continue;
    }
    if (label < 0 || label >= cutoffs_.back()) {
      throw IndexError(std::string(kAdaptiveSoftmax) + ": t[" + std::to_string(i) + "] is " + std::to_string(label) +
                       ": it must be in [0, " + std::to_string(cutoffs_.back()) + ") or ignore_label");
    }
    ++count;
    int64_t group = groups - 1;
    while (group >= 0 && label < cutoffs_[static_cast<size_t>(group)]) --group;
    first_labels.push_back(group < 0 ? label : cutoffs_[0] + group);
    if (group < 0) continue;
    rows[static_cast<size_t>(group)].push_back(static_cast<int64_t>(i));
    places[static_cast<size_t>(group)].push_back(label - cutoffs_[static_cast<size_t>(group)]);
  }
  const Variable scores = head(x);
  const Dtype dtype = scores.dtype();
  Variable loss = sum_of_losses(scores, array(first_labels, x.device()));
  for (size_t i = 0; i < out.size(); ++i) {
    if (rows[i].empty()) continue;
    const Variable of_group = functions::get_item(x, array(rows[i], x.device()));
    loss = loss + sum_of_losses(out[i](down[i](of_group)), array(places[i], x.device()));
  }
  return functions::cast(loss / static_cast<double>(std::max<int64_t>(count, 1)), dtype);
}

Variable AdaptiveSoftmax::log_prob(const Variable& x) const {
  const Variable first = functions::log_softmax(head(x), 1);
  std::vector<Variable> parts{functions::get_item(first, {Slice{}, Slice{0, cutoffs_[0]}})};
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t group = cutoffs_[0] + static_cast<int64_t>(i);
    parts.push_back(functions::log_softmax(out[i](down[i](x)), 1) +
                    functions::get_item(first, {Slice{}, Slice{group, group + 1}}));
  }
  return functions::concat(parts, 1);
}

}  // namespace kusari::links
