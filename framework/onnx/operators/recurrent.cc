#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/rnn/packed_sequence.h"
#include "kusari/framework/functions/rnn/recurrent_layer.h"
#include "kusari/framework/onnx/operators/activation.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"
#include "kusari/framework/onnx/operators/quantized.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

enum class Kind : uint8_t { rnn, gru, lstm };

/// What stands in the attributes.
struct Network {
  Kind kind;
  int64_t gates;  ///< 1, 3 or 4
  std::string direction;
  bool batch_first, input_forget, linear_before_reset;
  std::optional<double> clip;
  std::vector<std::string> names;  ///< of the activations: as many for each direction
  std::vector<Activation> activations;
  bool is_standard;           ///< what recurrent_layer computes
  bool is_quantized = false;  ///< products of what 8 bits leave of inputs and states
};

/// The same for one direction of a call.
struct Direction {
  Variable w, r, b, h, c, p;  ///< (G H, I), (G H, H), (2 G H), (B, H), (B, H), (3 H)
  bool reversed;
};

/// The numbers of a list of alphas or betas: one for each activation, or for each that takes one.
class ActivationNumbers {
 public:
  ActivationNumbers(std::optional<std::vector<double>> given, std::span<const std::string> names,
                    std::span<const std::string_view> takers)
      : given_{std::move(given).value_or(std::vector<double>{})} {
    for (const std::string& name : names) {
      const bool takes = std::find(takers.begin(), takers.end(), name) != takers.end();
      places_.push_back(takes ? (given_.size() == names.size() ? places_.size() : taken_++) : given_.size());
    }
  }
  std::optional<double> operator[](size_t i) const {
    return places_[i] < given_.size() ? std::optional(given_[places_[i]]) : std::nullopt;
  }

 private:
  std::vector<double> given_;
  std::vector<size_t> places_;  // of each activation's number
  size_t taken_ = 0;
};

/// A name of an activation as ONNX writes it: files have "sigmoid" too, and other runtimes take it.
std::string spelled(const std::string& name) {
  constexpr std::string_view kKnown[] = {"Sigmoid",         "Tanh",       "Relu",        "Affine", "LeakyRelu",
                                         "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu",    "Softsign",
                                         "Softplus"};
  const auto same = [](char a, char b) { return (a | 32) == (b | 32); };
  for (const std::string_view known : kKnown) {
    if (std::equal(name.begin(), name.end(), known.begin(), known.end(), same)) return std::string(known);
  }
  return name;
}

Network network_of(const NodeReader& node, Kind kind) {
  Network net;
  net.kind = kind;
  net.gates = kind == Kind::lstm ? 4 : kind == Kind::gru ? 3 : 1;
  net.direction = node.text("direction", "forward");
  expect_one_of("direction", net.direction, {"forward", "reverse", "bidirectional"});
  net.batch_first = node.flag("layout", false);
  net.input_forget = node.flag("input_forget", false);
  net.linear_before_reset = node.flag("linear_before_reset", false);
  if (node.has("clip") && node.real("clip") > 0) net.clip = node.real("clip");
  for (const std::string& name : node.texts("activations")) net.names.push_back(spelled(name));
  const size_t directions = net.direction == "bidirectional" ? 2 : 1;
  const std::vector<std::string> standard = kind == Kind::lstm  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                            : kind == Kind::gru ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                                : std::vector<std::string>{"Tanh"};
  net.is_standard = true;
  if (net.names.empty()) {
    for (size_t d = 0; d < directions; ++d) net.names.insert(net.names.end(), standard.begin(), standard.end());
  }
  if (net.names.size() != directions * standard.size()) {
    throw ValueError("it has " + std::to_string(net.names.size()) + " activations: there must be " +
                     std::to_string(directions * standard.size()));
  }
  constexpr std::string_view kTakeAlpha[] = {"Affine",     "LeakyRelu",   "ThresholdedRelu",
                                             "ScaledTanh", "HardSigmoid", "Elu"};
  constexpr std::string_view kTakeBeta[] = {"Affine", "ScaledTanh", "HardSigmoid"};
  const ActivationNumbers alphas(node.reals("activation_alpha"), net.names, kTakeAlpha);
  const ActivationNumbers betas(node.reals("activation_beta"), net.names, kTakeBeta);
  for (size_t i = 0; i < net.names.size(); ++i) {
    net.activations.push_back(named_activation(net.names[i], alphas[i], betas[i]));
    const bool is_plain_relu = kind == Kind::rnn && net.names[i] == "Relu";
    net.is_standard = net.is_standard && (net.names[i] == standard[i % standard.size()] || is_plain_relu);
  }
  net.is_standard = net.is_standard && !net.clip && !net.input_forget && (kind != Kind::gru || net.linear_before_reset);
  return net;
}

