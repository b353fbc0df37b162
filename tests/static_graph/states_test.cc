#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/loss/softmax_cross_entropy.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/links/connection/embed_id.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/rnn/gru.h"
#include "kusari/framework/links/rnn/lstm.h"
#include "kusari/framework/static_graph/static_graph.h"
#include "kusari/optimizers/momentum_sgd.h"
#include "kusari/updaters/static_step.h"

// Models that carry a state from call to call.
namespace kusari::states_test {
namespace {

class Lm : public Chain {
 public:
  Lm() : embed{*this, "embed", 7, 4}, lstm{*this, "lstm", 4, 5}, gru{*this, "gru", 5, 3}, out{*this, "out", 3, 7} {}
  Variable operator()(const Variable& x) { return out(gru(lstm(embed(x)))); }
  void reset_state() {
    lstm.reset_state();
    gru.reset_state();
  }

 private:
  Child<L::EmbedID> embed;
  Child<L::LSTM> lstm;
  Child<L::GRU> gru;
  Child<L::Linear> out;
};

Variable words(int seed, int64_t batch = 3) {
  std::vector<int32_t> ids;
  for (int64_t b = 0; b < batch; ++b) ids.push_back(static_cast<int32_t>((seed * 5 + b * 3) % 7));
  return Variable(array(ids), false);
}

std::vector<uint32_t> bits(const Array& x) {
  std::vector<uint32_t> result;
  for (const float value : x.to_vector<float>()) result.push_back(std::bit_cast<uint32_t>(value));
  return result;
}
std::vector<uint32_t> all_bits(Link& model) {
  std::vector<uint32_t> result;
  const auto add = [&](const Array& x) {
    for (const uint32_t word : bits(x)) result.push_back(word);
  };
  for (Parameter* p : model.params()) add(p->array());
  for (const auto& [path, state] : states(model)) {
    if (state->is_defined()) add(state->array());
  }
  return result;
}

}  // namespace

TEST_CASE("static graphs of models with a state give the numbers of define-by-run") {
  const auto mode = no_backprop_mode();
  Lm plain;
  Lm recorded = plain;
  auto graph = static_graph(recorded);
  for (int round = 0; round < 2; ++round) {
    for (int t = 0; t < 6; ++t) CHECK(bits(graph(words(t)).array()) == bits(plain(words(t)).array()));
    CHECK(all_bits(plain) == all_bits(recorded));
    plain.reset_state();
    recorded.reset_state();
  }
  CHECK(graph.summary().find("define-by-run") == std::string::npos);
}

TEST_CASE("gradients go through several calls of a static graph by way of the state") {
  Lm plain;
  Lm recorded = plain;
  auto graph = static_graph(recorded);
  for (int round = 0; round < 4; ++round) {
    plain.cleargrads();
    recorded.cleargrads();
    Variable expected, got;
    for (int t = 0; t < 4; ++t) {
      const Variable a = functions::softmax_cross_entropy(plain(words(t)), words(t + 1));
      const Variable b = functions::softmax_cross_entropy(graph(words(t)), words(t + 1));
      expected = t == 0 ? a : expected + a;
      got = t == 0 ? b : got + b;
    }
    expected.backward();
    got.backward();
    const auto params = plain.params(), others = recorded.params();
    for (size_t i = 0; i < params.size(); ++i) {  // sums over the calls, in another order
      const auto a = params[i]->grad().to_vector<float>(), b = others[i]->grad().to_vector<float>();
      for (size_t k = 0; k < a.size(); ++k) CHECK(a[k] == doctest::Approx(b[k]).epsilon(1e-4));
    }
    unchain_states(plain);
    unchain_states(recorded);
  }
  CHECK(graph.summary().find("define-by-run") == std::string::npos);
}

TEST_CASE("steps of training that carry a state are replayed as a whole") {
  Lm plain;
  Lm recorded = plain;
  optimizers::MomentumSGD a(0.1), b(0.1);
  a.setup(plain);
  b.setup(recorded);
  const auto loss_of = [](Lm& model, std::span<const Variable> x) {
    Variable loss;
    for (size_t t = 0; t + 1 < x.size(); ++t) {
      const Variable one = functions::softmax_cross_entropy(model(x[t]), x[t + 1]);
      loss = t == 0 ? one : loss + one;
    }
    return loss;
  };
  updaters::StaticStep step(
      {}, [&](Optimizer&, std::span<const Variable> x) { return loss_of(recorded, x); }, false);
  for (int round = 0; round < 8; ++round) {
    if (round == 5) {
      plain.reset_state();
      recorded.reset_state();
    }
    const Variable x[] = {words(round), words(round + 1), words(round + 2), words(round + 3)};
    unchain_states(plain);
    a.update([&] { return loss_of(plain, x); });
    unchain_states(recorded);
    step.update(b, x);
    CHECK(all_bits(plain) == all_bits(recorded));
    for (const auto& [path, state] : states(recorded)) CHECK(state->is_defined());
  }
  CHECK(step.replays() >= 4);
}

TEST_CASE("steps that leave a state alone are replayed, and keep it") {
  struct Two : Chain {
    Two() : lstm{*this, "lstm", 4, 5}, out{*this, "out", 4, 3} {}
    Child<L::LSTM> lstm;
    Child<L::Linear> out;
  } model;
  optimizers::MomentumSGD optimizer(0.1);
  optimizer.setup(model);
  model.lstm.set_state(Variable(full({2, 5}, 3, Dtype::float32), false), Variable(ones({2, 5}), false));
  const auto state = bits(model.lstm.c.array());
  const auto loss_of = [&](Optimizer&, std::span<const Variable> x) {
    return functions::softmax_cross_entropy(model.out(x[0]), x[1]);
  };
  updaters::StaticStep step({}, loss_of, false);
  for (int round = 0; round < 6; ++round) {
    const Variable x[] = {Variable(ones({3, 4}), false), words(0)};
    if (round == 4) model.lstm.h = model.lstm.c;
    step.update(optimizer, x);
    CHECK(bits(model.lstm.c.array()) == state);
    CHECK((bits(model.lstm.h.array()) == state) == (round >= 4));
  }
  CHECK(step.replays() >= 4);
}

TEST_CASE("a step whose replay fails leaves the state as it was") {
  Lm model;
  optimizers::MomentumSGD optimizer(0.1);
  optimizer.setup(model);
  updaters::StaticStep step(
      {}, [&](Optimizer&, std::span<const Variable> x) { return functions::softmax_cross_entropy(model(x[0]), x[1]); },
      false);
  const auto update = [&](int round) {
    const Variable x[] = {words(round), words(round + 1)};
    step.update(optimizer, x);
  };
  for (int round = 0; round < 4; ++round) update(round);
  CHECK(step.replays() >= 2);
  const auto before = all_bits(model);
  optimizer.lr = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(update(4), ValueError);
  CHECK(all_bits(model) == before);
  CHECK(optimizer.t() == 4);
  optimizer.lr = 0.1;
  for (int round = 4; round < 7; ++round) update(round);
  CHECK(optimizer.t() == 7);
}

TEST_CASE("a call that fails leaves the state as it was") {
  Lm model;
  auto graph = static_graph(model);
  const auto mode = no_backprop_mode();
  graph(words(1));
  const auto before = all_bits(model);
  CHECK_THROWS(graph(Variable(ones({3, 2}), false)));
  CHECK(all_bits(model) == before);
}

}  // namespace kusari::states_test
