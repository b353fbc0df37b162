#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/fusions.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/core/random.h"
#include "kusari/framework/kernels/attention.h"
#include "kusari/framework/kernels/random.h"
#include "kusari/tests/gpu/testing.h"

// Fused attention of half types against loops over doubles.
namespace kusari::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const RandomState kState{7, 5};

struct FlashCase {
  int64_t batch, heads, groups, queries, keys, width, value_width;
  kernels::AttentionForm form;
  std::string mask;              // bool, or a dtype of numbers
  std::vector<int64_t> lengths;  // none: all keys
};

struct FlashArrays {
  Array q, k, v, gy, mask, lengths, stream;
};

struct FlashResults {
  Array y, lse, gq, gk, gv;
};

Array mask_of(const FlashCase& c) {
  if (c.mask.empty()) return Array();
  const Shape full{c.batch, c.heads, c.queries, c.keys};
  if (c.mask == "bool") {
    return uniform_array({c.batch, 1, c.queries, c.keys}, -1, 2, Dtype::float32, 6)
        .astype(Dtype::int32)
        .astype(Dtype::bool_)
        .broadcast_to(full);
  }
  // With strides of their own: keys outside queries.
  return uniform_array({1, c.heads, c.keys, c.queries}, -1, 1, dtype_from_name(c.mask), 5)
      .transpose({0, 1, 3, 2})
      .broadcast_to(full);
}

FlashArrays arrays_of(const FlashCase& c, Dtype dtype) {
  FlashArrays a;
  a.q = uniform_array({c.batch, c.heads, c.queries, c.width}, -1, 1, dtype, 1);
  a.k = uniform_array({c.batch, c.groups, c.keys, c.width}, -1, 1, dtype, 2);
  a.v = uniform_array({c.batch, c.groups, c.keys, c.value_width}, -1, 1, dtype, 3);
  a.gy = uniform_array({c.batch, c.heads, c.queries, c.value_width}, -1, 1, dtype, 4);
  a.mask = mask_of(c);
  if (!c.lengths.empty()) a.lengths = array(c.lengths);
  return a;
}

FlashArrays moved(const FlashArrays& a, const kernels::AttentionForm& form, const Device& device) {
  FlashArrays b{on_device(a.q, device),
                on_device(a.k, device),
                on_device(a.v, device),
                on_device(a.gy, device),
                on_device(a.mask, device),
                on_device(a.lengths, device),
                Array()};
  if (form.dropout > 0) {
    b.stream = empty({2}, Dtype::int64, device);
    launch<kernels::RandomPlace>(device, kState, b.stream);
  }
  return b;
}

FlashResults run(const kernels::AttentionForm& form, const FlashArrays& a) {
  const Device& device = a.q.device();
  const Dtype dtype = a.q.dtype();
  FlashResults r;
  r.y = empty(a.gy.shape(), dtype, device);
  r.lse = empty({a.q.shape()[0], a.q.shape()[1], a.q.shape()[2]}, Dtype::float32, device);
  launch<kernels::Attention>(device, form, a.q, a.k, a.v, a.mask, a.lengths, a.stream, r.y, r.lse);
  r.gq = empty(a.q.shape(), dtype, device);
  r.gk = empty(a.k.shape(), dtype, device);
  r.gv = empty(a.v.shape(), dtype, device);
  launch<kernels::AttentionGradient>(device, form, a.q, a.k, a.v, a.mask, a.lengths, r.y, r.lse, a.stream, a.gy, r.gq,
                                     r.gk, r.gv);
  return r;
}

/// Numbers of an array in C order, in doubles.
struct Numbers {
  Shape shape;
  std::vector<double> values;

  explicit Numbers(const Array& x) : shape{x.shape()}, values{x.to_vector<double>()} {}
  explicit Numbers(const Shape& s) : shape{s}, values(static_cast<size_t>(numel(s)), 0.0) {}
  double* row(int64_t b, int64_t h, int64_t i) {
    return values.data() + ((b * shape[1] + h) * shape[2] + i) * (shape.size() > 3 ? shape[3] : 1);
  }
};

