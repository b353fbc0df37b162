// Attention of bfloat16 against that of float32 of the same numbers: where the processor has products of bfloat16, the
// two have nothing in common but what happens to scores.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/kernels/attention.h"

namespace kusari {
namespace {

struct AttentionSizes {
  int64_t batch, heads, groups, n, keys, width, value_width;
};

class Drawn {
 public:
  int64_t number(int64_t most) { return static_cast<int64_t>(next() % static_cast<uint32_t>(most)); }
  Array numbers(const Shape& shape) {
    std::vector<float> values(static_cast<size_t>(numel(shape)));
    for (float& value : values) value = static_cast<float>(next()) / (1 << 23) - 1;
    return array(values, shape).astype(Dtype::bfloat16);
  }

 private:
  uint32_t next() {
    state_ = state_ * 1664525 + 1013904223;
    return state_ >> 8;
  }
  uint32_t state_ = 11;
};

struct AttentionCase {
  kernels::AttentionForm form;
  Array q, k, v, gy, mask, lengths, stream;

  AttentionCase(const AttentionSizes& s, const kernels::AttentionForm& f, Drawn& drawn)
      : form{f},
        q{drawn.numbers({s.batch, s.heads, s.n, s.width})},
        k{drawn.numbers({s.batch, s.groups, s.keys, s.width})},
        v{drawn.numbers({s.batch, s.groups, s.keys, s.value_width})},
        gy{drawn.numbers({s.batch, s.heads, s.n, s.value_width})} {
    if (f.dropout > 0) stream = array(std::vector<int64_t>{5, 3});
  }

  // y and the gradients of q, k and v, from inputs of `dtype`.
  std::vector<Array> run(Dtype dtype) const {
    const auto as = [&](const Array& x) { return x.astype(dtype); };
    const auto result = [&](const Array& x) { return full(x.shape(), 99, dtype); };
    std::vector<Array> results{result(gy), result(q), result(k), result(v)};
    const Array lse = full({q.shape()[0], q.shape()[1], q.shape()[2]}, 99, Dtype::float32);
    launch<kernels::Attention>(q.device(), form, as(q), as(k), as(v), mask, lengths, stream, results[0], lse);
    launch<kernels::AttentionGradient>(q.device(), form, as(q), as(k), as(v), mask, lengths, results[0], lse, stream,
                                       as(gy), results[1], results[2], results[3]);
    return results;
  }

  void check() const {
    const std::vector<Array> got = run(Dtype::bfloat16), expected = run(Dtype::float32);
    for (size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      const std::vector<double> x = got[i].to_vector<double>(), y = expected[i].to_vector<double>();
      double largest = 0.1, worst = 0;
      for (size_t j = 0; j < x.size(); ++j) {
        largest = std::max(largest, std::abs(y[j]));
        worst = std::max(worst, std::isnan(x[j]) ? std::numeric_limits<double>::infinity() : std::abs(x[j] - y[j]));
      }
      CHECK(worst <= largest / 64);  // a few roundings to 8 bits
    }
  }
};

TEST_CASE("attention of bfloat16 is that of float32, rounded") {
  Drawn drawn;
  for (int i = 0; i < 24; ++i) {
    const int64_t groups = 1 + drawn.number(2), n = 1 + drawn.number(i % 3 == 0 ? 300 : 70);
    const AttentionSizes s = {
        1 + drawn.number(2), groups * (1 + drawn.number(2)), groups, n, n + drawn.number(300), 1 + drawn.number(70),
        1 + drawn.number(70)};
    CAPTURE(s.heads);
    CAPTURE(s.n);
    CAPTURE(s.keys);
    CAPTURE(s.width);
    CAPTURE(s.value_width);
    const bool is_causal = i % 2 == 0;
    const int64_t window = is_causal && i % 3 != 0 ? 1 + drawn.number(300) : 0;
    CAPTURE(window);
    AttentionCase c(s, {0.3, i % 4 == 3 ? 0.25 : 0.0, is_causal, window}, drawn);
    c.check();
    std::vector<int64_t> lengths;
    for (int64_t b = 0; b < s.batch; ++b) lengths.push_back(drawn.number(s.keys + 1));
    c.lengths = array(lengths);
    c.check();
    c.mask = drawn.numbers({1, 1, s.n, s.keys}).broadcast_to({s.batch, s.heads, s.n, s.keys});
    c.check();
  }
}

TEST_CASE("attention of bfloat16 with one query and one gradient for all places") {
  Drawn drawn;
  const AttentionSizes s = {2, 4, 2, 40, 70, 16, 24};
  for (const bool is_causal : {false, true}) {
    AttentionCase c(s, {0.3, 0, is_causal}, drawn);
    c.q = drawn.numbers({s.batch, s.heads, 1, s.width}).broadcast_to(c.q.shape());
    c.gy = drawn.numbers({s.batch, s.heads, 1, s.value_width}).broadcast_to(c.gy.shape());
    c.check();
  }
}

TEST_CASE("attention of bfloat16 reads nothing behind the length of a sequence") {
  Drawn drawn;
  AttentionCase c({2, 2, 1, 20, 301, 16, 24}, {0.25, 0, false}, drawn);
  const std::vector<int64_t> lengths{17, 257};
  c.lengths = array(lengths);
  const std::vector<Array> expected = c.run(Dtype::bfloat16);
  for (const Array* x : {&c.k, &c.v}) {
    for (int64_t b = 0; b < 2; ++b) {
      const int64_t length = lengths[static_cast<size_t>(b)];
      x->slice(0, b, 1).slice(2, length, 301 - length).fill(std::numeric_limits<double>::quiet_NaN());
    }
  }
  const std::vector<Array> got = c.run(Dtype::bfloat16);
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i].to_vector<double>() == expected[i].to_vector<double>());
}

TEST_CASE("attention of bfloat16 gives the same bits whatever the number of threads") {
  Drawn drawn;
  const AttentionCase c({2, 4, 2, 150, 280, 40, 24}, {0.2, 0.1, true, 90}, drawn);
  const int before = num_threads();
  set_num_threads(1);
  const std::vector<Array> single = c.run(Dtype::bfloat16);
  for (const int threads : {2, 3}) {
    set_num_threads(threads);
    const std::vector<Array> several = c.run(Dtype::bfloat16);
    for (size_t i = 0; i < single.size(); ++i) {
      CHECK(std::memcmp(single[i].raw_data(), several[i].raw_data(), static_cast<size_t>(single[i].nbytes())) == 0);
    }
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace kusari
