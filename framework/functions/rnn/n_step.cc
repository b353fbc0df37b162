#include "kusari/framework/functions/rnn/n_step.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/permutate.h"
#include "kusari/framework/functions/array/separate.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/framework/functions/rnn/recurrent_layer.h"

namespace kusari::functions::n_step {
namespace {

bool has_cells(const Network& n) { return n.cell == kernels::RecurrentCell::lstm; }

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

void check_times(const Network& n, const Variable& hx, std::span<const Variable> xs) {
  if (xs.empty()) throw ValueError(std::string(n.call) + ": xs is empty: there must be at least one time");
  expect_floating(hx, n.call, "hx");
  for (size_t t = 0; t < xs.size(); ++t) {
    expect_given(xs[t], n.call, item("xs", t).c_str());
    if (xs[t].ndim() != 2) {
      throw TypeError(std::string(n.call) + ": " + item("xs", t) + " has shape " + to_string(xs[t].shape()) +
                      ": it must have two axes, (batch, input)");
    }
    expect_shape(n, item("xs", t), xs[t], {xs[t].shape()[0], xs[0].shape()[1]}, hx.dtype());
    const int64_t most = t == 0 ? (hx.ndim() == 3 ? hx.shape()[1] : xs[0].shape()[0]) : xs[t - 1].shape()[0];
    if (xs[t].shape()[0] <= most) continue;
    throw TypeError(std::string(n.call) + ": " + item("xs", t) + " has " + std::to_string(xs[t].shape()[0]) +
                    " rows, " + (t == 0 ? "hx" : item("xs", t - 1)) + " " + std::to_string(most) +
                    ": sequences must be sorted by falling length, so that none begins later");
  }
}

// x: the packed rows.
void check(const Network& n, const Variable& hx, const Variable& cx, Weights ws, Weights bs, const Variable& x) {
  argument::positive(n.call, "n_layers", n.n_layers);
  argument::zero_to_below_one(n.call, "dropout_ratio", n.dropout_ratio);
  expect_floating(hx, n.call, "hx");
  const int64_t layers = n.n_layers * n.directions, gates = kernels::gates_of(n.cell);
  if (hx.ndim() != 3 || hx.shape()[0] != layers) {
    throw TypeError(std::string(n.call) + ": hx has shape " + to_string(hx.shape()) + ": it must have three axes, (" +
                    std::to_string(layers) + ", batch, units)");
  }
  if (has_cells(n)) expect_shape(n, "cx", cx, hx.shape(), hx.dtype());
  expect_count(n, "ws", ws.size(), layers);
  expect_count(n, "bs", bs.size(), layers);
  const int64_t units = hx.shape()[2];
  for (size_t k = 0; k < ws.size(); ++k) {
    expect_count(n, item("ws", k).c_str(), ws[k].size(), 2 * gates);
    expect_count(n, item("bs", k).c_str(), bs[k].size(), 2 * gates);
    const bool is_first = static_cast<int64_t>(k) < n.directions;
    const int64_t inputs = is_first ? x.shape()[1] : n.directions * units;
    for (size_t g = 0; g < ws[k].size(); ++g) {
      const bool is_of_x = static_cast<int64_t>(g) < gates;
      expect_shape(n, item(item("ws", k).c_str(), g), ws[k][g], {units, is_of_x ? inputs : units}, hx.dtype());
      expect_shape(n, item(item("bs", k).c_str(), g), bs[k][g], {units}, hx.dtype());
    }
  }
}

// Gates [from, from + gates) below each other.
Variable joined(const std::vector<Variable>& all, int64_t from, int64_t gates) {
  if (gates == 1) return all[static_cast<size_t>(from)];
  return concat(std::span<const Variable>(all).subspan(static_cast<size_t>(from), static_cast<size_t>(gates)), 0);
}

struct Computed {
  Variable hy, cy, y;
};

Computed compute(const Network& n, const Variable& hx, const Variable& cx, Weights ws, Weights bs, Variable x,
                 std::span<const int64_t> batch_sizes) {
  const int64_t gates = kernels::gates_of(n.cell);
  const Variables h = separate(hx, 0), c = has_cells(n) ? separate(cx, 0) : Variables();
  std::vector<Variable> hy, cy;
  for (int64_t layer = 0; layer < n.n_layers; ++layer) {
    Variables ys;
    for (int64_t direction = 0; direction < n.directions; ++direction) {
      const auto k = static_cast<size_t>(layer * n.directions + direction);
      const Variable input = layer == 0 ? x : dropout(x, n.dropout_ratio);  // each direction has a mask of its own
      const Variable from_x = linear(input, joined(ws[k], 0, gates), joined(bs[k], 0, gates));
      const RecurrentOutput out =
          recurrent_layer({n.cell, direction == 1}, batch_sizes, from_x, h[k], has_cells(n) ? c[k] : Variable(),
                          joined(ws[k], gates, gates), joined(bs[k], gates, gates));
      ys.push_back(out.y);
      hy.push_back(out.hy);
      if (has_cells(n)) cy.push_back(out.cy);
    }
    x = n.directions == 1 ? ys[0] : concat({ys[0], ys[1]}, 1);
  }
  return {stack(hy, 0), has_cells(n) ? stack(cy, 0) : Variable(), x};
}

// The arguments as autocast may give them back: hx, cx, ws, bs, xs.
class CastArguments {
 public:
  CastArguments(const Network& n, const Variable& h, const Variable& c, Weights w, Weights b,
                std::span<const Variable> x) {
    std::vector<Variable> all{h};
    if (has_cells(n)) all.push_back(c);
    for (const Weights lists : {w, b}) {
      for (const std::vector<Variable>& list : lists) all.insert(all.end(), list.begin(), list.end());
    }
    all.insert(all.end(), x.begin(), x.end());
    if (!std::all_of(all.begin(), all.end(), [](const Variable& v) { return v.is_defined(); })) return;
    in_.emplace(n.name, all);
    if (!in_->is_cast()) return;
    size_t next = 0;
    hx = (*in_)[next++];
    if (has_cells(n)) cx = (*in_)[next++];
    for (auto [from, to] : {std::pair{w, &ws}, std::pair{b, &bs}}) {
      for (const std::vector<Variable>& list : from) {
        to->emplace_back();
        for (size_t i = 0; i < list.size(); ++i) to->back().push_back((*in_)[next++]);
      }
    }
    for (size_t i = 0; i < x.size(); ++i) xs.push_back((*in_)[next++]);
  }
  bool is_cast() const noexcept { return in_ && in_->is_cast(); }

