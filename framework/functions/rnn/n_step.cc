#include "kusari/framework/functions/rnn/n_step.h"

#include <algorithm>
#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/separate.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/noise/dropout.h"

namespace kusari::functions::n_step {
namespace {

using Sequence = std::vector<Variable>;

std::string item(const char* list, size_t i) { return std::string(list) + "[" + std::to_string(i) + "]"; }

void expect_shape(const Network& n, const std::string& argument, const Variable& value, const Shape& shape,
                  Dtype dtype) {
  expect_given(value, n.call, argument.c_str());
  if (value.shape() == shape && value.dtype() == dtype) return;
  throw TypeError(std::string(n.call) + ": " + argument + " has shape " + to_string(value.shape()) + " and dtype " +
                  name(value.dtype()) + ": they must be " + to_string(shape) + " and " + name(dtype));
}

void expect_count(const Network& n, const char* list, size_t found, int64_t expected) {
  if (static_cast<int64_t>(found) == expected) return;
  throw ValueError(std::string(n.call) + ": " + list + " has " + std::to_string(found) + " entries: it must have " +
                   std::to_string(expected));
}

void check_sequence(const Network& n, const Variable& hx, std::span<const Variable> xs) {
  if (xs.empty()) throw ValueError(std::string(n.call) + ": xs is empty: there must be at least one time");
  for (size_t t = 0; t < xs.size(); ++t) {
    expect_given(xs[t], n.call, item("xs", t).c_str());
    if (xs[t].ndim() != 2) {
      throw TypeError(std::string(n.call) + ": " + item("xs", t) + " has shape " + to_string(xs[t].shape()) +
                      ": it must have two axes, (batch, input)");
    }
    expect_shape(n, item("xs", t), xs[t], {xs[t].shape()[0], xs[0].shape()[1]}, hx.dtype());
    const int64_t most = t == 0 ? hx.shape()[1] : xs[t - 1].shape()[0];
    if (xs[t].shape()[0] <= most) continue;
    throw TypeError(std::string(n.call) + ": " + item("xs", t) + " has " + std::to_string(xs[t].shape()[0]) +
                    " rows, " + (t == 0 ? "hx" : item("xs", t - 1)) + " " + std::to_string(most) +
                    ": sequences must be sorted by falling length, so that none begins later");
  }
}

void check(const Network& n, const Variable& hx, const Variable& cx, std::span<const std::vector<Variable>> ws,
           std::span<const std::vector<Variable>> bs, std::span<const Variable> xs) {
  argument::positive(n.call, "n_layers", n.n_layers);
  argument::zero_to_below_one(n.call, "dropout_ratio", n.dropout_ratio);
  expect_floating(hx, n.call, "hx");
  const int64_t cells = n.n_layers * n.directions;
  if (hx.ndim() != 3 || hx.shape()[0] != cells) {
    throw TypeError(std::string(n.call) + ": hx has shape " + to_string(hx.shape()) + ": it must have three axes, (" +
                    std::to_string(cells) + ", batch, units)");
  }
  if (n.has_cells) expect_shape(n, "cx", cx, hx.shape(), hx.dtype());
  expect_count(n, "ws", ws.size(), cells);
  expect_count(n, "bs", bs.size(), cells);
  check_sequence(n, hx, xs);
  const int64_t units = hx.shape()[2];
  for (size_t k = 0; k < ws.size(); ++k) {
    expect_count(n, item("ws", k).c_str(), ws[k].size(), 2 * n.gates);
    expect_count(n, item("bs", k).c_str(), bs[k].size(), 2 * n.gates);
    const bool is_first = static_cast<int64_t>(k) < n.directions;
    const int64_t inputs = is_first ? xs[0].shape()[1] : n.directions * units;
    for (size_t g = 0; g < ws[k].size(); ++g) {
      const bool is_of_x = static_cast<int64_t>(g) < n.gates;
      expect_shape(n, item(item("ws", k).c_str(), g), ws[k][g], {units, is_of_x ? inputs : units}, hx.dtype());
      expect_shape(n, item(item("bs", k).c_str(), g), bs[k][g], {units}, hx.dtype());
    }
  }
}

Cell joined(const std::vector<Variable>& w, const std::vector<Variable>& b, int64_t gates) {
  const auto part = [&](const std::vector<Variable>& all, int64_t from) {
    return gates == 1
               ? all[static_cast<size_t>(from)]
               : concat(std::span<const Variable>(all).subspan(static_cast<size_t>(from), static_cast<size_t>(gates)),
                        0);
  };
  return {part(w, 0), part(b, 0), part(w, gates), part(b, gates)};
}

// The rows of h that are at work, and those whose sequences have ended or not begun.
Variable rows(const Variable& all, int64_t count) {
  return count < all.shape()[0] ? split_axis(all, {count}, 0)[0] : all;
}
Variable with_rows(const Variable& first, const Variable& all) {
  const int64_t count = first.shape()[0];
  return count < all.shape()[0] ? concat({first, split_axis(all, {count}, 0)[1]}, 0) : first;
}

// One layer in one direction; the products with x of all times are one.
State run_cell(const Cell& cell, const Sequence& xs, bool is_reversed, State state, const Step& step, Sequence& ys) {
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (const Variable& x : xs) ends.push_back(end += x.shape()[0]);
  ends.pop_back();
  const Variable all = linear(xs.size() == 1 ? xs[0] : concat(xs, 0), cell.wx, cell.bx);
  const Variables from_x = xs.size() == 1 ? Variables(all) : split_axis(all, ends, 0);
  ys.resize(xs.size());
  for (size_t i = 0; i < xs.size(); ++i) {
    const size_t t = is_reversed ? xs.size() - 1 - i : i;
    const int64_t count = xs[t].shape()[0];
    const State last{rows(state.h, count), state.c.is_defined() ? rows(state.c, count) : Variable()};
    const State next = step(from_x[t], linear(last.h, cell.wh, cell.bh), last);
    ys[t] = next.h;
    state = {with_rows(next.h, state.h), state.c.is_defined() ? with_rows(next.c, state.c) : Variable()};
  }
  return state;
}

// Each direction has a mask of its own.
Sequence dropped_out(const Sequence& xs, double ratio) {
  Sequence result;
  for (const Variable& x : xs) result.push_back(dropout(x, ratio));
  return result;
}

Result compute(const Network& n, const Variable& hx, const Variable& cx, std::span<const std::vector<Variable>> ws,
               std::span<const std::vector<Variable>> bs, std::span<const Variable> xs, const Step& step) {
  const Variables h = separate(hx, 0), c = n.has_cells ? separate(cx, 0) : Variables();
  Sequence layer_input(xs.begin(), xs.end()), hy, cy;
  for (int64_t layer = 0; layer < n.n_layers; ++layer) {
    std::vector<Sequence> ys(static_cast<size_t>(n.directions));
    for (int64_t direction = 0; direction < n.directions; ++direction) {
      const auto k = static_cast<size_t>(layer * n.directions + direction);
      const Sequence input = layer == 0 ? layer_input : dropped_out(layer_input, n.dropout_ratio);
      const State first{h[k], n.has_cells ? c[k] : Variable()};
      const State last = run_cell(joined(ws[k], bs[k], n.gates), input, direction == 1, first, step,
                                  ys[static_cast<size_t>(direction)]);
      hy.push_back(last.h);
      if (n.has_cells) cy.push_back(last.c);
    }
    for (size_t t = 0; t < layer_input.size(); ++t) {
      layer_input[t] = n.directions == 1 ? ys[0][t] : concat({ys[0][t], ys[1][t]}, 1);
    }
  }
  return {stack(hy, 0), n.has_cells ? stack(cy, 0) : Variable(), layer_input};
}

}  // namespace

Result run(const Network& n, const Variable& hx, const Variable& cx, std::span<const std::vector<Variable>> ws,
           std::span<const std::vector<Variable>> bs, std::span<const Variable> xs, const Step& step) {
  // In the order hx, cx, ws, bs, xs, as autocast may give them back.
  std::vector<Variable> all{hx};
  if (n.has_cells) all.push_back(cx);
  for (const auto& lists : {ws, bs}) {
    for (const std::vector<Variable>& list : lists) all.insert(all.end(), list.begin(), list.end());
  }
  all.insert(all.end(), xs.begin(), xs.end());
  const bool are_given = std::all_of(all.begin(), all.end(), [](const Variable& v) { return v.is_defined(); });
  if (are_given) {
    if (const CompositeInputs in(n.name, all); in.is_cast()) {
      size_t next = n.has_cells ? 2 : 1;
      const auto taken = [&](std::span<const std::vector<Variable>> lists) {
        std::vector<std::vector<Variable>> result;
        for (const std::vector<Variable>& list : lists) {
          result.emplace_back();
          for (size_t i = 0; i < list.size(); ++i) result.back().push_back(in[next++]);
        }
        return result;
      };
      const auto cast_ws = taken(ws), cast_bs = taken(bs);
      Sequence cast_xs;
      for (size_t i = 0; i < xs.size(); ++i) cast_xs.push_back(in[next++]);
      return run(n, in[0], n.has_cells ? in[1] : Variable(), cast_ws, cast_bs, cast_xs, step);
    }
  }
  check(n, hx, cx, ws, bs, xs);
  return compute(n, hx, cx, ws, bs, xs, step);
}

}  // namespace kusari::functions::n_step
