#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/rnn/n_step_gru.h"
#include "kusari/framework/functions/rnn/n_step_lstm.h"
#include "kusari/framework/functions/rnn/n_step_rnn.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::n_step_test {
namespace {

using namespace testing;
using Values = std::vector<double>;
using Weights = std::vector<std::vector<Variable>>;

enum class Kind { lstm, gru, tanh, relu };

int64_t gates_of(Kind kind) { return kind == Kind::lstm ? 4 : kind == Kind::gru ? 3 : 1; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// A network with drawn numbers, and what it computes by plain loops.
struct Net {
  Kind kind;
  int64_t layers, directions, inputs, units, batch;
  std::vector<int64_t> lengths;  // rows at each time
  Weights ws, bs;
  Variable hx, cx;
  std::vector<Variable> xs;

  Net(Kind k, int64_t n_layers, bool both, std::vector<int64_t> rows, Dtype dtype = Dtype::float64)
      : kind{k}, layers{n_layers}, directions{both ? 2 : 1}, inputs{3}, units{2}, batch{3}, lengths{std::move(rows)} {
    uint64_t seed = 1;
    const auto drawn = [&](const Shape& shape) { return Variable(uniform(shape, -1, 1, ++seed).astype(dtype)); };
    for (int64_t cell = 0; cell < layers * directions; ++cell) {
      ws.emplace_back();
      bs.emplace_back();
      for (int64_t g = 0; g < 2 * gates_of(kind); ++g) {
        const int64_t below = cell < directions ? inputs : directions * units;
        ws.back().push_back(drawn({units, g < gates_of(kind) ? below : units}));
        bs.back().push_back(drawn({units}));
      }
    }
    hx = drawn({layers * directions, batch, units});
    cx = drawn({layers * directions, batch, units});
    for (const int64_t n : lengths) xs.push_back(drawn({n, inputs}));
  }

  struct Output {
    Variable hy, cy;
    std::vector<Variable> ys;
  };
  Output run(double dropout = 0) const {
    if (kind == Kind::lstm) {
      auto [hy, cy, ys] = directions == 2 ? F::n_step_bilstm(layers, dropout, hx, cx, ws, bs, xs)
                                          : F::n_step_lstm(layers, dropout, hx, cx, ws, bs, xs);
      return {hy, cy, ys};
    }
    if (kind == Kind::gru) {
      auto [hy, ys] = directions == 2 ? F::n_step_bigru(layers, dropout, hx, ws, bs, xs)
                                      : F::n_step_gru(layers, dropout, hx, ws, bs, xs);
      return {hy, {}, ys};
    }
    const auto activation = kind == Kind::tanh ? F::RnnActivation::tanh : F::RnnActivation::relu;
    auto [hy, ys] = directions == 2 ? F::n_step_birnn(layers, dropout, hx, ws, bs, xs, activation)
                                    : F::n_step_rnn(layers, dropout, hx, ws, bs, xs, activation);
    return {hy, {}, ys};
  }

  // W_g v + b_g.
  Values product(size_t cell, int64_t gate, const double* v, size_t n) const {
    const Values w = ws[cell][static_cast<size_t>(gate)].to_vector<double>();
    Values y = bs[cell][static_cast<size_t>(gate)].to_vector<double>();
    for (size_t u = 0; u < y.size(); ++u) {
      for (size_t i = 0; i < n; ++i) y[u] += w[u * n + i] * v[i];
    }
    return y;
  }
  void step(size_t cell, const double* x, size_t n, double* h, double* c) const {
    const int64_t count = gates_of(kind);
    const auto H = static_cast<size_t>(units);
    std::vector<Values> a, b;
    for (int64_t g = 0; g < count; ++g) {
      a.push_back(product(cell, g, x, n));
      b.push_back(product(cell, count + g, h, H));
    }
    for (size_t u = 0; u < H; ++u) {
      if (kind == Kind::lstm) {
        c[u] = sigmoid(a[1][u] + b[1][u]) * c[u] + sigmoid(a[0][u] + b[0][u]) * std::tanh(a[2][u] + b[2][u]);
        h[u] = sigmoid(a[3][u] + b[3][u]) * std::tanh(c[u]);
      } else if (kind == Kind::gru) {
        const double z = sigmoid(a[1][u] + b[1][u]);
        h[u] = (1 - z) * std::tanh(a[2][u] + sigmoid(a[0][u] + b[0][u]) * b[2][u]) + z * h[u];
      } else {
        const double s = a[0][u] + b[0][u];
        h[u] = kind == Kind::tanh ? std::tanh(s) : std::max(s, 0.0);
      }
    }
  }

  /// hy, cy and ys of every element, sequence by sequence.
  void check(const Output& output) const {
    const auto H = static_cast<size_t>(units), D = static_cast<size_t>(directions), B = static_cast<size_t>(batch);
    Values h = hx.to_vector<double>(), c = cx.to_vector<double>();
    std::vector<Values> below;
    for (const Variable& x : xs) below.push_back(x.to_vector<double>());
    size_t width = static_cast<size_t>(inputs);
    for (size_t layer = 0; layer < static_cast<size_t>(layers); ++layer) {
      std::vector<Values> above;
      for (const int64_t n : lengths) above.emplace_back(static_cast<size_t>(n) * D * H);
      for (size_t d = 0; d < D; ++d) {
        const size_t cell = layer * D + d;
        for (size_t i = 0; i < lengths.size(); ++i) {
          const size_t t = d == 0 ? i : lengths.size() - 1 - i;
          for (size_t row = 0; row < static_cast<size_t>(lengths[t]); ++row) {
            double* const state = &h[(cell * B + row) * H];
            step(cell, &below[t][row * width], width, state, &c[(cell * B + row) * H]);
            for (size_t u = 0; u < H; ++u) above[t][(row * D + d) * H + u] = state[u];
          }
        }
      }
      below = above;
      width = D * H;
    }
    check_close(output.hy, hx.shape(), h);
    if (kind == Kind::lstm) check_close(output.cy, cx.shape(), c);
    REQUIRE(output.ys.size() == lengths.size());
    for (size_t t = 0; t < lengths.size(); ++t) {
      check_close(output.ys[t], {lengths[t], directions * units}, below[t]);
    }
  }
};

}  // namespace

TEST_CASE("n_step networks of every kind over ragged sequences") {
  for (const Kind kind : {Kind::lstm, Kind::gru, Kind::tanh, Kind::relu}) {
    CAPTURE(static_cast<int>(kind));
    for (const bool both : {false, true}) {
      for (const int64_t layers : {1, 2, 3}) {
        for (const std::vector<int64_t>& lengths :
             {std::vector<int64_t>{3, 3}, {3, 2, 2, 1}, {1}, {2, 2, 0}, {3, 1, 1}}) {
          const Net net(kind, layers, both, lengths);
          net.check(net.run());
        }
      }
    }
  }
}

TEST_CASE("n_step networks in every dtype") {
  for (const Dtype dtype : kFloatingDtypes) {
    const Net net(Kind::lstm, 2, true, {3, 2}, dtype);
    const Net::Output output = net.run();
    CHECK(output.hy.dtype() == dtype);
    CHECK(output.ys[1].dtype() == dtype);
    net.check(output);
  }
}

TEST_CASE("gradients of n_step networks") {
  for (const Kind kind : {Kind::lstm, Kind::gru, Kind::tanh}) {
    Net net(kind, 2, true, {3, 2});
    // Of the first state, an input, and a weight of each layer.
    check_gradients(
        [&](const Variable& hx, const Variable& x, const Variable& w0, const Variable& w1) {
          Net other = net;
          other.hx = hx;
          other.xs[0] = x;
          other.ws[0][0] = w0;
          other.ws[3].back() = w1;
          const Net::Output output = other.run();
          Variable total = F::sum(output.hy * output.hy);
          if (kind == Kind::lstm) total = total + F::sum(output.cy);
          for (const Variable& y : output.ys) total = total + F::sum(y * y * y);
          return total;
        },
        net.hx.array(), net.xs[0].array(), net.ws[0][0].array(), net.ws[3].back().array());
  }
}

TEST_CASE("dropout of n_step networks") {
  const Net net(Kind::gru, 2, false, {3, 3});
  {
    const auto testing = using_config(&Config::train, false);
    net.check(net.run(0.5));
  }
  random::seed(3);
  const Values first = net.run(0.5).ys[1].to_vector<double>(), second = net.run(0.5).ys[1].to_vector<double>();
  CHECK(first != second);
  // The first layer reads xs whole: with one layer nothing is dropped.
  const Net single(Kind::gru, 1, false, {3, 3});
  single.check(single.run(0.5));
}

TEST_CASE("n_step networks with wrong arguments") {
  const auto expect = [](const std::string& text, const std::function<void(Net&)>& spoil) {
    Net net(Kind::lstm, 2, false, {3, 2});
    spoil(net);
    CHECK_THROWS_WITH(net.run(), doctest::Contains(text.c_str()));
  };
  expect("F::n_step_lstm: n_layers is 0: it must be positive", [](Net& n) { n.layers = 0; });
  expect("F::n_step_lstm: hx has shape (2, 3, 2): it must have three axes, (3, batch, units)",
         [](Net& n) { n.layers = 3; });
  expect("F::n_step_lstm: cx is not given", [](Net& n) { n.cx = Variable(); });
  expect("F::n_step_lstm: ws has 1 entries: it must have 2", [](Net& n) { n.ws.pop_back(); });
  expect("F::n_step_lstm: bs[1] has 7 entries: it must have 8", [](Net& n) { n.bs[1].pop_back(); });
  expect("F::n_step_lstm: ws[1][0] has shape (2, 3)", [](Net& n) { n.ws[1][0] = n.ws[0][0]; });
  expect("F::n_step_lstm: xs is empty", [](Net& n) { n.xs.clear(); });
  expect("F::n_step_lstm: xs[1] has 3 rows, xs[0] 2: sequences must be sorted by falling length",
         [](Net& n) { std::swap(n.xs[0], n.xs[1]); });
  expect("F::n_step_lstm: xs[0] has 4 rows, hx 3", [](Net& n) {
    n.xs[0] = zeros({4, 3}, Dtype::float64, test_device());
  });
  const Net net(Kind::lstm, 2, false, {3, 2});
  CHECK_THROWS_WITH_AS(net.run(1), "F::n_step_lstm: dropout_ratio is 1: it must be at least 0 and less than 1",
                       ValueError);
}

}  // namespace kusari::n_step_test
