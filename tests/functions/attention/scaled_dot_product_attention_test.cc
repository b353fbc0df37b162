#include "kusari/framework/functions/attention/scaled_dot_product_attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/tests/functions/attention/attention_case.h"
#include "kusari/tests/functions/testing.h"

namespace kusari::attention_test {
namespace {

using namespace testing;
using Values = std::vector<double>;

using Sizes = AttentionSizes;

struct Case : AttentionCase {
  Case(const Sizes& sizes, const F::AttentionOptions& o = {}, Dtype dtype = Dtype::float64)
      : AttentionCase(sizes, o, dtype) {}
  Variable run() const { return F::scaled_dot_product_attention(q, k, v, options); }

  // By plain loops.
  Values expected() const {
    const Values a = q.to_vector<double>(), b = k.to_vector<double>(), c = v.to_vector<double>();
    Values mask;
    if (options.mask.is_defined()) {
      mask = options.mask.broadcast_to({s.batch, s.heads, s.n, s.keys}).astype(Dtype::float64).to_vector<double>();
    }
    Values bias;
    if (options.bias.is_defined()) {
      const Array whole = options.bias.array().broadcast_to({s.batch, s.heads, s.n, s.keys});
      bias = whole.astype(Dtype::float64).to_vector<double>();
    }
    std::vector<int64_t> lengths(static_cast<size_t>(s.batch), s.keys);
    if (options.lengths.is_defined()) lengths = options.lengths.to_vector<int64_t>();
    const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(s.width)));
    Values y;
    for (int64_t batch = 0; batch < s.batch; ++batch) {
      for (int64_t h = 0; h < s.heads; ++h) {
        const int64_t g = batch * s.groups + h / (s.heads / s.groups);
        for (int64_t i = 0; i < s.n; ++i) {
          Values weights(static_cast<size_t>(s.keys), 0.0);
          double sum = 0;
          for (int64_t j = 0; j < s.keys; ++j) {
            if (j >= lengths[static_cast<size_t>(batch)] || (options.is_causal && j > s.keys - s.n + i)) continue;
            double score = 0;
            for (int64_t d = 0; d < s.width; ++d) {
              score += a[static_cast<size_t>(((batch * s.heads + h) * s.n + i) * s.width + d)] *
                       b[static_cast<size_t>((g * s.keys + j) * s.width + d)];
            }
            score *= scale;
            if (!mask.empty()) {
              const double m = mask[static_cast<size_t>(((batch * s.heads + h) * s.n + i) * s.keys + j)];
              if (options.mask.dtype() == Dtype::bool_) {
                if (m == 0) continue;
              } else {
                score += m;
              }
            }
            if (!bias.empty()) score += bias[static_cast<size_t>(((batch * s.heads + h) * s.n + i) * s.keys + j)];
            sum += weights[static_cast<size_t>(j)] = std::exp(score);
          }
          for (int64_t e = 0; e < s.value_width; ++e) {
            double total = 0;
            for (int64_t j = 0; j < s.keys; ++j) {
              total += weights[static_cast<size_t>(j)] * c[static_cast<size_t>((g * s.keys + j) * s.value_width + e)];
            }
            y.push_back(sum > 0 ? total / sum : 0);
          }
        }
      }
    }
    return y;
  }
  void check(double factor = 100) const {
    check_close(run().array(), {s.batch, s.heads, s.n, s.value_width}, expected(), factor);
  }
};

Array bools(const Shape& shape, int every) {
  std::vector<uint8_t> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % static_cast<size_t>(every) != 0;
  return array(values, shape, test_device()).astype(Dtype::bool_);
}

}  // namespace

