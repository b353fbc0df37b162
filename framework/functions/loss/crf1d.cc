#include "kusari/framework/functions/loss/crf1d.h"

#include <algorithm>
#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/logsumexp.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/sum.h"

namespace kusari::functions {
namespace {

std::string describe(const std::string& argument, const Variable& x) {
  return argument + " has shape " + to_string(x.shape()) + " and dtype " + name(x.dtype());
}

std::string item(const char* list, size_t i) { return std::string(list) + "[" + std::to_string(i) + "]"; }

void check_potentials(const char* call, const Variable& cost, std::span<const Variable> xs) {
  const std::string start = std::string(call) + ": ";
  expect_given(cost, call, "cost");
  if (!is_floating(cost.dtype()) || cost.ndim() != 2 || cost.shape()[0] != cost.shape()[1]) {
    throw TypeError(start + describe("cost", cost) + ": it must be a floating matrix (K, K)");
  }
  if (xs.empty()) throw ValueError(start + "xs is empty: it must have an array per position");
  for (size_t i = 0; i < xs.size(); ++i) {
    expect_given(xs[i], call, "xs");
    const Shape& shape = xs[i].shape();
    if (shape.ndim() != 2 || shape[1] != cost.shape()[0] || xs[i].dtype() != cost.dtype()) {
      throw TypeError(start + describe(item("xs", i), xs[i]) + " but " + describe("cost", cost) +
                      ": xs must be (batch, K) of cost's dtype");
    }
    if (i > 0 && shape[0] > xs[i - 1].shape()[0]) {
      throw TypeError(start + item("xs", i) + " has " + std::to_string(shape[0]) + " rows but " + item("xs", i - 1) +
                      " has " + std::to_string(xs[i - 1].shape()[0]) + ": batches must not grow");
    }
  }
}

void check_labels(std::span<const Variable> xs, std::span<const Variable> ys) {
  if (xs.size() != ys.size()) {
    throw ValueError("F::crf1d: xs has " + std::to_string(xs.size()) + " arrays but ys has " +
                     std::to_string(ys.size()) + ": they must be as many");
  }
  for (size_t i = 0; i < ys.size(); ++i) {
    expect_given(ys[i], "F::crf1d", "ys");
    if (!is_integral(ys[i].dtype()) || ys[i].ndim() != 1 || ys[i].shape()[0] != xs[i].shape()[0]) {
      throw TypeError("F::crf1d: " + describe(item("ys", i), ys[i]) + " but " + item("xs", i) + " has shape " +
                      to_string(xs[i].shape()) + ": ys must be integers, one per row of xs");
    }
  }
}

std::vector<Variable> joined(const Variable& cost, std::span<const Variable> xs) {
  std::vector<Variable> all = {cost};
  all.insert(all.end(), xs.begin(), xs.end());
  return all;
}

// The inputs that were joined, as autocast wants them.
std::vector<Variable> all_of(const CompositeInputs& in, size_t n) {
  std::vector<Variable> all;
  for (size_t i = 0; i < n; ++i) all.push_back(in[i]);
  return all;
}

// 16-bit sums over many positions would lose their digits.
Variable widen(const Variable& x) { return is_half(x.dtype()) ? cast(x, Dtype::float32) : x; }

// Values of sequences that end one after the other, the last ones of a batch first.
class Ended {
 public:
  // Takes the rows behind the first `n`; returns those.
  Variable split(const Variable& x, int64_t n) {
    if (x.shape()[0] == n) return x;
    rest_.push_back(get_item(x, {Slice{n, {}}}));
    return get_item(x, {Slice{0, n}});
  }
  // All rows in their order, `x` being those of the sequences that never ended.
  Variable join(const Variable& x) {
    if (rest_.empty()) return x;
    rest_.push_back(x);
    std::reverse(rest_.begin(), rest_.end());
    return concat({rest_.data(), rest_.size()}, 0);
  }

