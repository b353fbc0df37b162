#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/stack.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/initializers/orthogonal.h"
#include "kusari/framework/links/any_link.h"
#include "kusari/framework/links/rnn/gru.h"
#include "kusari/framework/links/rnn/lstm.h"
#include "kusari/framework/links/rnn/mgu.h"
#include "kusari/framework/links/rnn/n_step_lstm.h"
#include "kusari/framework/links/rnn/n_step_rnn.h"
#include "kusari/framework/links/rnn/peephole_lstm.h"
#include "kusari/framework/links/rnn/tree_lstm.h"
#include "kusari/framework/links/rnn/zoneout_lstm.h"
#include "kusari/framework/serializers/dictionary.h"

// What Chainer computes is in the golden cases; here is what they do not ask.
namespace kusari::recurrent_links_test {
namespace {

Variable drawn(const Shape& shape, int seed = 1) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i) + seed));
  return Variable(array(values, shape));
}
std::vector<float> numbers(const Variable& v) { return v.to_vector<float>(); }

/// Two steps, forgetting, and the first step again.
template <class L>
void check_state(L link, const char* name) {
  CAPTURE(name);
  const Variable x = drawn({2, 3}), other = drawn({2, 3}, 2);
  const auto first = numbers(link(x)), second = numbers(link(other));
  CHECK(first != numbers(link(x)));
  link.reset_state();
  CHECK(!link.h.is_defined());
  CHECK(numbers(link(x)) == first);
  // A copy goes on from the same state, on its own; a sharing one begins anew.
  L copied = link;
  L shared = copy(link, CopyMode::share);
  CHECK(!shared.h.is_defined());
  CHECK(numbers(shared(x)) == first);
  CHECK(numbers(copied(other)) == second);
  CHECK(numbers(link(other)) == second);
  // The state is nothing that is trained or saved.
  for (const auto& [path, param] : link.namedparams()) CHECK(path.substr(0, 2) != "/h");
  serializers::DictionarySerializer saved;
  link.serialize(saved);
  for (const auto& [key, value] : saved.dictionary()) CHECK(key != "h");
  CHECK(states(link).size() >= 1);
  // Backward ends where the state was cut.
  unchain_states(link);
  link.cleargrads();
  const auto grads = [&] {
    F::sum(link(x)).backward();
    return link.params()[0]->grad().template to_vector<float>();
  };
  CHECK(grads() != std::vector<float>{});
  CHECK(link.h.creator() != nullptr);
  unchain_states(link);
  CHECK(link.h.creator() == nullptr);
  CHECK(!link.h.requires_grad());
  reset_states(link);
  for (const auto& [path, state] : states(link)) CHECK(!state->is_defined());
  CHECK(numbers(link(x)) == first);
}

}  // namespace

TEST_CASE("links that keep a state") {
  check_state(L::LSTM(3, 4), "LSTM");
  check_state(L::StatefulGRU(3, 4), "StatefulGRU");
  check_state(L::GRU(3, 4), "GRU");
  check_state(L::StatefulMGU(3, 4), "StatefulMGU");
  check_state(L::StatefulPeepholeLSTM(3, 4), "StatefulPeepholeLSTM");
  const auto testing = using_config(&Config::train, false);  // zoneout draws
  check_state(L::StatefulZoneoutLSTM(3, 4), "StatefulZoneoutLSTM");
}

TEST_CASE("states that are set") {
  const Variable c = drawn({2, 4}), h = drawn({2, 4}, 3), x = drawn({2, 3}, 5);
  L::LSTM lstm(3, 4);
  const L::StatelessLSTM& step = lstm;
  const auto [new_c, y] = step(c, h, x);
  lstm.set_state(c, h);
  CHECK(numbers(lstm(x)) == numbers(y));
  CHECK(numbers(lstm.c) == numbers(new_c));
  CHECK_THROWS_WITH_AS(lstm.set_state(c, Variable()), "L::LSTM::set_state: h is not given: it is required", TypeError);
  CHECK(numbers(lstm.c) == numbers(new_c));  // nothing was set

  L::StatefulGRU gru(3, 4);
  const L::StatelessGRU& gru_step = gru;
  gru.set_state(h);
  CHECK(numbers(gru(x)) == numbers(gru_step(h, x)));
  L::StatefulMGU mgu(3, 4);
  const L::StatelessMGU& mgu_step = mgu;
  mgu.set_state(h);
  CHECK(numbers(mgu(x)) == numbers(mgu_step(h, x)));
}