double dot(const double* x, const double* y, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}
void add_scaled(double* to, double factor, const double* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += factor * x[i];
}

/// What the contract says, by loops.
struct Reference {
  const FlashCase& c;
  Numbers q, k, v, gy, y, lse, gq, gk, gv;
  std::vector<double> mask, kept;

  Reference(const FlashCase& flash_case, const FlashArrays& a)
      : c{flash_case},
        q{a.q},
        k{a.k},
        v{a.v},
        gy{a.gy},
        y{a.gy.shape()},
        lse{Shape{c.batch, c.heads, c.queries}},
        gq{a.q.shape()},
        gk{a.k.shape()},
        gv{a.v.shape()} {
    const Shape full{c.batch, c.heads, c.queries, c.keys};
    if (a.mask.is_defined()) mask = a.mask.to_vector<double>();
    if (c.form.dropout > 0) {
      const Array all = ones(full, Dtype::float32), unused = empty(full, Dtype::float32),
                  factors = empty(full, Dtype::float32);
      launch<kernels::Dropout>(all.device(), kernels::DropoutRatio{c.form.dropout}, kState, all, unused, factors);
      kept = factors.to_vector<double>();
    }
    for (int64_t b = 0; b < c.batch; ++b) {
      for (int64_t h = 0; h < c.heads; ++h) {
        for (int64_t i = 0; i < c.queries; ++i) compute_query(b, h, i);
      }
    }
  }

  void compute_query(int64_t b, int64_t h, int64_t i) {
    const int64_t g = h / (c.heads / c.groups), first = ((b * c.heads + h) * c.queries + i) * c.keys;
    std::vector<double> weights(static_cast<size_t>(c.keys), 0.0);
    double sum = 0;
    for (int64_t j = 0; j < c.keys; ++j) {
      double score = c.form.scale * dot(q.row(b, h, i), k.row(b, g, j), c.width);
      if (c.mask == "bool" && mask[static_cast<size_t>(first + j)] == 0) score = -kInfinity;
      if (!c.mask.empty() && c.mask != "bool") score += mask[static_cast<size_t>(first + j)];
      if (!c.lengths.empty() && j >= c.lengths[static_cast<size_t>(b)]) score = -kInfinity;
      const int64_t behind = c.keys - c.queries + i - j;
      if (c.form.is_causal && behind < 0) score = -kInfinity;
      if (c.form.window > 0 && behind >= c.form.window) score = -kInfinity;
      sum += weights[static_cast<size_t>(j)] = std::exp(score);
    }
    *lse.row(b, h, i) = std::log(sum);
    if (sum == 0) return;
    double delta = 0;
    const auto factor = [&](int64_t j) { return kept.empty() ? 1.0 : kept[static_cast<size_t>(first + j)]; };
    for (int64_t j = 0; j < c.keys; ++j) {
      double& w = weights[static_cast<size_t>(j)];
      w /= sum;
      add_scaled(y.row(b, h, i), w * factor(j), v.row(b, g, j), c.value_width);
      add_scaled(gv.row(b, g, j), w * factor(j), gy.row(b, h, i), c.value_width);
      delta += w * factor(j) * dot(gy.row(b, h, i), v.row(b, g, j), c.value_width);
    }
    for (int64_t j = 0; j < c.keys; ++j) {
      const double of_weight = factor(j) * dot(gy.row(b, h, i), v.row(b, g, j), c.value_width);
      const double gradient = weights[static_cast<size_t>(j)] * (of_weight - delta) * c.form.scale;
      add_scaled(gq.row(b, h, i), gradient, k.row(b, g, j), c.width);
      add_scaled(gk.row(b, g, j), gradient, q.row(b, h, i), c.width);
    }
  }
};