TEST_CASE("scaled_dot_product_attention: softmax(q k^T / sqrt(D)) v by head") {
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 1, 1, 1},
                         {2, 3, 3, 4, 5, 6, 7},
                         {2, 4, 2, 3, 3, 8, 8},
                         {1, 4, 1, 70, 70, 5, 3},
                         {1, 2, 2, 130, 300, 16, 16},
                         {1, 1, 1, 2, 600, 4, 33}}) {
    Case(s).check();
    Case(s, {.scale = 0.3}).check();
    if (s.keys >= s.n) Case(s, {.is_causal = true}).check();
  }
  Case({1, 1, 1, 5, 3, 4, 4}, {.is_causal = true}).check();  // the first two queries see nothing
  for (const Dtype dtype : kFloatingDtypes) Case({2, 2, 1, 20, 7, 0, 3}, {.scale = 1}, dtype).check(10);
}

TEST_CASE("masks and lengths of scaled_dot_product_attention") {
  const Sizes s{2, 4, 2, 5, 7, 3, 3};
  for (const Shape& shape : {Shape{2, 4, 5, 7}, Shape{5, 7}, Shape{2, 1, 1, 7}, Shape{4, 5, 1}, Shape{1}}) {
    Case(s, {.mask = bools(shape, 3)}).check();
    Case(s, {.mask = uniform(shape, -2, 2, 9)}).check();
    Case(s, {.mask = bools(shape, 3), .is_causal = true}).check();
  }
  Case(s, {.lengths = array<int32_t>({7, 2}, test_device())}).check();
  Case(s, {.mask = bools({5, 7}, 2), .lengths = array<int64_t>({0, 5}, test_device()), .is_causal = true}).check();
  Case({1, 2, 2, 80, 520, 8, 8}, {.mask = uniform({80, 520}, -2, 2, 9), .is_causal = true}).check();
}

TEST_CASE("scaled_dot_product_attention in every dtype, and with any strides") {
  for (const Dtype dtype : kFloatingDtypes) Case({2, 2, 1, 9, 9, 8, 8}, {.is_causal = true}, dtype).check(10);
  // (B, T, H, D) as a projection gives it.
  const Case plain({2, 3, 3, 4, 4, 8, 8});
  Case moved = plain;
  for (Variable* x : {&moved.q, &moved.k, &moved.v}) {
    *x = F::transpose(Variable(F::transpose(*x, {0, 2, 1, 3}).array().contiguous()), {0, 2, 1, 3});
  }
  CHECK(!moved.q.array().is_contiguous());
  CHECK(moved.run().to_vector<double>() == plain.run().to_vector<double>());

  // Results lie as what they are results of does, so that nothing has to be moved back.
  const auto gradients = [](const Case& c) {
    const Variable inputs[] = {c.q, c.k, c.v};
    const Variable y = c.run(), loss = F::sum(y * y);
    Arrays arrays{y.array()};
    for (const Variable& g : grad({&loss, 1}, inputs)) arrays.push_back(g.array());
    return arrays;
  };
  const Arrays expected = gradients(plain), got = gradients(moved);
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(got[i].to_vector<double>() == expected[i].to_vector<double>());
    CHECK(expected[i].is_contiguous());
    if (test_device().is_cpu()) CHECK(got[i].transpose({0, 2, 1, 3}).is_contiguous());
  }
}

TEST_CASE("gradients of scaled_dot_product_attention") {
  const auto check = [](const Case& c) {
    check_gradients(
        [&](const Variable& q, const Variable& k, const Variable& v) {
          const Variable y = F::scaled_dot_product_attention(q, k, v, c.options);
          return F::sum(y * y);
        },
        c.q.array(), c.k.array(), c.v.array());
  };
  check(Case({1, 1, 1, 3, 4, 2, 3}));
  check(Case({2, 2, 1, 3, 3, 2, 2}, {.is_causal = true, .scale = 0.7}));
  check(Case({2, 2, 2, 3, 4, 2, 2}, {.mask = bools({3, 4}, 3), .lengths = array<int64_t>({4, 2}, test_device())}));
  check(Case({1, 2, 2, 2, 3, 2, 2}, {.mask = uniform({2, 3}, -1, 1, 5)}));
}

