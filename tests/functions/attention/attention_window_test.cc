#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/repeat.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/attention/scaled_dot_product_attention.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/noise/dropout.h"
#include "kusari/tests/functions/attention/attention_case.h"
#include "kusari/tests/functions/testing.h"

// Attention to a window of keys.
namespace kusari::attention_window_test {
namespace {

using namespace testing;
using Values = std::vector<double>;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

using Sizes = AttentionSizes;

struct Case : AttentionCase {
  Case(const Sizes& sizes, const F::AttentionOptions& o, Dtype dtype = Dtype::float64)
      : AttentionCase(sizes, o, dtype) {
    options.is_causal = true;
  }
  Variable run() const {
    random::seed(7);
    return F::scaled_dot_product_attention(q, k, v, options);
  }

  // 1 where query i sees key j, as the masks of transformers say it: i - window < j <= i, among the places of the keys.
  Array seen() const {
    std::vector<double> values;
    std::vector<int64_t> lengths(static_cast<size_t>(s.batch), s.keys);
    if (options.lengths.is_defined()) lengths = options.lengths.to_vector<int64_t>();
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t i = 0; i < s.n; ++i) {
        for (int64_t j = 0; j < s.keys; ++j) {
          const int64_t distance = s.keys - s.n + i - j;
          const bool is_seen = distance >= 0 && distance < *options.window && j < lengths[static_cast<size_t>(b)];
          values.push_back(is_seen ? 1 : 0);
        }
      }
    }
    return array(values, {s.batch, 1, s.n, s.keys}, test_device());
  }
  // The whole matrix of weights, in other functions.
  Variable naive() const {
    const Shape full{s.batch, s.heads, s.n, s.keys};
    const Variable see = F::broadcast_to(Variable(seen(), false), full);
    const Variable all_k = F::repeat(k, s.heads / s.groups, 1), all_v = F::repeat(v, s.heads / s.groups, 1);
    Variable scores = F::matmul(q, all_k, {.transb = true}) / std::sqrt(static_cast<double>(s.width));
    if (options.mask.is_defined()) scores = scores + Variable(options.mask.broadcast_to(full), false);
    if (options.bias.is_defined()) scores = scores + F::broadcast_to(options.bias, full);
    const Variable hidden(kusari::full(full, -1e30, Dtype::float64, test_device()), false);
    Variable weights = F::softmax(F::where(Variable(see.array().astype(Dtype::bool_), false), scores, hidden), 3) * see;
    random::seed(7);
    if (options.dropout > 0) {
      weights = weights * F::dropout(Variable(ones(full, Dtype::float64, test_device()), false), options.dropout);
    }
    return F::matmul(weights, all_v);
  }
  Variables inputs() const {
    Variables result{q, k, v};
    if (options.bias.is_defined()) result.push_back(options.bias);
    return result;
  }
  // y, and the gradients of what is given.
  std::vector<Array> results(const Variable& y, bool second_order = false) const {
    const Variables given = inputs();
    const Variable seed(uniform(y.shape(), -1, 1, 11).astype(y.dtype()), false);
    std::vector<Array> arrays{y.array()};
    for (const Variable& g :
         grad({&y, 1}, given, {.grad_outputs = {&seed, 1}, .enable_double_backprop = second_order})) {
      arrays.push_back(g.array());
    }
    return arrays;
  }
  std::vector<Values> bits() const {
    std::vector<Values> values;
    for (const Array& x : results(run())) values.push_back(x.to_vector<double>());
    return values;
  }
  void check() const {
    CAPTURE(s.n);
    CAPTURE(s.keys);
    CAPTURE(*options.window);
    const std::vector<Array> expected = results(naive());
    for (const bool second_order : {false, true}) {
      CAPTURE(second_order);
      const std::vector<Array> got = results(run(), second_order);
      for (size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        check_close(got[i], expected[i].shape(), expected[i].to_vector<double>(), 1000);
      }
    }
  }
};

Array lengths(const std::vector<int64_t>& values) {
  return array(values, {static_cast<int64_t>(values.size())}, test_device());
}

}  // namespace

TEST_CASE("attention to a window: values and gradients of the whole matrix of weights") {
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 1, 1, 1},
                         {2, 3, 3, 5, 5, 6, 7},
                         {1, 4, 2, 3, 9, 5, 3},
                         {2, 2, 1, 7, 4, 3, 3},  // the first queries see nothing
                         {1, 2, 1, 1, 301, 4, 5},
                         {1, 4, 2, 131, 131, 5, 3},
                         {1, 2, 1, 67, 331, 3, 5}}) {
    for (const int64_t window : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{63}, int64_t{64}, int64_t{65},
                                 int64_t{256}, int64_t{257}, kMost}) {
      Case(s, {.window = window}).check();
    }
  }
}