void check_close(const char* what, const Array& got, const Numbers& expected, double tolerance) {
  CAPTURE(what);
  const std::vector<double> values = got.to_vector<double>();
  REQUIRE(values.size() == expected.values.size());
  double largest = 1;
  for (const double x : expected.values) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = expected.values[i];
    if (values[i] == x || std::abs(values[i] - x) <= tolerance * largest) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong > 0) {
    FAIL_CHECK(wrong, " of ", values.size(), " numbers differ; number ", first, " is ", values[first], ", not ",
               expected.values[first]);
  }
  CHECK(wrong == 0);
}

void check_case(const Device& device, const FlashCase& c, Dtype dtype) {
  CAPTURE(name(dtype));
  CAPTURE(c.queries);
  CAPTURE(c.keys);
  CAPTURE(c.width);
  CAPTURE(c.value_width);
  CAPTURE(c.mask);
  CAPTURE(c.form.dropout);
  const FlashArrays on_host = arrays_of(c, dtype);
  const FlashResults got = run(c.form, moved(on_host, c.form, device));
  const Reference expected(c, on_host);
  const double tolerance = 2 * gpu_tolerance(dtype);
  check_close("y", got.y, expected.y, tolerance);
  check_close("lse", got.lse, expected.lse, 1e-4);
  check_close("gq", got.gq, expected.gq, tolerance);
  check_close("gk", got.gk, expected.gk, tolerance);
  check_close("gv", got.gv, expected.gv, tolerance);
}

TEST_CASE("flash attention: widths, tails, groups and what is seen") {
  const auto device = gpu_device();
  if (!device) return;
  const FlashCase cases[] = {
      {1, 1, 1, 64, 64, 64, 64, {0.125, 0, false}, "", {}},
      {1, 2, 1, 70, 130, 64, 64, {0.2, 0, true}, "", {}},
      {2, 4, 2, 33, 9, 8, 40, {0.5, 0, false}, "", {}},
      {2, 2, 2, 130, 70, 40, 8, {0.5, 0, true}, "", {}},
      {3, 1, 1, 65, 129, 64, 64, {0.3, 0, true}, "", {129, 0, 64}},
      {1, 2, 2, 67, 67, 96, 128, {0.1, 0, true}, "", {}},
      {2, 3, 1, 1, 100, 128, 64, {0.1, 0, false}, "", {100, 37}},
      {1, 1, 1, 40, 97, 32, 96, {1.5, 0, false}, "", {200}},
  };
  for (const FlashCase& c : cases) {
    check_case(*device, c, Dtype::float16);
    check_case(*device, c, Dtype::bfloat16);
  }
}

TEST_CASE("flash attention: masks and dropout") {
  const auto device = gpu_device();
  if (!device) return;
  const FlashCase cases[] = {
      {2, 2, 1, 35, 70, 64, 64, {0.25, 0, false}, "bool", {}},
      {1, 2, 2, 66, 66, 32, 32, {0.25, 0, true}, "float32", {50}},
      {1, 1, 1, 17, 33, 96, 96, {0.25, 0, false}, "float16", {}},
      {1, 2, 1, 17, 40, 8, 16, {0.25, 0, false}, "bfloat16", {}},
      {2, 2, 1, 35, 70, 64, 64, {0.25, 0.3, false}, "", {}},
      {1, 2, 1, 45, 67, 128, 128, {0.1, 0.5, true}, "bool", {60}},
      // The kernels of scores in memory have these.
      {1, 1, 1, 9, 10, 8, 8, {0.25, 0, false}, "float64", {}},
      {1, 1, 1, 9, 10, 8, 8, {-0.25, 0, false}, "", {}},
      {1, 1, 1, 9, 10, 8, 136, {0.25, 0, false}, "", {}},
      {1, 1, 1, 1, 1100, 8, 8, {0.25, 0, false}, "", {}},
      {1, 1, 1, 9, 10, 12, 8, {0.25, 0, false}, "", {}},
      {2, 4, 2, 70, 130, 64, 64, {0.25, 0, true, 50}, "", {}},
      {2, 2, 1, 33, 40, 32, 32, {0.25, 0.3, true, 3}, "bool", {40, 20}},
      // A window that hides nothing.
      {1, 2, 1, 70, 130, 64, 64, {0.2, 0, true, 130}, "", {}},
  };
  for (const FlashCase& c : cases) {
    check_case(*device, c, Dtype::float16);
    check_case(*device, c, Dtype::bfloat16);
  }
}