  Variable hx, cx;
  std::vector<std::vector<Variable>> ws, bs;
  std::vector<Variable> xs;

 private:
  std::optional<CompositeInputs> in_;
};

}  // namespace

Result run(const Network& n, const Variable& hx, const Variable& cx, Weights ws, Weights bs,
           std::span<const Variable> xs) {
  if (const CastArguments in(n, hx, cx, ws, bs, xs); in.is_cast()) return run(n, in.hx, in.cx, in.ws, in.bs, in.xs);
  check_times(n, hx, xs);
  check(n, hx, cx, ws, bs, xs[0]);
  std::vector<int64_t> batch_sizes, ends;
  int64_t end = 0;
  for (const Variable& x : xs) {
    batch_sizes.push_back(x.shape()[0]);
    ends.push_back(end += x.shape()[0]);
  }
  ends.pop_back();
  const Computed out = compute(n, hx, cx, ws, bs, xs.size() == 1 ? xs[0] : concat(xs, 0), batch_sizes);
  const Variables ys = xs.size() == 1 ? Variables(out.y) : split_axis(out.y, ends, 0);
  return {out.hy, out.cy, {ys.begin(), ys.end()}};
}

PackedResult run(const Network& n, const Variable& hx, const Variable& cx, Weights ws, Weights bs,
                 const PackedSequence& xs) {
  expect_floating(xs.data(), n.call, "xs");
  if (xs.data().ndim() != 2) {
    throw TypeError(std::string(n.call) + ": xs has data of shape " + to_string(xs.data().shape()) +
                    ": it must have two axes, (rows, input)");
  }
  if (ws.empty() || ws[0].empty()) expect_count(n, "ws", 0, n.n_layers * n.directions);
  expect_given(ws[0][0], n.call, "ws[0][0]");
  const Variable& x = xs.data();
  const int64_t units = ws[0][0].ndim() > 0 ? ws[0][0].shape()[0] : 0;
  const auto or_zeros = [&](const Variable& state) {
    if (state.is_defined()) return state;
    return Variable(zeros({n.n_layers * n.directions, xs.size(), units}, x.dtype(), x.device()), false);
  };
  const Variable h = or_zeros(hx), c = has_cells(n) ? or_zeros(cx) : cx;
  const std::vector<Variable> data{x};
  if (const CastArguments in(n, h, c, ws, bs, data); in.is_cast()) {
    return run(n, in.hx, in.cx, in.ws, in.bs, xs.with(in.xs[0]));
  }
  check(n, h, c, ws, bs, x);
  if (h.dtype() != x.dtype()) expect_shape(n, "xs", x, x.shape(), h.dtype());
  if (h.shape()[1] != xs.size()) {
    expect_shape(n, "hx", h, {h.shape()[0], xs.size(), units}, x.dtype());
  }
  if (xs.is_sorted()) {
    const Computed out = compute(n, h, c, ws, bs, x, xs.batch_sizes());
    return {out.hy, out.cy, xs.with(out.y)};
  }
  const Array order = host_constant([&] { return array(xs.order(), x.device()); });
  const auto in_order = [&](const Variable& state, bool inv) {
    return state.is_defined() ? permutate(state, order, 1, inv) : state;
  };
  const Computed out = compute(n, in_order(h, false), in_order(c, false), ws, bs, x, xs.batch_sizes());
  return {in_order(out.hy, true), in_order(out.cy, true), xs.with(out.y)};
}

}  // namespace kusari::functions::n_step