/// The gates of a parameter in another order: (G H, ...).
Variable reordered(const Variable& x, int64_t gates, const std::vector<size_t>& order) {
  const Variables parts = F::split_axis(x, gates, 0);
  Variables moved;
  for (const size_t gate : order) moved.push_back(parts[gate]);
  return F::concat(std::span<const Variable>(moved), 0);
}

struct Output {
  Variable y, h, c;  ///< (T, B, H), (B, H), (B, H)
};

/// Sequences as kernels take them: rows of all times, the longest sequence first.
struct Rows {
  Rows(const std::vector<int64_t>& lengths, int64_t times) {
    const auto packed = kusari::detail::packed_order(lengths);
    sizes = packed.batch_sizes;
    const int64_t batch = static_cast<int64_t>(lengths.size());
    order = packed.order;
    ranks.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) ranks[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    int64_t row = 0;
    std::vector<int64_t> first(sizes.size());
    for (size_t t = 0; t < sizes.size(); ++t) {
      first[t] = row;
      row += sizes[t];
      for (int64_t i = 0; i < sizes[t]; ++i)
        from.push_back(static_cast<int64_t>(t) * batch + order[static_cast<size_t>(i)]);
    }
    for (int64_t t = 0; t < times; ++t) {
      for (size_t b = 0; b < lengths.size(); ++b) {
        to.push_back(t < lengths[b] ? first[static_cast<size_t>(t)] + ranks[b] : row);
      }
    }
  }
  std::vector<int64_t> sizes;         ///< rows at each time
  std::vector<int64_t> order, ranks;  ///< of the sequences, by falling length
  std::vector<int64_t> from;          ///< for each packed row, which of (T B) it is
  std::vector<int64_t> to;            ///< for each of (T B), its packed row, or the one behind the last
};

/// x where a sequence is longer than `at`, elsewhere y, (B, H).
Variable where_longer(const std::vector<int64_t>& lengths, int64_t at, const Variable& x, const Variable& y) {
  const Array is_longer = host_constant([&] {
    std::vector<uint8_t> values(lengths.size());
    for (size_t i = 0; i < lengths.size(); ++i) values[i] = at < lengths[i] ? 1 : 0;
    return from_host(values.data(), {static_cast<int64_t>(values.size()), 1}, Dtype::bool_, x.device())
        .broadcast_to(x.shape());
  });
  return F::where(is_longer, x, y);
}

Variable zeros_as(const Variable& x) { return F::broadcast_to(number_like(x, 0), x.shape()); }

Variable take(const Variable& x, const std::vector<int64_t>& rows) {
  const Array index = host_constant(
      [&] { return from_host(rows.data(), {static_cast<int64_t>(rows.size())}, Dtype::int64, x.device()); });
  return F::get_item(x, {index});
}

/// By the fused kernel.
Output run_fused(const Network& net, const Direction& d, const Variable& x,
                 const std::optional<std::vector<int64_t>>& lengths) {
  const int64_t times = x.shape()[0], batch = x.shape()[1], hidden = d.r.shape()[1];
  // Ours: i, f, a, o and r, z, g; there: i, o, f, c and z, r, h.
  const std::vector<size_t> order = net.kind == Kind::lstm  ? std::vector<size_t>{0, 2, 3, 1}
                                    : net.kind == Kind::gru ? std::vector<size_t>{1, 0, 2}
                                                            : std::vector<size_t>{0};
  const Variables biases = F::split_axis(d.b, 2, 0);
  const Variable w = reordered(d.w, net.gates, order), r = reordered(d.r, net.gates, order);
  const Variable wb = reordered(biases[0], net.gates, order), rb = reordered(biases[1], net.gates, order);
  kernels::RecurrentLayer layer{};
  layer.cell = net.kind == Kind::lstm   ? kernels::RecurrentCell::lstm
               : net.kind == Kind::gru  ? kernels::RecurrentCell::gru
               : net.names[0] == "Relu" ? kernels::RecurrentCell::relu
                                        : kernels::RecurrentCell::tanh;
  layer.reversed = d.reversed;
  Variable rows = F::reshape(x, {times * batch, x.shape()[2]});
  if (!lengths) {
    const std::vector<int64_t> sizes(static_cast<size_t>(times), batch);
    const F::RecurrentOutput out = F::recurrent_layer(layer, sizes, F::linear(rows, w, wb), d.h, d.c, r, rb);
    return {F::reshape(out.y, {times, batch, hidden}), out.hy, out.cy};
  }
  const Rows packed(*lengths, times);
  rows = F::linear(take(rows, packed.from), w, wb);
  const Variable c = d.c.is_defined() ? take(d.c, packed.order) : Variable();
  const F::RecurrentOutput out = F::recurrent_layer(layer, packed.sizes, rows, take(d.h, packed.order), c, r, rb);
  // What is behind the end of a sequence is 0.
  const Variable end(zeros({1, hidden}, out.y.dtype(), x.device()), false);
  const Variable y = take(F::concat({out.y, end}, 0), packed.to);
  return {F::reshape(y, {times, batch, hidden}), take(out.hy, packed.ranks),
          out.cy.is_defined() ? take(out.cy, packed.ranks) : Variable()};
}

