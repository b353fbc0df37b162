#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/onnx/format.h"

// What the operators of attention of several domains are made of. Heads are an axis: (B, heads, T, D).
namespace kusari::onnx {

/// (B, T, heads D) as (B, heads, T, D), which also may come. `attribute`: what says how many heads there are.
Variable split_heads(const Variable& x, int64_t heads, const char* attribute);
/// (B, heads, T, D) as (B, T, heads D).
Variable join_heads(const Variable& x);

/// A cache (B, heads, length, D) with the rows x from place `at` on, longer where it must be. Throws ValueError for a
/// place that is not in it, or just behind.
Variable with_rows(const Variable& cache, const Variable& x, int64_t at);

/// Scores that an operator also gives back.
enum class ShownScores : uint8_t { none, products, capped, masked, weights };

struct AttentionForm {
  double scale;                        ///< of the products
  double softcap = 0;                  ///< above 0: scores become softcap tanh(scores / softcap)
  Array mask = {};                     ///< bool or added, broadcast to the scores; its last axis may be shorter
  Array lengths = {};                  ///< (B), keys that there are
  std::optional<int64_t> causal = {};  ///< query i sees the keys up to this number + i
  Variable sink = {};                  ///< (heads): the score of one more key, without a value
  ShownScores shown = ShownScores::none;
  DataType precision = DataType::undefined;  ///< of the softmax; undefined: the inputs'
};
struct AttentionResult {
  Variable y, scores;
};
/// softmax(scores) v; the heads of q are a multiple of those of k and v.
AttentionResult attend(const Variable& q, const Variable& k, const Variable& v, const AttentionForm& form);

struct Rotation {
  int64_t size = 0;          ///< how many elements of each row turn; 0: all
  bool interleaved = false;  ///< pairs are neighbours, otherwise halves
};
/// Pairs of the elements of each row turned. cos, sin: (B or 1, 1, T, size / 2).
Variable rotated(const Variable& x, const Variable& cos, const Variable& sin, const Rotation& rotation);

}  // namespace kusari::onnx