FlashCase drawn_case(uint64_t seed) {
  uint64_t at = 0;
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(philox_word(seed, at++) % static_cast<uint32_t>(high - low + 1));
  };
  FlashCase c{};
  c.batch = draw(1, 2);
  c.groups = draw(1, 2);
  c.heads = c.groups * draw(1, 3);
  c.queries = draw(1, 140);
  c.keys = draw(1, 140);
  c.width = 8 * draw(1, 16);
  c.value_width = draw(0, 1) == 0 ? c.width : 8 * draw(1, 16);
  const char* const masks[] = {"", "", "", "bool", "float32", "float16"};
  c.mask = masks[draw(0, 5)];
  c.form = {0.02 * static_cast<double>(draw(1, 20)), draw(0, 2) == 0 ? 0.25 : 0.0, draw(0, 1) == 0};
  for (int64_t b = 0; draw(0, 2) == 0 && b < c.batch; ++b) c.lengths.push_back(draw(0, c.keys));
  if (static_cast<int64_t>(c.lengths.size()) != c.batch) c.lengths.clear();
  return c;
}

TEST_CASE("flash attention: drawn shapes") {
  const auto device = gpu_device();
  if (!device) return;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    check_case(*device, drawn_case(seed), seed % 2 == 0 ? Dtype::float16 : Dtype::bfloat16);
  }
}

TEST_CASE("flash attention: views of one projection, without lse, and results in any layout") {
  const auto device = gpu_device();
  if (!device) return;
  const FlashCase c{2, 3, 3, 37, 37, 16, 16, {0.3, 0, true}, "", {}};
  const Array projection = uniform_array({2, 37, 3, 3, 16}, -1, 1, Dtype::float16, 1);
  // (batch, places, q k v, heads, width) as (batch, heads, places, width).
  const auto part = [&](int64_t i) {
    const Strides s = projection.strides();
    return projection.as_strided({2, 3, 37, 16}, {s[0], s[3], s[1], s[4]}, i * s[2]);
  };
  FlashArrays a = arrays_of(c, Dtype::float16);
  a.q = part(0);
  a.k = part(1);
  a.v = part(2);
  const FlashArrays there = moved(a, c.form, *device);
  const FlashResults got = run(c.form, there);
  const Reference expected(c, a);
  check_close("y", got.y, expected.y, 4e-3);
  check_close("gq", got.gq, expected.gq, 4e-3);
  check_close("gk", got.gk, expected.gk, 4e-3);
  check_close("gv", got.gv, expected.gv, 4e-3);

  for (const Layout layout : kWritableLayouts) {
    const Array y = result_like(got.y, got.y.shape(), Dtype::float16, layout);
    launch<kernels::Attention>(*device, c.form, there.q, there.k, there.v, Array(), Array(), Array(), y, Array());
    check_same(y, got.y, 0);
  }
}

TEST_CASE("flash attention: turned off, the same numbers but for their rounding") {
  const auto device = gpu_device();
  if (!device) return;
  const FlashCase c{1, 2, 1, 70, 80, 64, 64, {0.2, 0.2, true}, "bool", {}};
  const FlashArrays a = moved(arrays_of(c, Dtype::float16), c.form, *device);
  const FlashResults fused = run(c.form, a);
  fusions().flash_attention = false;
  const FlashResults plain = run(c.form, a);
  fusions().flash_attention = true;
  check_same(fused.y, plain.y, 2);
  check_same(fused.lse, plain.lse, 10);
  check_same(fused.gq, plain.gq, 2);
  check_same(fused.gk, plain.gk, 2);
  check_same(fused.gv, plain.gv, 2);
}

}  // namespace
}  // namespace kusari::testing