Variable clipped(const Variable& x, const Network& net) { return net.clip ? F::clip(x, -*net.clip, *net.clip) : x; }

/// One step of one sequence after the other's: any activations, peepholes, clipping.
std::pair<Variable, Variable> step(const Network& net, const Direction& d, size_t first, const Variable& x,
                                   const Variable& h, const Variable& c, const Variable& rb) {
  const Activation* const f = &net.activations[first];
  const auto gates = [&](const Variable& all) { return F::split_axis(all, net.gates, 1); };
  if (net.kind == Kind::rnn) return {f[0](clipped(x + F::linear(h, d.r, rb), net)), Variable()};
  if (net.kind == Kind::gru) {
    const Variables from_x = gates(x), r = F::split_axis(d.r, 3, 0), bias = F::split_axis(rb, 3, 0);
    const Variable z = f[0](clipped(from_x[0] + F::linear(h, r[0], bias[0]), net));
    const Variable reset = f[0](clipped(from_x[1] + F::linear(h, r[1], bias[1]), net));
    const Variable inner =
        net.linear_before_reset ? reset * F::linear(h, r[2], bias[2]) : F::linear(reset * h, r[2], bias[2]);
    const Variable n = f[1](clipped(from_x[2] + inner, net));
    return {n - z * n + z * h, Variable()};
  }
  const Variables all = gates(x + F::linear(net.is_quantized ? rounded_to_8_bits(h) : h, d.r, rb));
  Variable i = all[0], o = all[1], forget = all[2];
  Variables p;
  if (d.p.is_defined()) {
    p = F::split_axis(d.p, 3, 0);
    i = i + F::broadcast_to(p[0], c.shape()) * c;
    forget = forget + F::broadcast_to(p[2], c.shape()) * c;
  }
  i = f[0](clipped(i, net));
  forget = net.input_forget ? 1 - i : f[0](clipped(forget, net));
  const Variable cell = forget * c + i * f[1](clipped(all[3], net));
  if (d.p.is_defined()) o = o + F::broadcast_to(p[1], c.shape()) * cell;
  o = f[0](clipped(o, net));
  return {o * f[2](cell), cell};
}

Output run_steps(const Network& net, const Direction& d, size_t first_activation, const Variable& x,
                 const std::optional<std::vector<int64_t>>& lengths) {
  const int64_t times = x.shape()[0], batch = x.shape()[1];
  const Variables biases = F::split_axis(d.b, 2, 0);
  Variable h = d.h, c = d.c;
  Variables ys(static_cast<size_t>(times));
  const Variable rows = F::linear(F::reshape(x, {times * batch, x.shape()[2]}), d.w, biases[0]);
  const Variable from_inputs = F::reshape(rows, {times, batch, rows.shape()[1]});
  for (int64_t k = 0; k < times; ++k) {
    const int64_t t = d.reversed ? times - 1 - k : k;
    const Variable from_x = F::get_item(from_inputs, Index(t));
    auto [new_h, new_c] = step(net, d, first_activation, from_x, h, c, biases[1]);
    if (lengths) {
      ys[static_cast<size_t>(t)] = where_longer(*lengths, t, new_h, zeros_as(h));
      new_h = where_longer(*lengths, t, new_h, h);
      if (c.is_defined()) new_c = where_longer(*lengths, t, new_c, c);
    } else {
      ys[static_cast<size_t>(t)] = new_h;
    }
    h = new_h;
    c = new_c;
  }
  return {F::stack(std::span<const Variable>(ys), 0), h, c};
}

/// Input i for one direction, (G H, ...). A quantized network has columns of integers, whose scales and zero points
/// come from `scale` on, one for all or one for each column.
Variable weights_of(const Network& net, const Call& call, size_t i, size_t scale, int64_t direction) {
  const auto part = [&](size_t k) { return call.has(k) ? F::get_item(call[k], Index(direction)) : Variable(); };
  return net.is_quantized ? dequantized_columns(part(i), part(scale), part(scale + 1)) : part(i);
}

