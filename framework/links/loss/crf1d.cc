#include "kusari/framework/links/loss/crf1d.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/transpose_sequence.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

// The numbers of the sequences, the longest first.
std::vector<size_t> by_falling_length(std::span<const Variable> xs) {
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!xs[i].is_defined() || xs[i].ndim() == 0) {
      throw TypeError("L::CRF1d: xs[" + std::to_string(i) + "] must be a sequence: an array with an axis");
    }
  }
  std::vector<size_t> order(xs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [xs](size_t a, size_t b) { return xs[a].shape()[0] > xs[b].shape()[0]; });
  return order;
}

void check_lengths(std::span<const Variable> xs, std::span<const Variable> ys) {
  if (xs.size() != ys.size()) {
    throw ValueError("L::CRF1d: xs has " + std::to_string(xs.size()) + " sequences but ys has " +
                     std::to_string(ys.size()) + ": they must be as many");
  }
  for (size_t i = 0; i < ys.size(); ++i) {
    if (ys[i].is_defined() && ys[i].ndim() == 1 && ys[i].shape()[0] == xs[i].shape()[0]) continue;
    const std::string place = "[" + std::to_string(i) + "]";
    throw TypeError("L::CRF1d: ys" + place +
                    (ys[i].is_defined() ? " has shape " + to_string(ys[i].shape()) : " is undefined") + " but xs" +
                    place + " has shape " + to_string(xs[i].shape()) + ": ys must have a label per element");
  }
}

// One array per position.
Variables transposed(std::span<const Variable> sequences, const std::vector<size_t>& order) {
  std::vector<Variable> sorted;
  for (const size_t i : order) sorted.push_back(sequences[i]);
  return functions::transpose_sequence(sorted);
}

}  // namespace

CRF1d::CRF1d(int64_t n_label, Options options)
    : cost{*this,
           "cost",
           {argument::not_negative("L::CRF1d", "n_label", n_label), n_label},
           options.initial_cost ? std::move(options.initial_cost) : Initializer(0)} {}

Variable CRF1d::operator()(std::span<const Variable> xs, std::span<const Variable> ys, const CRF1dCall& options) const {
  const LinkCall call(*this);
  if (!options.transpose) return functions::crf1d(cost, xs, ys, options.reduce);
  const std::vector<size_t> order = by_falling_length(xs);
  check_lengths(xs, ys);
  const Variables x = transposed(xs, order), y = transposed(ys, order);
  return functions::crf1d(cost, {x.data(), x.size()}, {y.data(), y.size()}, options.reduce);
}

functions::CrfPath CRF1d::argmax(std::span<const Variable> xs, bool transpose) const {
  if (!transpose) return functions::argmax_crf1d(cost, xs);
  const std::vector<size_t> order = by_falling_length(xs);
  const Variables x = transposed(xs, order);
  functions::CrfPath result = functions::argmax_crf1d(cost, {x.data(), x.size()});
  const std::vector<Variable> positions(result.path.begin(), result.path.end());
  const Variables sorted = functions::transpose_sequence(positions);
  result.path.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const bool is_empty = i >= sorted.size();
    result.path[order[i]] = is_empty ? empty({0}, Dtype::int32, cost.device()) : sorted[i].array();
  }
  return result;
}

}  // namespace kusari::links
