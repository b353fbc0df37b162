#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/kusari.h"
#include "kusari/tests/static_graph/static_graph_testing.h"

// Models and comparisons that the tests of InferenceSession share.
namespace kusari::testing {

class InferenceMlp : public Chain {
 public:
  explicit InferenceMlp(int64_t in_size = 6)
      : l1{*this, "l1", in_size, 16}, bn{*this, "bn", 16}, l2{*this, "l2", 16, 4} {}
  Variable operator()(const Variable& x) const { return l2(functions::relu(bn(l1(x)))); }

  Child<links::Linear> l1;
  Child<links::BatchNormalization> bn;
  Child<links::Linear> l2;
};

/// Two results of two inputs: images and numbers of rows of a table.
class TwoHeads : public Chain {
 public:
  TwoHeads() : conv{*this, "conv", 3, 8, 3, {.pad = 1}}, embed{*this, "embed", 11, 8}, fc{*this, "fc", 8, 5} {}
  std::pair<Variable, Variable> operator()(const Variable& x, const Variable& ids) const {
    const Variable h = functions::relu(conv(x));
    const Variable mean = functions::average(h, {2, 3});
    return {fc(mean + functions::sum(embed(ids), 1)), h};
  }

  Child<links::Convolution2D> conv;
  Child<links::EmbedID> embed;
  Child<links::Linear> fc;
};

/// Scores for each row of B sequences of T rows, (T, B, in) to (T * B, 3).
class Tagger : public Chain {
 public:
  Tagger() : lstm{*this, "lstm", 2, 5, 7, 0.1}, out{*this, "out", 7, 3} {}
  Variable operator()(const Variable& x) const {
    return lstm({}, {}, PackedSequence::from_times(x)).ys.map(out).data();
  }

  Child<links::NStepLSTM> lstm;
  Child<links::Linear> out;
};

/// Decides by a number that it computes.
class Decider : public Chain {
 public:
  Decider() : l1{*this, "l1", 6, 4}, l2{*this, "l2", 6, 4} {}
  Variable operator()(const Variable& x) const { return functions::sum(x).array().item<float>() > 0 ? l1(x) : l2(x); }

  Child<links::Linear> l1, l2;
};

inline Array numbers(const Shape& shape, int seed = 1) { return uniform_like(empty(shape), seed); }
inline Array words(const Shape& shape, int64_t count, int seed = 1) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < numel(shape); ++i) ids.push_back(static_cast<int32_t>((i * 7 + seed) % count));
  return array(ids, shape);
}

/// Running statistics that differ from those of the beginning, as after training.
inline void draw_statistics(Link& model) {
  int seed = 100;
  for (const auto& entry : detail::LinkWalk::entries(model)) {
    if (entry.kind != detail::MemberKind::persistent) continue;
    const Array& array = *static_cast<const Array*>(entry.at);
    if (array.is_defined() && array.is_floating() && array.ndim() == 1) {
      array.copy_from((Variable(uniform_like(array, ++seed), false) * 0.2 + 1.0).array());
    }
  }
}

/// What the model itself gives, in test mode.
template <class Model, class... Inputs>
auto called(const Model& model, const Inputs&... inputs) {
  const auto evaluation = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  return model(Variable(inputs, false)...);
}

inline bool same_bits(const Array& a, const Array& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Array x = a.contiguous(), y = b.contiguous();
  return std::memcmp(x.raw_data(), y.raw_data(), static_cast<size_t>(x.nbytes())) == 0;
}

/// The largest difference, by the largest number of b.
inline double relative_error(const Array& a, const Array& b) {
  REQUIRE(a.shape() == b.shape());
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  double error = 0, largest = 1e-30;
  for (size_t i = 0; i < x.size(); ++i) {
    error = std::max(error, std::abs(x[i] - y[i]));
    largest = std::max(largest, std::abs(y[i]));
  }
  return error / largest;
}

/// Passes that change no bit.
inline StaticGraphPasses exact_passes() {
  StaticGraphPasses passes;
  passes.fuse_attention = false;
  passes.fuse_gelu = false;
  passes.fuse_excitation = false;
  passes.fold_batch_normalization = false;
  passes.pack_products = false;
  return passes;
}

}  // namespace kusari::testing