Values run(const Network& net, const Call& call) {
  Variable x = call[0];
  if (x.ndim() != 3) throw TypeError("X has shape " + kusari::to_string(x.shape()) + ": it must have 3 axes");
  if (net.batch_first) x = F::swapaxes(x, 0, 1);
  const int64_t times = x.shape()[0], batch = x.shape()[1];
  const int64_t directions = net.direction == "bidirectional" ? 2 : 1;
  const Variable w = call[1], r = call[2];
  if (w.ndim() != 3 || r.ndim() != 3 || w.shape()[0] != directions || r.shape()[0] != directions) {
    throw TypeError("W has shape " + kusari::to_string(w.shape()) + ", R " + kusari::to_string(r.shape()) +
                    ": both must have 3 axes, the first of size " + std::to_string(directions));
  }
  const int64_t hidden = r.shape()[net.is_quantized ? 1 : 2];
  if (net.is_quantized) x = rounded_to_8_bits(x);
  std::optional<std::vector<int64_t>> lengths;
  if (call.has(4)) {
    lengths = call.integers(4);
    if (lengths->size() != static_cast<size_t>(batch))
      throw ValueError("sequence_lens has " + std::to_string(lengths->size()) + " numbers for " +
                       std::to_string(batch) + " sequences");
    for (const int64_t length : *lengths) {
      if (length < 0 || length > times)
        throw ValueError("sequence_lens has " + std::to_string(length) + ": sequences have at most " +
                         std::to_string(times) + " elements");
    }
    if (std::all_of(lengths->begin(), lengths->end(), [times](int64_t length) { return length == times; }))
      lengths.reset();
  }
  const auto state = [&](size_t i, int64_t d) {
    if (!call.has(i)) return Variable(zeros({batch, hidden}, x.dtype(), x.device()), false);
    const Variable all = net.batch_first ? F::swapaxes(call[i], 0, 1) : call[i];
    return F::get_item(all, Index(d));
  };
  Variables ys, hs, cs;
  for (int64_t i = 0; i < directions; ++i) {
    Direction d;
    d.reversed = net.direction == "reverse" || i == 1;
    d.w = weights_of(net, call, 1, 8, i);
    d.r = weights_of(net, call, 2, 10, i);
    d.b = call.has(3) ? F::get_item(call[3], Index(i))
                      : Variable(zeros({2 * net.gates * hidden}, x.dtype(), x.device()), false);
    d.h = state(5, i);
    if (net.kind == Kind::lstm) d.c = state(6, i);
    if (net.kind == Kind::lstm && call.has(7)) d.p = F::get_item(call[7], Index(i));
    const size_t first = static_cast<size_t>(i) * net.activations.size() / static_cast<size_t>(directions);
    const bool same_activation = net.kind != Kind::rnn || net.names[first] == net.names[0];
    Output out = net.is_standard && !d.p.is_defined() && same_activation && times > 0
                     ? run_fused(net, d, x, lengths)
                     : run_steps(net, d, first, x, lengths);
    if (lengths && std::find(lengths->begin(), lengths->end(), 0) != lengths->end()) {
      // ONNX Runtime gives 0 for a sequence without elements, not the state before it.
      out.h = where_longer(*lengths, 0, out.h, zeros_as(out.h));
      if (out.c.is_defined()) out.c = where_longer(*lengths, 0, out.c, zeros_as(out.c));
    }
    ys.push_back(out.y);
    hs.push_back(out.h);
    cs.push_back(out.c);
  }
  const auto together = [&](const Variables& parts, int64_t axis) {
    return F::stack(std::span<const Variable>(parts), axis);
  };
  // (T, D, B, H) and (D, B, H); with batches first (B, T, D, H) and (B, D, H).
  const Variable y = net.batch_first ? F::transpose(together(ys, 1), {2, 0, 1, 3}) : together(ys, 1);
  Values results{y, together(hs, net.batch_first ? 1 : 0)};
  if (net.kind == Kind::lstm) results.push_back(together(cs, net.batch_first ? 1 : 0));
  return results;
}

template <Kind kKind>
Operation recurrent(const NodeReader& node) {
  node.expect_inputs(3);
  return [net = network_of(node, kKind)](const Call& call) -> Values { return run(net, call); };
}

Operation dynamic_quantize_lstm(const NodeReader& node) {
  node.expect_inputs(12);
  Network net = network_of(node, Kind::lstm);
  net.is_quantized = true;
  net.is_standard = false;  // the states are rounded at each step
  return [net](const Call& call) -> Values { return run(net, call); };
}

}  // namespace

std::span<const Operator> recurrent_operators() {
  static constexpr Operator kOperators[] = {
      {"RNN", recurrent<Kind::rnn>},
      {"GRU", recurrent<Kind::gru>},
      {"LSTM", recurrent<Kind::lstm>},
  };
  return kOperators;
}

std::span<const Operator> microsoft_recurrent_operators() {
  static constexpr Operator kOperators[] = {{"DynamicQuantizeLSTM", dynamic_quantize_lstm}};
  return kOperators;
}

}  // namespace kusari::onnx