// The kernel's gradients are those of functions, which can be differentiated again.
void check_orders(const Case& c, double factor = 10) {
  Variables inputs{c.q, c.k, c.v};
  if (c.options.bias.is_defined()) inputs.push_back(c.options.bias);
  const auto gradients = [&](bool second_order) {
    random::seed(7);
    const Variable y = c.run(), seed(uniform(y.shape(), -1, 1, 11), false);
    return grad({&y, 1}, inputs, {.grad_outputs = {&seed, 1}, .enable_double_backprop = second_order});
  };
  const Variables got = gradients(false), expected = gradients(true);
  for (size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(i);
    check_close(got[i].array(), inputs[i].shape(), expected[i].to_vector<double>(), factor);
  }
}

const Shape kBiasShapes[] = {{2, 4, 5, 7}, {1, 4, 5, 7}, {2, 1, 5, 7}, {5, 7}, {4, 1, 7}, {4, 5, 1}, {1}, {}};

TEST_CASE("scaled_dot_product_attention: a bias that is added to scores") {
  const Sizes s{2, 4, 2, 5, 7, 3, 3};
  for (const Shape& shape : kBiasShapes) {
    CAPTURE(shape);
    const Variable bias(uniform(shape, -2, 2, 9));
    Case(s, {.bias = bias}).check();
    Case(s, {.bias = bias, .is_causal = true}).check();
    Case(s, {.mask = bools({2, 1, 1, 7}, 3), .bias = bias}).check();
    Case(s, {.mask = uniform({2, 1, 5, 7}, -2, 2, 4), .bias = bias, .scale = 0.3}).check();
  }
  const Variable bias(uniform({4, 5, 7}, -2, 2, 9));
  Case(s, {.bias = bias, .lengths = array<int64_t>({0, 5}, test_device())}).check();
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Dtype of_bias : kFloatingDtypes) {
      Case({2, 2, 1, 9, 9, 8, 8}, {.bias = Variable(uniform({2, 9, 9}, -2, 2, 9).astype(of_bias))}, dtype).check(10);
    }
  }
}

TEST_CASE("gradients of scaled_dot_product_attention by a bias, of its own shape") {
  const Sizes s{2, 4, 2, 5, 7, 3, 3};
  for (const Shape& shape : kBiasShapes) {
    CAPTURE(shape);
    const Variable bias(uniform(shape, -2, 2, 9));
    const Array lengths = array<int64_t>({7, 4}, test_device());
    check_orders(Case(s, {.bias = bias}), 100);
    check_orders(Case(s, {.bias = bias, .is_causal = true, .scale = 2}), 100);
    check_orders(Case(s, {.mask = bools({2, 1, 1, 7}, 3), .bias = bias, .lengths = lengths}), 100);
    check_orders(Case(s, {.mask = uniform({5, 7}, -2, 2, 4), .bias = bias, .dropout = 0.3}), 100);
  }
  // Over several blocks.
  const Case large({1, 4, 2, 140, 300, 8, 6},
                   {.bias = Variable(uniform({1, 1, 140, 300}, -2, 2, 9)), .is_causal = true});
  check_orders(large, 1000);
  check_orders(Case({3, 2, 2, 140, 300, 8, 6}, {.bias = Variable(uniform({2, 140, 300}, -2, 2, 9))}), 1000);
  // Against differences, and of second order.
  const Case c({2, 2, 1, 3, 4, 2, 3}, {.mask = bools({2, 1, 1, 4}, 3)});
  check_gradients(
      [&](const Variable& q, const Variable& k, const Variable& v, const Variable& bias) {
        F::AttentionOptions options = c.options;
        options.bias = bias;
        const Variable y = F::scaled_dot_product_attention(q, k, v, options);
        return F::sum(y * y);
      },
      c.q.array(), c.k.array(), c.v.array(), uniform({2, 3, 4}, -1, 1, 5));
}

