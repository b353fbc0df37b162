#include "kusari/framework/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/attention.h"
#include "kusari/framework/cpu/isa/gemm.h"
#include "kusari/framework/cpu/isa/row_products.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

using kernels::AttentionForm;
using kernels::HiddenScores;

constexpr int64_t kQueries = 64, kKeys = 256;  // of a block whose scores stay in the second-level cache

template <class T>
struct Loops {
  const AttentionLoop<T>& attention;
  const RowProductLoop<T>& rows;
  Gemm gemm;
  const RandomLoop& random;
};
template <class T>
const Loops<T>& loops() {
  const auto of = [](const auto& table) -> const auto& {
    if constexpr (std::is_same_v<T, float>) {
      return table.f32;
    } else {
      return table.f64;
    }
  };
  static const Loops<T> all{of(*KUSARI_LOOPS(isa(), attention_loops)), of(*KUSARI_LOOPS(isa(), row_product_loops)),
                            of(*KUSARI_LOOPS(isa(), gemm_loops)), of(*KUSARI_LOOPS(isa(), random_loops))};
  return all;
}

// A matrix of one head: rows at `row` elements from each other.
template <class T>
struct Rows {
  T* data;
  int64_t row;
  T* at(int64_t i) const { return data + i * row; }
};
template <class T>
Rows<T> head_of(const Array& x, int64_t b, int64_t h) {
  const Strides& s = x.strides();
  return {static_cast<T*>(x.raw_data()) + b * s[0] + h * s[1], s[2]};
}

// What does not depend on the head.
template <class T>
struct Problem {
  const AttentionForm& form;
  const Array &mask, &lengths;
  int64_t heads, groups, queries, keys, width, value_width;
  uint64_t seed = 0, offset = 0;
  T hidden = -std::numeric_limits<T>::infinity();  // score of what a mask of bool hides
  bool is_hidden_where_true = false;

  Problem(const AttentionForm& given, const Array& q, const Array& k, const Array& v, const Array& mask_array,
          const Array& lengths_array)
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