TEST_CASE("batches of LSTM may shrink, and not grow") {
  L::LSTM lstm(3, 4);
  lstm(drawn({3, 3}));
  const auto ended = numbers(Variable(lstm.h.array().slice(0, 1, 2).copy()));
  CHECK(lstm(drawn({1, 3}, 2)).shape() == Shape{1, 4});
  CHECK(lstm.h.shape() == Shape{3, 4});
  CHECK(numbers(Variable(lstm.h.array().slice(0, 1, 2).copy())) == ended);
  CHECK(lstm(drawn({0, 3})).shape() == Shape{0, 4});
  CHECK(lstm.h.shape() == Shape{3, 4});
  CHECK_THROWS_WITH_AS(lstm(drawn({4, 3})), doctest::Contains("L::LSTM: x has 4 rows and the state 3"), TypeError);
}

template <class Link>
void check_rows_stay(Link&& link, const char* text) {
  for (const int64_t first : {int64_t{1}, int64_t{3}}) {
    link.reset_state();
    link(drawn({first, 3}));
    CHECK_THROWS_WITH_AS(link(drawn({4 - first, 3})), doctest::Contains(text), TypeError);
    CHECK(link(drawn({first, 3})).shape() == Shape{first, 4});
  }
}

TEST_CASE("batches of the other stateful links stay as large as they are") {
  check_rows_stay(L::StatefulGRU(3, 4), "L::StatefulGRU: x has ");
  check_rows_stay(L::StatefulMGU(3, 4), "F::concat: ");
  check_rows_stay(L::StatefulPeepholeLSTM(3, 4), "L::StatefulPeepholeLSTM: x has ");
  check_rows_stay(L::StatefulZoneoutLSTM(3, 4), "L::StatefulZoneoutLSTM: x has ");
  L::StatefulPeepholeLSTM peephole(3, 4);
  peephole.set_state(drawn({2, 4}), drawn({1, 4}));
  CHECK_THROWS_WITH_AS(peephole(drawn({2, 3})), "L::StatefulPeepholeLSTM: x has 2 rows and h 1: they must be equal",
                       TypeError);
  CHECK_THROWS_AS(L::StatelessGRU(3, 4)(drawn({3, 4}), drawn({1, 3})), TypeError);
  CHECK_THROWS_AS(L::StatelessLSTM(3, 4)(drawn({3, 4}), drawn({1, 4}), drawn({3, 3})), TypeError);
}