TEST_CASE("the gradient of a bias: by the bias alone, in its dtype, 0 where a query sees nothing") {
  const double never = -std::numeric_limits<double>::infinity();
  const Variable bias(array<double>({0, never, 1, never, never, never, never, 0, 0}, {3, 3}, test_device()));
  check_orders(Case({1, 2, 1, 3, 3, 4, 2}, {.bias = bias}));

  Case c({2, 2, 1, 6, 9, 8, 8}, {.bias = Variable(uniform({2, 6, 9}, -1, 1, 4))});
  const auto gradient = [&] {
    const Variable y = c.run(), loss = F::sum(y * y);
    return grad({&loss, 1}, {&c.options.bias, 1})[0];
  };
  const Values expected = gradient().to_vector<double>();
  for (Variable* x : {&c.q, &c.k, &c.v}) *x = Variable(x->array(), false);
  CHECK(gradient().to_vector<double>() == expected);
  const Case wide = c;
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    c.q = Variable(wide.q.array().astype(dtype), false);
    c.k = Variable(wide.k.array().astype(dtype), false);
    c.v = Variable(wide.v.array().astype(dtype), false);
    c.options.bias = Variable(c.options.bias.array().astype(Dtype::float32));
    const Variable g = gradient();
    CHECK(g.dtype() == Dtype::float32);
    const Values got = g.to_vector<double>();
    for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - expected[i]) < (is_half(dtype) ? 0.03 : 1e-5));
  }
}

TEST_CASE("the gradient of a bias has the same bits for any number of threads") {
  const Case c({3, 2, 2, 70, 270, 8, 8}, {.bias = Variable(uniform({2, 70, 1}, -1, 1, 4)), .dropout = 0.2});
  const int before = num_threads();
  std::vector<Values> runs;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    random::seed(3);
    const Variable y = c.run(), loss = F::sum(y * y);
    runs.push_back(grad({&loss, 1}, {&c.options.bias, 1})[0].to_vector<double>());
  }
  set_num_threads(before);
  CHECK(runs[0] == runs[1]);
}

TEST_CASE("gradients of any order at queries that a floating mask lets see nothing") {
  const double never = -std::numeric_limits<double>::infinity();
  const Array mask = array<double>({0, never, 1, never, never, never, never, 0, 0}, {3, 3}, test_device());
  const Case c({1, 2, 1, 3, 3, 4, 2}, {.mask = mask});
  check_orders(c);
}

TEST_CASE("gradients of any order where what lies behind a sequence's length is no number") {
  const Case c({2, 2, 1, 3, 5, 4, 2}, {.lengths = array<int64_t>({2, 5}, test_device())});
  for (const Variable* x : {&c.k, &c.v}) x->array().at(0).slice(1, 2, 3).fill(std::nan(""));
  check_orders(c);
}

TEST_CASE("gradients over several blocks of queries and keys are those of functions") {
  for (const F::AttentionOptions& options :
       {F::AttentionOptions{}, F::AttentionOptions{.is_causal = true},
        F::AttentionOptions{.mask = uniform({140, 300}, -2, 2, 9)},
        F::AttentionOptions{.mask = bools({1, 300}, 4), .lengths = array<int64_t>({270}, test_device())},
        F::AttentionOptions{.is_causal = true, .dropout = 0.3}}) {
    const Case c({1, 4, 2, 140, 300, 8, 6}, options);
    const Variable inputs[] = {c.q, c.k, c.v};
    const auto gradients = [&](bool second_order) {
      random::seed(7);
      const Variable y = c.run(), seed(uniform(y.shape(), -1, 1, 11), false);
      return grad({&y, 1}, inputs, {.grad_outputs = {&seed, 1}, .enable_double_backprop = second_order});
    };
    const Variables got = gradients(false), expected = gradients(true);
    for (size_t i = 0; i < 3; ++i)
      check_close(got[i].array(), inputs[i].shape(), expected[i].to_vector<double>(), 1000);
  }
}