  // scores (rows, columns) of queries from i and keys from j, scaled unless nothing is masked.
  // Returns the scale that is left.
  T masked(T* s, int64_t row, int64_t b, int64_t h, int64_t i, int64_t rows, int64_t j, int64_t columns) const {
    const T scale = static_cast<T>(form.scale), never = -std::numeric_limits<T>::infinity();
    if (mask.is_defined()) {
      const Strides& m = mask.strides();
      const int64_t first = b * m[0] + h * m[1] + i * m[2] + j * m[3];
      for (int64_t r = 0; r < rows; ++r) {
        if (mask.dtype() == Dtype::bool_) {
          loops<T>().attention.scale(s + r * row, scale, columns);
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
    if (step == 1) return loops<T>().attention.scale_and_add(s, scale, numbers, n);
    loops<T>().attention.scale(s, scale, n);
    for (int64_t c = 0; c < n; ++c) s[c] += numbers[c * step];
  }

  // The factors of dropout for one query and keys from j.
  void kept(T* to, int64_t b, int64_t h, int64_t i, int64_t j, int64_t columns) const {
    const auto first = static_cast<uint64_t>(((b * heads + h) * queries + i) * keys + j);
    loops<T>().random.dropout_mask(seed, offset + first, form.dropout, 1 / (1 - form.dropout), to, columns);
  }
};

template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row,
              int64_t b_column, T* c, int64_t c_row) {
  alignas(64) char workspace[kGemmWorkspace];
  loops<T>().gemm({m, n, k, a, a_row, a_column, b, b_row, b_column, c, c_row, nullptr, workspace});
}

template <class T>
void forward_block(const Problem<T>& p, int64_t b, int64_t h, int64_t i, const Rows<T>& q, const Rows<T>& k,
                   const Rows<T>& v, const Rows<T>& y, T* lse) {
  const AttentionLoop<T>& loop = loops<T>().attention;
  const int64_t rows = std::min(kQueries, p.queries - i), count = p.seen(i + rows, p.keys_of(b));
  const T never = -std::numeric_limits<T>::infinity();
  const Scratch<T> scores(rows * kKeys), values(rows * p.value_width), kept(p.form.dropout > 0 ? kKeys : 0);
  T largest[kQueries], sum[kQueries];
  for (int64_t r = 0; r < rows; ++r) {
    largest[r] = never;
    sum[r] = 0;
    std::fill_n(y.at(i + r), p.value_width, T(0));
  }
  for (int64_t j = 0; j < count; j += kKeys) {
    const int64_t columns = std::min(kKeys, count - j);
    T* const s = scores.get();
    multiply(rows, columns, p.width, q.at(i), q.row, 1, k.at(j), 1, k.row, s, kKeys);
    const T scale = p.masked(s, kKeys, b, h, i, rows, j, columns);
    T factor[kQueries];
    for (int64_t r = 0; r < rows; ++r) {
      T* const row = s + r * kKeys;
      const T before = largest[r], now = std::max(before, loop.largest(row, scale, columns));
      largest[r] = now;
      if (now == never) {  // nothing is seen yet
        std::fill_n(row, columns, T(0));
        factor[r] = 1;
        continue;
      }
      factor[r] = std::exp(before - now);
      sum[r] = sum[r] * factor[r] + loop.exponentials(row, scale, now, columns);
      if (p.form.dropout > 0) {
        p.kept(kept.get(), b, h, i + r, j, columns);
        loop.multiply(row, kept.get(), columns);
      }
    }
    multiply(rows, p.value_width, columns, s, kKeys, 1, v.at(j), v.row, 1, values.get(), p.value_width);
    for (int64_t r = 0; r < rows; ++r) {
      loop.scale_and_add(y.at(i + r), factor[r], values.get() + r * p.value_width, p.value_width);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    if (!(sum[r] == 0)) loop.scale(y.at(i + r), 1 / sum[r], p.value_width);
    if (lse != nullptr) lse[i + r] = sum[r] == 0 ? never : largest[r] + std::log(sum[r]);
  }
}

// All queries of one head; adds to gk and gv.
template <class T>
void backward_head(const Problem<T>& p, int64_t b, int64_t h, const Rows<T>& q, const Rows<T>& k, const Rows<T>& v,
                   const Rows<T>& y, const T* lse, const Rows<T>& gy, const Rows<T>& gq, const Rows<T>& gk,
                   const Rows<T>& gv) {
  const AttentionLoop<T>& loop = loops<T>().attention;
  const int64_t width = std::max(p.width, p.value_width), most = std::max(kQueries, kKeys);
  const Scratch<T> scores(kQueries * kKeys), gradients(kQueries * kKeys), product(most * width), deltas(p.queries),
      kept(p.form.dropout > 0 ? kKeys : 0);
  for (int64_t i = 0; i < p.queries; ++i) {
    deltas.get()[i] = loops<T>().rows.dot(y.at(i), gy.at(i), p.value_width);
    std::fill_n(gq.at(i), p.width, T(0));
  }
  const auto add = [&](const Rows<T>& to, int64_t first, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r) loop.scale_and_add(to.at(first + r), 1, product.get() + r * n, n);
  };
  for (int64_t i = 0; i < p.queries; i += kQueries) {
    const int64_t rows = std::min(kQueries, p.queries - i), count = p.seen(i + rows, p.keys_of(b));
    for (int64_t j = 0; j < count; j += kKeys) {
      const int64_t columns = std::min(kKeys, count - j);
      T *const s = scores.get(), *const g = gradients.get();
      multiply(rows, columns, p.width, q.at(i), q.row, 1, k.at(j), 1, k.row, s, kKeys);
      multiply(rows, columns, p.value_width, gy.at(i), gy.row, 1, v.at(j), 1, v.row, g, kKeys);
      const T scale = p.masked(s, kKeys, b, h, i, rows, j, columns);
      for (int64_t r = 0; r < rows; ++r) {
        T *const s_row = s + r * kKeys, *const g_row = g + r * kKeys;
        if (lse[i + r] == -std::numeric_limits<T>::infinity()) {
          std::fill_n(s_row, columns, T(0));
          std::fill_n(g_row, columns, T(0));
          continue;
        }
        if (p.form.dropout > 0) p.kept(kept.get(), b, h, i + r, j, columns);
        loop.gradient(s_row, g_row, kept.get(), scale, lse[i + r], deltas.get()[i + r], columns);
        // The scores were scaled before a mask was added.
        if (p.mask.is_defined()) loop.scale(g_row, static_cast<T>(p.form.scale), columns);
      }
      multiply(columns, p.value_width, rows, s, 1, kKeys, gy.at(i), gy.row, 1, product.get(), p.value_width);
      add(gv, j, columns, p.value_width);
      multiply(columns, p.width, rows, g, 1, kKeys, q.at(i), q.row, 1, product.get(), p.width);
      add(gk, j, columns, p.width);
      multiply(rows, p.width, columns, g, kKeys, 1, k.at(j), k.row, 1, product.get(), p.width);
      add(gq, i, rows, p.width);
    }
  }
}

Array widened(const Array& x, Dtype wide) {
  const Array same = x.is_defined() && is_half(x.dtype()) ? x.astype(wide) : x;
  return same.is_defined() && same.ndim() > 0 && same.strides()[same.ndim() - 1] != 1 ? same.contiguous() : same;
}
// A floating mask in the dtype of the computation.
Array numbers_of(const Array& mask, Dtype dtype) {
  return mask.is_defined() && mask.dtype() != Dtype::bool_ && mask.dtype() != dtype ? mask.astype(dtype) : mask;
}

template <class T>
void forward_as(const Problem<T>& p, const Array& q, const Array& k, const Array& v, const Array& y, const Array& lse) {
  const int64_t blocks = (p.queries + kQueries - 1) / kQueries, share = p.heads / p.groups;
  parallel_for(q.shape()[0] * p.heads * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t b = at / blocks / p.heads, h = at / blocks % p.heads;
      // From the block that sees most keys, so that the last to be taken are short.
      const int64_t i = (blocks - 1 - at % blocks) * kQueries;
      T* const own_lse = lse.is_defined() ? lse.data<T>() + (b * p.heads + h) * p.queries : nullptr;
      forward_block(p, b, h, i, head_of<T>(q, b, h), head_of<T>(k, b, h / share), head_of<T>(v, b, h / share),
                    head_of<T>(y, b, h), own_lse);
    }
  });
}