 private:
  std::vector<Variable> rest_;
};

Variable log_partition(const Variable& cost, std::span<const Variable> xs) {
  Ended ended;
  Variable alpha = widen(xs[0]);
  for (const Variable& x : xs.subspan(1)) {
    alpha = ended.split(alpha, x.shape()[0]);
    alpha = logsumexp(expand_dims(alpha, 2) + cost, 1) + widen(x);
  }
  return logsumexp(ended.join(alpha), 1);
}

Variable score_of(const Variable& cost, std::span<const Variable> xs, std::span<const Variable> ys) {
  Ended ended;
  const auto emission = [&](size_t i) {
    return get_item(widen(xs[i]), {arange(ys[i].shape()[0], Dtype::int64, ys[i].device()), ys[i].array()});
  };
  Variable score = emission(0);
  for (size_t i = 1; i < xs.size(); ++i) {
    const Array from = ys[i - 1].array().slice(0, 0, ys[i].shape()[0]);
    score = ended.split(score, ys[i].shape()[0]) + (emission(i) + get_item(cost, {from, ys[i].array()}));
  }
  return ended.join(score);
}

}  // namespace

Variable crf1d(const Variable& cost, std::span<const Variable> xs, std::span<const Variable> ys, Reduce reduce) {
  const std::vector<Variable> inputs = joined(cost, xs);
  if (const CompositeInputs in("crf1d", inputs); in.is_cast()) {
    const std::vector<Variable> all = all_of(in, inputs.size());
    return crf1d(all[0], std::span(all).subspan(1), ys, reduce);
  }
  if (reduce == Reduce::sum) throw ValueError("F::crf1d: reduce must be mean or no");
  check_potentials("F::crf1d", cost, xs);
  check_labels(xs, ys);
  const Variable wide = widen(cost);
  Variable loss = log_partition(wide, xs) - score_of(wide, xs, ys);
  if (reduce == Reduce::mean) loss = sum(loss) / static_cast<double>(xs[0].shape()[0]);
  return cast(loss, cost.dtype());
}

CrfPath argmax_crf1d(const Variable& cost, std::span<const Variable> xs) {
  const std::vector<Variable> inputs = joined(cost, xs);
  if (const CompositeInputs in("argmax_crf1d", inputs); in.is_cast()) {
    const std::vector<Variable> all = all_of(in, inputs.size());
    return argmax_crf1d(all[0], std::span(all).subspan(1));
  }
  check_potentials("F::argmax_crf1d", cost, xs);
  const Variable wide = widen(cost);
  Ended ended;
  std::vector<Array> best_before;   // for each position but the first: (batch, K), the best label one position before
  std::vector<Array> ended_before;  // likewise: the last label of each sequence that ends there
  Variable alpha = widen(xs[0]);
  for (const Variable& x : xs.subspan(1)) {
    const int64_t batch = x.shape()[0];
    ended_before.push_back(alpha.shape()[0] == batch ? Array()
                                                     : argmax(get_item(alpha, {Slice{batch, {}}}), 1).array());
    alpha = ended.split(alpha, batch);
    const Variable scores = expand_dims(alpha, 2) + wide;
    best_before.push_back(argmax(scores, 1).array());
    alpha = max(scores, 1) + widen(x);
  }
  CrfPath result;
  result.path.resize(xs.size());
  Array labels = argmax(alpha, 1).array();
  result.path.back() = labels;
  for (size_t i = xs.size() - 1; i-- > 0;) {
    const Array rows = arange(labels.size(), Dtype::int64, labels.device());
    labels = get_item(best_before[i], {rows, labels}).array();
    if (ended_before[i].is_defined()) labels = concat({labels, ended_before[i]}, 0).array();
    result.path[i] = labels;
  }
  result.score = cast(max(ended.join(alpha), 1), cost.dtype());
  return result;
}

}  // namespace kusari::functions