// y and the gradients of q, k and v, for ones as that of y.
std::vector<Values> attended(const Case& c) {
  const Variable inputs[] = {c.q, c.k, c.v};
  const Variable y = c.run(), loss = F::sum(y);
  std::vector<Values> results{y.to_vector<double>()};
  for (const Variable& g : grad({&loss, 1}, inputs)) results.push_back(g.to_vector<double>());
  return results;
}

TEST_CASE("scaled_dot_product_attention: what lengths hide may be anything") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const int64_t n : {1, 3, 20}) {
      CAPTURE(n);
      Case c({2, 2, 1, n, 5, 8, 8}, {.lengths = array<int64_t>({3, 0}, test_device())}, dtype);
      const std::vector<Values> expected = attended(c);
      for (Variable* x : {&c.k, &c.v}) {
        const Array values = x->array().copy();
        values.slice(0, 0, 1).slice(2, 3, 2).fill(NAN);
        values.slice(0, 1, 1).fill(INFINITY);
        *x = Variable(values);
      }
      CHECK(attended(c) == expected);
    }
  }
}

TEST_CASE("scaled_dot_product_attention: a query of NaNs has results of NaNs, one that sees nothing zeros") {
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const int64_t n : {3, 20}) {  // few queries, and many
      for (const int64_t keys : {5, 300}) {
        CAPTURE(n);
        CAPTURE(keys);
        // The first query sees nothing, the second is NaN.
        const Array mask = ones({n, keys}, Dtype::bool_, test_device());
        mask.slice(0, 0, 1).fill(0);
        Case c({1, 1, 1, n, keys, 8, 8}, {.mask = mask}, dtype);
        const Array q = c.q.array().copy();
        q.slice(2, 0, 2).fill(NAN);
        c.q = Variable(q);
        const std::vector<Values> results = attended(c);
        for (const size_t result : {0, 1}) {  // y, and the gradient of q
          for (size_t i = 0; i < 8 * static_cast<size_t>(n); ++i) {
            const double value = results[result][i];
            CAPTURE(result);
            CAPTURE(i);
            if (i < 8) CHECK(value == 0);
            if (8 <= i && i < 16) CHECK(std::isnan(value));
            if (i >= 16) CHECK(std::isfinite(value));
          }
        }
        for (const size_t result : {2, 3}) {
          for (const double value : results[result]) CHECK(std::isnan(value));
        }
      }
    }
  }
  // A block of keys of NaNs before others; one query alone.
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    Case c({1, 1, 1, 1, 300, 8, 8}, {}, dtype);
    const Array k = c.k.array().copy();
    k.slice(2, 0, 256).fill(NAN);
    c.k = Variable(k);
    for (const double value : c.run().to_vector<double>()) CHECK(std::isnan(value));
  }
}

TEST_CASE("dropout of attention: the share that is dropped, alike for any number of threads, none in tests") {
  const Case c({1, 2, 2, 64, 512, 4, 4}, {.dropout = 0.25});
  {
    const auto testing = using_config(&Config::train, false);
    c.check();
  }
  Case ones_case = c;
  ones_case.v = Variable(ones({1, 2, 512, 4}, Dtype::float64, test_device()));
  ones_case.q = Variable(zeros({1, 2, 64, 4}, Dtype::float64, test_device()));
  const int before = num_threads();
  std::vector<Values> runs;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    random::seed(3);
    runs.push_back(ones_case.run().to_vector<double>());
  }
  set_num_threads(before);
  CHECK(runs[0] == runs[1]);
  double sum = 0;
  for (const double y : runs[0]) sum += y;
  CHECK(sum / static_cast<double>(runs[0].size()) == doctest::Approx(1).epsilon(0.02));
  CHECK(runs[0] != ones_case.run().to_vector<double>());
}