template <class T>
void attend(const AttentionForm& form, const Array& stream, const Array& q, const Array& k, const Array& v,
            const Array& mask, const Array& lengths, const Array& y, const Array& lse) {
  Problem<T> p(form, q, k, v, mask, lengths);
  p.draw_from(stream);
  forward_as(p, q, k, v, y, lse);
}

void attention(Params<AttentionForm> form, In q, In k, In v, In mask, In lengths, In stream, Out y, Out lse) {
  if (y->size() == 0) return;
  const Dtype wide = q->dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const Array x = widened(*q, wide), keys = widened(*k, wide), values = widened(*v, wide);
  const Array numbers = numbers_of(*mask, wide);
  const Array result = is_half(y->dtype()) ? empty(y->shape(), wide) : *y;
  if (wide == Dtype::float64) {
    attend<double>(*form, *stream, x, keys, values, numbers, *lengths, result, *lse);
  } else {
    attend<float>(*form, *stream, x, keys, values, numbers, *lengths, result, *lse);
  }
  if (!result.is_same(*y)) y->copy_from(result);
}

void filled_attention(Params<AttentionForm> form, Params<HiddenScores> hidden, In q, In k, In v, In mask, In fill,
                      Out y) {
  if (y->size() == 0) return;
  const Array x = widened(*q, Dtype::float32), keys = widened(*k, Dtype::float32), values = widened(*v, Dtype::float32);
  const Array no_lengths;
  Problem<float> p(*form, x, keys, values, *mask, no_lengths);
  p.hidden = *fill->data<float>();
  p.is_hidden_where_true = hidden->is_hidden_where_true;
  forward_as(p, x, keys, values, *y, Array());
}

template <class T>
void gradient_as(const AttentionForm& form, const Array& stream, const Array& q, const Array& k, const Array& v,
                 const Array& mask, const Array& lengths, const Array& y, const Array& lse, const Array& gy,
                 const Array& gq, const Array& gk, const Array& gv) {
  Problem<T> p(form, q, k, v, mask, lengths);
  p.draw_from(stream);
  const int64_t share = p.heads / p.groups;
  parallel_for(q.shape()[0] * p.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t b = at / p.groups, group = at % p.groups;
      const Rows<T> gk_rows = head_of<T>(gk, b, group), gv_rows = head_of<T>(gv, b, group);
      for (int64_t j = 0; j < p.keys; ++j) {
        std::fill_n(gk_rows.at(j), p.width, T(0));
        std::fill_n(gv_rows.at(j), p.value_width, T(0));
      }
      for (int64_t h = group * share; h < (group + 1) * share; ++h) {
        backward_head(p, b, h, head_of<T>(q, b, h), head_of<T>(k, b, group), head_of<T>(v, b, group),
                      head_of<T>(y, b, h), lse.data<T>() + (b * p.heads + h) * p.queries, head_of<T>(gy, b, h),
                      head_of<T>(gq, b, h), gk_rows, gv_rows);
      }
    }
  });
}

void attention_gradient(Params<AttentionForm> form, In q, In k, In v, In mask, In lengths, In y, In lse, In stream,
                        In gy, Out gq, Out gk, Out gv) {
  if (gy->size() == 0) {
    for (const Array* g : {&*gq, &*gk, &*gv}) g->fill(0);
    return;
  }
  const Dtype wide = q->dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
  const Array numbers = numbers_of(*mask, wide);
  const Array inputs[] = {widened(*q, wide), widened(*k, wide), widened(*v, wide), widened(*y, wide),
                          widened(*gy, wide)};
  const Array* const results[] = {&*gq, &*gk, &*gv};
  Array wide_results[3];
  for (int i = 0; i < 3; ++i) {
    wide_results[i] = is_half(results[i]->dtype()) ? empty(results[i]->shape(), wide) : *results[i];
  }
  const auto run = wide == Dtype::float64 ? gradient_as<double> : gradient_as<float>;
  run(*form, *stream, inputs[0], inputs[1], inputs[2], numbers, *lengths, inputs[3], *lse, inputs[4], wide_results[0],
      wide_results[1], wide_results[2]);
  for (int i = 0; i < 3; ++i) {
    if (!wide_results[i].is_same(*results[i])) results[i]->copy_from(wide_results[i]);
  }
}

}  // namespace

void register_attention(Backend& backend) {
  backend.add<kernels::Attention>(attention);
  backend.add<kernels::FilledAttention>(filled_attention);
  backend.add<kernels::AttentionGradient>(attention_gradient);
}

}  // namespace kusari::cpu