TEST_CASE("a sequence is as many steps") {
  L::LSTM steps(3, 4);
  L::LSTM whole = copy(steps, CopyMode::copy);
  const auto check_near = [](const Variable& a, const Variable& b) {
    REQUIRE(a.shape() == b.shape());
    const auto x = numbers(a), y = numbers(b);
    for (size_t i = 0; i < x.size(); ++i) CHECK(x[i] == doctest::Approx(y[i]).epsilon(1e-5));
  };
  const Variable first = drawn({5, 3, 3}), second = drawn({2, 2, 3}, 4);  // goes on with one sequence less
  const auto by_steps = [&](const Variable& xs) {
    std::vector<Variable> ys;
    for (int64_t t = 0; t < xs.shape(0); ++t) ys.push_back(steps(F::get_item(xs, {t})));
    return F::stack(ys, 0);
  };
  Variable by_whole = F::sum(whole.sequence(first) * whole.sequence(first));
  by_whole = by_whole + F::sum(whole.sequence(second) * drawn({2, 2, 4}, 9));
  Variable expected = F::sum(by_steps(first) * by_steps(first));
  expected = expected + F::sum(by_steps(second) * drawn({2, 2, 4}, 9));
  check_near(by_whole, expected);
  check_near(whole.h, steps.h);
  check_near(whole.c, steps.c);
  whole.cleargrads();
  steps.cleargrads();
  by_whole.backward();
  expected.backward();
  check_near(whole.upward.W.grad_var(), steps.upward.W.grad_var());
  check_near(whole.upward.b.grad_var(), steps.upward.b.grad_var());
  check_near(whole.lateral.W.grad_var(), steps.lateral.W.grad_var());

  CHECK(whole.sequence(drawn({2, 0, 3})).shape() == Shape{2, 0, 4});
  CHECK(whole.h.shape() == Shape{3, 4});
  CHECK_THROWS_WITH_AS(whole.sequence(drawn({2, 4, 3})),
                       doctest::Contains("L::LSTM::sequence: x has 4 rows and the state 3"), TypeError);
  CHECK_THROWS_WITH_AS(whole.sequence(drawn({2, 3})), doctest::Contains("(time, batch, input)"), TypeError);
  CHECK_THROWS_WITH_AS(whole.sequence(drawn({0, 2, 3})), doctest::Contains("at least one time"), TypeError);
  L::LSTM lazy(2);
  CHECK(lazy.sequence(drawn({1, 1, 5})).shape() == Shape{1, 1, 2});
}

TEST_CASE("how LSTM begins") {
  L::LSTM lstm(3, 2);
  CHECK(lstm.upward.b.to_vector<float>() == std::vector<float>{0, 0, 1, 0, 0, 0, 1, 0});
  L::LSTM given(3, 2,
                {.lateral_init = 2, .upward_init = initializers::Orthogonal(1), .bias_init = 3, .forget_bias_init = 4});
  CHECK(given.upward.b.to_vector<float>() == std::vector<float>{3, 3, 4, 3, 3, 3, 4, 3});
  CHECK(given.lateral.W.to_vector<float>() == std::vector<float>(16, 2));
  // Each quarter of the rows is orthogonal by itself.
  const std::vector<float> w = given.upward.W.to_vector<float>();
  for (size_t block = 0; block < 4; ++block) {
    double dot = 0, square = 0;
    for (size_t i = 0; i < 3; ++i) {
      dot += static_cast<double>(w[6 * block + i]) * static_cast<double>(w[6 * block + 3 + i]);
      square += std::pow(static_cast<double>(w[6 * block + i]), 2);
    }
    CHECK(dot == doctest::Approx(0).epsilon(1e-5));
    CHECK(square == doctest::Approx(1));
  }
  L::LSTM lazy(2);
  CHECK(!lazy.upward.W.is_initialized());
  lazy(drawn({1, 5}));
  CHECK(lazy.upward.W.shape() == Shape{8, 5});
}

TEST_CASE("states follow their link") {
  L::LSTM lstm(3, 4);
  lstm(drawn({2, 3}));
  L::LSTM moved = std::move(lstm);
  CHECK(moved.h.is_defined());
  moved.to(Dtype::float64);
  CHECK(moved.h.dtype() == Dtype::float64);
  CHECK(moved.h.creator() == nullptr);
  CHECK(moved(Variable(drawn({2, 3}).array().astype(Dtype::float64))).dtype() == Dtype::float64);
  AnyLink any(std::move(moved));
  CHECK(states(any).size() == 2);
}