// Scores of 2048 queries and keys alone would be 16 MiB, all that is linear here is 1 MiB.
TEST_CASE("the memory of attention, forward and backward, grows as the sequence does") {
  const auto peak = [](int64_t n, const F::AttentionOptions& options) {
    const auto draw = [&](uint64_t seed) {
      return Variable(uniform({1, 1, n, 16}, -1, 1, seed).astype(Dtype::float32).to_device(get_device("cpu")));
    };
    const Variable q = draw(1), k = draw(2), v = draw(3);
    memory::reset_max_allocated();
    const int64_t before = memory::statistics().allocated;
    F::sum(F::scaled_dot_product_attention(q, k, v, options)).backward();
    REQUIRE(v.grad().is_defined());
    return memory::statistics().max_allocated - before;
  };
  F::AttentionOptions options;
  SUBCASE("") {}
  SUBCASE("bias") { options.bias = Variable(zeros({}, Dtype::float32, get_device("cpu"))); }
  SUBCASE("causal") { options.is_causal = true; }
  SUBCASE("dropout") { options.dropout = 0.1; }
  peak(128, options);  // what threads keep for themselves is there from now on
  const int64_t small = peak(128, options), large = peak(16 * 128, options);
  CAPTURE(small);
  CAPTURE(large);
  CHECK(small >= 4 * 128 * 16 * 4);  // the result and three gradients
  CHECK(large <= 17 * small);
}

TEST_CASE("arguments that scaled_dot_product_attention refuses") {
  const auto refuse = [](const char* text, const auto& spoil) {
    Case c({2, 4, 2, 3, 5, 6, 6});
    spoil(c);
    CHECK_THROWS_WITH(c.run(), doctest::Contains(text));
  };
  refuse("q is not given", [](Case& c) { c.q = Variable(); });
  refuse("k has dtype float32 and q float64", [](Case& c) { c.k = Variable(c.k.array().astype(Dtype::float32)); });
  refuse("k has shape (2, 2, 5, 7): batch and width must be those of q, (2, 4, 3, 6)", [](Case& c) {
    c.k = Variable(zeros({2, 2, 5, 7}, Dtype::float64, test_device()));
  });
  refuse("v has shape (2, 2, 4, 6): all axes but the last must be those of k", [](Case& c) {
    c.v = Variable(zeros({2, 2, 4, 6}, Dtype::float64, test_device()));
  });
  refuse("the heads of q, 4, must be a multiple of its heads", [](Case& c) {
    c.k = c.v = Variable(zeros({2, 3, 5, 6}, Dtype::float64, test_device()));
  });
  refuse("mask has shape (3, 4): it must broadcast to (2, 4, 3, 5)", [](Case& c) {
    c.options.mask = bools({3, 4}, 2);
  });
  refuse("mask has dtype int32", [](Case& c) { c.options.mask = ones({3, 5}, Dtype::int32, test_device()); });
  refuse("bias has shape (2, 1): it must broadcast to (2, 4, 3, 5)", [](Case& c) {
    c.options.bias = Variable(zeros({2, 1}, Dtype::float32, test_device()));
  });
  refuse("bias has dtype int64", [](Case& c) { c.options.bias = Variable(int_ones({3, 5}), false); });
  refuse("lengths has shape (3,): it must be (2,)", [](Case& c) { c.options.lengths = int_ones({3}); });
  for (const Dtype dtype : {Dtype::int32, Dtype::int64}) {
    const auto with = [&](int64_t first, int64_t second) {
      return [=](Case& c) { c.options.lengths = array<int64_t>({first, second}).astype(dtype); };
    };
    refuse("F::scaled_dot_product_attention: lengths[1] is 6: it must be in [0, 5], the number of keys", with(5, 6));
    refuse("lengths[0] is -1: it must be in [0, 5], the number of keys", with(-1, 0));
  }
  refuse("dropout is 1: it must be", [](Case& c) { c.options.dropout = 1; });
  refuse("scale is 0", [](Case& c) { c.options.scale = 0; });
}

}  // namespace kusari::attention_test