TEST_CASE("attention to a window: with lengths, masks, biases and dropout") {
  for (const Sizes& s : {Sizes{2, 4, 2, 9, 9, 3, 3}, Sizes{2, 2, 1, 5, 11, 3, 4}, Sizes{2, 2, 1, 71, 290, 3, 2}}) {
    for (const int64_t window : {int64_t{1}, int64_t{3}, int64_t{64}, s.keys}) {
      const Array some = lengths({s.keys - 2, s.keys / 2});
      const Array mask = uniform({s.n, s.keys}, -2, 2, 9);
      Case(s, {.lengths = some, .window = window}).check();
      Case(s, {.lengths = lengths({0, s.keys}), .window = window}).check();
      Case(s, {.mask = mask, .window = window}).check();
      Case(s, {.window = window, .dropout = 0.3}).check();
      for (const Shape& shape : {Shape{s.n, s.keys}, Shape{s.heads, 1, s.keys}, Shape{s.heads, s.n, 1}, Shape{1}}) {
        CAPTURE(shape);
        Case(s, {.bias = Variable(uniform(shape, -2, 2, 8)), .window = window}).check();
      }
      const Variable bias(uniform({s.heads, s.n, s.keys}, -2, 2, 8));
      Case(s, {.mask = mask, .bias = bias, .lengths = some, .window = window, .dropout = 0.4}).check();
    }
  }
  // Against differences.
  const Case c({2, 2, 1, 4, 5, 2, 3}, {.window = 2});
  check_gradients(
      [&](const Variable& q, const Variable& k, const Variable& v) {
        const Variable y = F::scaled_dot_product_attention(q, k, v, c.options);
        return F::sum(y * y);
      },
      c.q.array(), c.k.array(), c.v.array());
}

TEST_CASE("attention to a window: the half types, rounded") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const int64_t window : {1, 5, 64, 100}) {
      CAPTURE(window);
      const Case c({1, 4, 2, 70, 330, 8, 16}, {.window = window}, dtype);
      Case wide = c;
      for (Variable* x : {&wide.q, &wide.k, &wide.v}) *x = Variable(x->array().astype(Dtype::float64));
      const std::vector<Array> got = c.results(c.run()), expected = wide.results(wide.naive());
      for (size_t i = 0; i < got.size(); ++i) {
        const Values a = got[i].to_vector<double>(), b = expected[i].to_vector<double>();
        double worst = 0;
        for (size_t j = 0; j < a.size(); ++j) {
          worst = std::max(worst, std::isnan(a[j]) ? INFINITY : std::abs(a[j] - b[j]) / (1 + std::abs(b[j])));
        }
        CHECK(worst < (is_half(dtype) ? 0.05 : 1e-5));
      }
    }
  }
}

TEST_CASE("attention to a window that no text is longer than has the bits of attention without one") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const Sizes& s :
         {Sizes{2, 4, 2, 70, 300, 8, 16}, Sizes{1, 2, 1, 129, 129, 8, 8}, Sizes{1, 2, 1, 9, 5, 8, 8}}) {
      const std::vector<Values> expected = Case(s, {.dropout = 0.2}, dtype).bits();
      for (const int64_t window : {s.keys, s.keys + 1, kMost}) {
        CHECK(Case(s, {.window = window, .dropout = 0.2}, dtype).bits() == expected);
      }
    }
  }
}

TEST_CASE("attention to a window has the same bits for any number of threads") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    const Case c({3, 2, 2, 150, 270, 8, 8}, {.bias = Variable(uniform({2, 150, 1}, -1, 1, 4)), .window = 40}, dtype);
    const int before = num_threads();
    std::vector<std::vector<Values>> runs;
    for (const int threads : {1, 3}) {
      set_num_threads(threads);
      runs.push_back(c.bits());
    }
    set_num_threads(before);
    CHECK(runs[0] == runs[1]);
  }
}

// So time does not grow with what lies before.
TEST_CASE("attention to a window reads no block of keys before it") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const int64_t n : {1, 3, 20}) {
      CAPTURE(n);
      Case c({1, 2, 1, n, 600, 8, 8}, {.window = 8}, dtype);
      const std::vector<Values> expected = c.bits();
      for (Variable* x : {&c.k, &c.v}) {
        const Array values = x->array().copy();
        values.slice(2, 0, 512).fill(NAN);
        *x = Variable(values);
      }
      CHECK(c.bits() == expected);
    }
  }
}

TEST_CASE("attention to a window: the memory grows as the sequence does") {
  const auto peak = [](int64_t n) {
    const auto draw = [&](uint64_t seed) {
      return Variable(uniform({1, 1, n, 16}, -1, 1, seed).astype(Dtype::float32).to_device(get_device("cpu")));
    };
    const Variable q = draw(1), k = draw(2), v = draw(3);
    memory::reset_max_allocated();
    const int64_t before = memory::statistics().allocated;
    F::sum(F::scaled_dot_product_attention(q, k, v, {.is_causal = true, .window = 50})).backward();
    REQUIRE(v.grad().is_defined());
    return memory::statistics().max_allocated - before;
  };
  peak(128);  // what threads keep for themselves is there from now on
  const int64_t small = peak(128), large = peak(16 * 128);
  CHECK(small >= 4 * 128 * 16 * 4);  // the result and three gradients
  CHECK(large <= 17 * small);
}

TEST_CASE("windows that scaled_dot_product_attention refuses") {
  const Case c({1, 2, 1, 3, 3, 2, 2}, {});
  const auto run = [&](const F::AttentionOptions& options) { F::scaled_dot_product_attention(c.q, c.k, c.v, options); };
  CHECK_THROWS_WITH_AS(run({.is_causal = true, .window = 0}),
                       "F::scaled_dot_product_attention: window is 0: it must be positive", ValueError);
  CHECK_THROWS_WITH_AS(run({.is_causal = true, .window = -3}),
                       "F::scaled_dot_product_attention: window is -3: it must be positive", ValueError);
  CHECK_THROWS_WITH_AS(run({.window = 4}), "F::scaled_dot_product_attention: window is 4: it must come with is_causal",
                       ValueError);
}

}  // namespace kusari::attention_window_test