TEST_CASE("tree links with missing children") {
  L::ChildSumTreeLSTM sum(3, 2);
  const Variable x = drawn({2, 3}), c = drawn({2, 2}, 2), h = drawn({2, 2}, 3);
  const auto [leaf_c, leaf_h] = sum({}, {}, x);
  CHECK(leaf_h.shape() == Shape{2, 2});
  const Variable none, zero(zeros({2, 2}));
  CHECK(numbers(sum({c, none}, {h, none}, x).h) == numbers(sum({c, zero}, {h, zero}, x).h));
  CHECK(numbers(sum({c}, {h}, none).c) == numbers(sum({c}, {h}, Variable(zeros({2, 3}))).c));
  CHECK_THROWS_WITH_AS(sum({c, c}, {h}, x), doctest::Contains("L::ChildSumTreeLSTM: cs has 2 entries and hs 1"),
                       ValueError);
  CHECK_THROWS_WITH_AS(sum({none}, {none}, none), doctest::Contains("nothing is given"), ValueError);
  const L::ChildSumTreeLSTM lazy(kInfer, 2);
  CHECK_THROWS_WITH_AS(lazy({c}, {h}, none), doctest::Contains("in_size not known yet"), ValueError);

  L::NaryTreeLSTM nary(3, 2);
  CHECK_THROWS_WITH_AS(nary.W_h(2), "L::NaryTreeLSTM::W_h: k is 2: it must be less than 2", IndexError);
  CHECK(nary.n_ary() == 2);
  std::set<std::string> names;
  for (const auto& [path, param] : nary.namedparams()) names.insert(path);
  CHECK(names == std::set<std::string>{"/W_x/W", "/W_x/b", "/W_h1/W", "/W_h2/W"});
  CHECK(numbers(nary({}, {}, x).h) == numbers(nary({zero, zero}, {zero, zero}, x).h));
  CHECK(numbers(nary({c, none}, {none, h}, x).c) == numbers(nary({c, zero}, {zero, h}, x).c));
  CHECK_THROWS_WITH_AS(nary({c}, {h}, x), doctest::Contains("cs has 1 entries: there must be 2"), ValueError);
}

TEST_CASE("NStep links take sequences in any order") {
  const L::NStepBiLSTM lstm(2, 3, 4, 0.5);
  const auto testing = using_config(&Config::train, false);
  const std::vector<Variable> xs{drawn({2, 3}), drawn({0, 3}), drawn({4, 3}, 7)};
  const auto [hy, cy, ys] = lstm({}, {}, xs);
  CHECK(hy.shape() == Shape{4, 3, 4});
  for (size_t i = 0; i < 3; ++i) {
    const auto [own_hy, own_cy, own_ys] = lstm({}, {}, {xs[i]});
    CHECK(ys[i].shape() == Shape{xs[i].shape()[0], 8});
    const std::vector<float> got = numbers(ys[i]), expected = numbers(own_ys[0]);
    for (size_t k = 0; k < expected.size(); ++k) CHECK(got[k] == doctest::Approx(expected[k]).epsilon(1e-5));
  }
  // The empty one gives back its state.
  const std::vector<float> h(numbers(Variable(hy.array().slice(1, 1, 1).copy())));
  CHECK(h == std::vector<float>(16, 0));
}

TEST_CASE("NStep links with sizes that the first batch tells") {
  L::NStepRNNReLU rnn(2, kInfer, 3, 0);
  CHECK(to_string(rnn).find("NStepRNNReLU(n_layers=2, in_size=None, out_size=3, dropout=0.0") == 0);
  rnn({}, {drawn({2, 5})});
  CHECK(rnn[0].w0.shape() == Shape{3, 5});
  CHECK(rnn[1].w0.shape() == Shape{3, 3});
  CHECK(rnn.params().size() == 8);
  CHECK_THROWS_WITH_AS(L::NStepLSTM(0, 3, 4, 0), "L::NStepLSTM: n_layers is 0: it must be in [1, 10000]", ValueError);
  CHECK_THROWS_WITH_AS(L::NStepLSTM(1, 3, 4, 1), doctest::Contains("L::NStepLSTM: dropout is 1"), ValueError);
  CHECK_THROWS_WITH_AS(L::NStepLSTM(1, 3, 4, 0)({}, {}, {drawn({2, 5})}),
                       doctest::Contains("F::n_step_lstm: ws[0][0] has shape"), TypeError);
}

}  // namespace kusari::recurrent_links_test
