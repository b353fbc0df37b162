#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kusari/framework/core/array.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/attention.h"
#include "kusari/framework/cpu/isa/gemm.h"
#include "kusari/framework/cpu/isa/row_products.h"
#include "kusari/framework/kernels/attention.h"

// What the sources of attention share.
namespace kusari::cpu {

inline constexpr int64_t kQueryBlock = 64, kKeyBlock = 256;  // of a block whose scores stay in the second-level cache

template <class T>
struct AttentionTables {
  const AttentionLoop<T>& attention;
  const RowProductLoop<T>& rows;
  Gemm gemm;
  const RandomLoop& random;
};
template <class T>
const AttentionTables<T>& attention_tables() {
  const auto of = [](const auto& table) -> const auto& {
    if constexpr (std::is_same_v<T, float>) {
      return table.f32;
    } else {
      return table.f64;
    }
  };
  static const AttentionTables<T> all{of(*KUSARI_LOOPS(isa(), attention_loops)),
                                      of(*KUSARI_LOOPS(isa(), row_product_loops)), of(*KUSARI_LOOPS(isa(), gemm_loops)),
                                      of(*KUSARI_LOOPS(isa(), random_loops))};
  return all;
}

// The largest of `before` and of scale times scores; NaN for NaNs alone, which the loop passes over: they are not a row
// that sees nothing.
template <class T>
T largest_score(T before, const T* scores, T scale, int64_t n) {
  constexpr T never = -std::numeric_limits<T>::infinity();
  const T largest = std::max(before, attention_tables<T>().attention.largest(scores, scale, n));
  if (largest != never) return largest;
  const bool sees_none = std::all_of(scores, scores + n, [&](T score) { return scale * score == never; });
  return sees_none ? never : std::numeric_limits<T>::quiet_NaN();
}

// A matrix of one head: rows at `row` elements from each other.
template <class T>
struct HeadRows {
  T* data;
  int64_t row;
  T* at(int64_t i) const { return data + i * row; }
};
template <class T>
HeadRows<T> head_of(const Array& x, int64_t b, int64_t h) {
  const Strides& s = x.strides();
  return {static_cast<T*>(x.raw_data()) + b * s[0] + h * s[1], s[2]};
}

// What does not depend on the head.
template <class T>
struct AttentionProblem {
  const kernels::AttentionForm& form;
  const Array &mask, &lengths;
  int64_t heads, groups, queries, keys, width, value_width;
  uint64_t seed = 0, offset = 0;
  T hidden = -std::numeric_limits<T>::infinity();  // score of what a mask of bool hides
  bool is_hidden_where_true = false;

  AttentionProblem(const kernels::AttentionForm& given, const Array& q, const Array& k, const Array& v,
                   const Array& mask_array, const Array& lengths_array)
      : form{given},
        mask{mask_array},
        lengths{lengths_array},
        heads{q.shape()[1]},
        groups{k.shape()[1]},
        queries{q.shape()[2]},
        keys{k.shape()[2]},
        width{q.shape()[3]},
        value_width{v.shape()[3]} {}

  void draw_from(const Array& stream) {
    if (!stream.is_defined()) return;
    seed = static_cast<uint64_t>(stream.data<int64_t>()[0]);
    offset = static_cast<uint64_t>(stream.data<int64_t>()[1]);
  }
  int64_t keys_of(int64_t b) const {
    if (!lengths.is_defined()) return keys;
    return std::clamp<int64_t>(lengths.data<int64_t>()[b], 0, keys);
  }
  // Keys that queries up to, not including, `end` see of the first `count`.
  int64_t seen(int64_t end, int64_t count) const {
    return form.is_causal ? std::clamp<int64_t>(keys - queries + end, 0, count) : count;
  }

  // The first key that queries from number i on see.
  int64_t first_seen(int64_t i) const {
    const int64_t end = keys - queries + i + 1;
    return form.window > 0 && end > form.window ? end - form.window : 0;
  }

  // scores (rows, columns) of queries from i and keys from j, scaled unless nothing is masked.
  // Returns the scale that is left.
  T masked(T* s, int64_t row, int64_t b, int64_t h, int64_t i, int64_t rows, int64_t j, int64_t columns) const {
    const T scale = static_cast<T>(form.scale), never = -std::numeric_limits<T>::infinity();
    if (mask.is_defined()) {
      const Strides& m = mask.strides();
      const int64_t first = b * m[0] + h * m[1] + i * m[2] + j * m[3];
      for (int64_t r = 0; r < rows; ++r) {
        if (mask.dtype() == Dtype::bool_) {
          attention_tables<T>().attention.scale(s + r * row, scale, columns);
          hide(s + r * row, mask.data<bool>() + first + r * m[2], m[3], columns);
        } else {
          add(s + r * row, scale, mask.data<T>() + first + r * m[2], m[3], columns);
        }
      }
    }
    if (form.is_causal) {
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t last = seen(i + r + 1, keys) - j;
        for (int64_t c = std::max<int64_t>(last, 0); c < columns; ++c) s[r * row + c] = never;
        std::fill_n(s + r * row, std::clamp<int64_t>(first_seen(i + r) - j, 0, columns), never);
      }
    }
    return mask.is_defined() ? T(1) : scale;
  }

  void hide(T* s, const bool* seen, int64_t step, int64_t n) const {
    if (step == 1) {
      for (int64_t c = 0; c < n; ++c) s[c] = seen[c] == is_hidden_where_true ? hidden : s[c];
    } else {
      for (int64_t c = 0; c < n; ++c) s[c] = seen[c * step] == is_hidden_where_true ? hidden : s[c];
    }
  }
  static void add(T* s, T scale, const T* numbers, int64_t step, int64_t n) {
    if (step == 1) return attention_tables<T>().attention.scale_and_add(s, scale, numbers, n);
    attention_tables<T>().attention.scale(s, scale, n);
    for (int64_t c = 0; c < n; ++c) s[c] += numbers[c * step];
  }

  // The factors of dropout for one query and keys from j.
  void kept(T* to, int64_t b, int64_t h, int64_t i, int64_t j, int64_t columns) const {
    const auto first = static_cast<uint64_t>(((b * heads + h) * queries + i) * keys + j);
    attention_tables<T>().random.dropout_mask(seed, offset + first, form.dropout, 1 / (1 - form.dropout), to, columns);
  }
};

// Products of bfloat16 numbers, whose sums and all between them are float32, where has_bfloat16_dot(). q, k, v and y
// are bfloat16, and so are the gradients; elements of a row are contiguous.
void attend_bfloat16(const AttentionProblem<float>& p, const Array& q, const Array& k, const Array& v, const Array& y,
                     const Array& lse);
void attention_gradient_bfloat16(const AttentionProblem<float>& p, const Array& q, const Array& k, const Array& v,
                                 const Array& y, const Array& lse, const Array& gy, const Array& gq, const Array& gk,
                                 const Array& gv);

}  // namespace kusari::cpu
