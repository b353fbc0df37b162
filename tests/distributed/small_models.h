#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/model/classifier.h"

// Small models and batches for tests of several ranks.
namespace kusari::testing {

/// A whole batch, and the rows of it that a rank has: rank, rank + size, ...
struct TestBatch {
  Array x, t;

  TestBatch part(int rank, int size) const {
    const int64_t n = (x.shape(0) - rank + size - 1) / size;
    return {x.slice(0, rank, n, size).contiguous(), t.slice(0, rank, n, size).contiguous()};
  }
};

/// n examples of the given shape with 10 classes; `step` makes them other ones.
inline TestBatch test_batch(int64_t n, Shape shape, int step, Dtype dtype = Dtype::float32) {
  Shape whole{n};
  int64_t size = n;
  for (const int64_t axis : shape) {
    whole.push_back(axis);
    size *= axis;
  }
  std::vector<double> values;
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < size; ++i) values.push_back(std::sin(static_cast<double>(i * 7 + step * 131) * 0.37));
  for (int64_t i = 0; i < n; ++i) labels.push_back(static_cast<int32_t>((i * 3 + step) % 10));
  return {array<double>(values, whole).astype(dtype), array<int32_t>(labels)};
}

class TestMlp : public Chain {
 public:
  explicit TestMlp(int64_t units = 16) : l1{*this, "l1", kInfer, units}, l2{*this, "l2", units, 10} {}
  Variable operator()(const Variable& x) { return l2(functions::relu(l1(x))); }

  Child<links::Linear> l1, l2;
};

class TestCnn : public Chain {
 public:
  TestCnn() : conv{*this, "conv", 3, 8, 3, {.stride = 2}}, fc{*this, "fc", kInfer, 10} {}
  Variable operator()(const Variable& x) { return fc(functions::relu(conv(x))); }

  Child<links::Convolution2D> conv;
  Child<links::Linear> fc;
};

/// All parameters' values in a row.
inline std::vector<double> values_of(Link& model) {
  std::vector<double> values;
  for (const auto& [path, parameter] : model.namedparams(false)) {
    const std::vector<double> own = parameter->array().to_vector<double>();
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

/// The largest difference, relative to the largest value.
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 0, largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(a[i]));
  }
  return most / std::max(largest, 1e-30);
}

}  // namespace kusari::testing
