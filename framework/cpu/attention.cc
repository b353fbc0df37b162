#include "kusari/framework/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

using kernels::AttentionForm;
using kernels::HiddenScores;

template <class T>
void multiply(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row,
              int64_t b_column, T* c, int64_t c_row) {
  alignas(64) char workspace[kGemmWorkspace];
  attention_tables<T>().gemm({m, n, k, a, a_row, a_column, b, b_row, b_column, c, c_row, nullptr, workspace});
}

template <class T>
void forward_block(const AttentionProblem<T>& p, int64_t b, int64_t h, int64_t i, const HeadRows<T>& q,
                   const HeadRows<T>& k, const HeadRows<T>& v, const HeadRows<T>& y, T* lse) {
  const AttentionLoop<T>& loop = attention_tables<T>().attention;
  const int64_t rows = std::min(kQueryBlock, p.queries - i), count = p.seen(i + rows, p.keys_of(b));
  const T never = -std::numeric_limits<T>::infinity();
  const Scratch<T> scores(rows * kKeyBlock), values(rows * p.value_width), kept(p.form.dropout > 0 ? kKeyBlock : 0);
  T largest[kQueryBlock], sum[kQueryBlock];
  for (int64_t r = 0; r < rows; ++r) {
    largest[r] = never;
    sum[r] = 0;
    std::fill_n(y.at(i + r), p.value_width, T(0));
  }
  for (int64_t j = p.first_seen(i); j < count; j += kKeyBlock) {
    const int64_t columns = std::min(kKeyBlock, count - j);
    T* const s = scores.get();
    multiply(rows, columns, p.width, q.at(i), q.row, 1, k.at(j), 1, k.row, s, kKeyBlock);
    const T scale = p.masked(s, kKeyBlock, b, h, i, rows, j, columns);
    T factor[kQueryBlock];
    for (int64_t r = 0; r < rows; ++r) {
      T* const row = s + r * kKeyBlock;
      const T before = largest[r], now = largest_score(before, row, scale, columns);
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
    multiply(rows, p.value_width, columns, s, kKeyBlock, 1, v.at(j), v.row, 1, values.get(), p.value_width);
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
void backward_head(const AttentionProblem<T>& p, int64_t b, int64_t h, const HeadRows<T>& q, const HeadRows<T>& k,
                   const HeadRows<T>& v, const HeadRows<T>& y, const T* lse, const HeadRows<T>& gy,
                   const HeadRows<T>& gq, const HeadRows<T>& gk, const HeadRows<T>& gv) {
  const AttentionLoop<T>& loop = attention_tables<T>().attention;
  const int64_t width = std::max(p.width, p.value_width), most = std::max(kQueryBlock, kKeyBlock);
  const Scratch<T> scores(kQueryBlock * kKeyBlock), gradients(kQueryBlock * kKeyBlock), product(most * width),
      deltas(p.queries), kept(p.form.dropout > 0 ? kKeyBlock : 0);
  for (int64_t i = 0; i < p.queries; ++i) {
    deltas.get()[i] = attention_tables<T>().rows.dot(y.at(i), gy.at(i), p.value_width);
    std::fill_n(gq.at(i), p.width, T(0));
  }
  const auto add = [&](const HeadRows<T>& to, int64_t first, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; ++r) loop.scale_and_add(to.at(first + r), 1, product.get() + r * n, n);
  };
  for (int64_t i = 0; i < p.queries; i += kQueryBlock) {
    const int64_t rows = std::min(kQueryBlock, p.queries - i), count = p.seen(i + rows, p.keys_of(b));
    for (int64_t j = p.first_seen(i); j < count; j += kKeyBlock) {
      const int64_t columns = std::min(kKeyBlock, count - j);
      T *const s = scores.get(), *const g = gradients.get();
      multiply(rows, columns, p.width, q.at(i), q.row, 1, k.at(j), 1, k.row, s, kKeyBlock);
      multiply(rows, columns, p.value_width, gy.at(i), gy.row, 1, v.at(j), 1, v.row, g, kKeyBlock);
      const T scale = p.masked(s, kKeyBlock, b, h, i, rows, j, columns);
      for (int64_t r = 0; r < rows; ++r) {
        T *const s_row = s + r * kKeyBlock, *const g_row = g + r * kKeyBlock;
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
      multiply(columns, p.value_width, rows, s, 1, kKeyBlock, gy.at(i), gy.row, 1, product.get(), p.value_width);
      add(gv, j, columns, p.value_width);
      multiply(columns, p.width, rows, g, 1, kKeyBlock, q.at(i), q.row, 1, product.get(), p.width);
      add(gk, j, columns, p.width);
      multiply(rows, p.width, columns, g, kKeyBlock, 1, k.at(j), k.row, 1, product.get(), p.width);
      add(gq, i, rows, p.width);
    }
  }
}

// Where the elements of a row follow each other.
Array by_rows(const Array& x) {
  return x.is_defined() && x.ndim() > 0 && x.strides()[x.ndim() - 1] != 1 ? x.contiguous() : x;
}
Array widened(const Array& x, Dtype wide) { return by_rows(x.is_defined() && is_half(x.dtype()) ? x.astype(wide) : x); }
// A floating mask in the dtype of the computation.
Array numbers_of(const Array& mask, Dtype dtype) {
  return mask.is_defined() && mask.dtype() != Dtype::bool_ && mask.dtype() != dtype ? mask.astype(dtype) : mask;
}

// Whether packing keys for products of bfloat16 pays: not for a text that is generated, word by word.
bool is_bfloat16_problem(const Array& q, const Array& k) {
  constexpr int64_t kFewQueries = 8;
  return q.dtype() == Dtype::bfloat16 && k.dtype() == Dtype::bfloat16 && q.shape()[2] >= kFewQueries &&
         has_bfloat16_dot();
}

template <class T>
void forward_as(const AttentionProblem<T>& p, const Array& q, const Array& k, const Array& v, const Array& y,
                const Array& lse) {
  const int64_t blocks = (p.queries + kQueryBlock - 1) / kQueryBlock, share = p.heads / p.groups;
  parallel_for(q.shape()[0] * p.heads * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t b = at / blocks / p.heads, h = at / blocks % p.heads;
      // From the block that sees most keys, so that the last to be taken are short.
      const int64_t i = (blocks - 1 - at % blocks) * kQueryBlock;
      T* const own_lse = lse.is_defined() ? lse.data<T>() + (b * p.heads + h) * p.queries : nullptr;
      forward_block(p, b, h, i, head_of<T>(q, b, h), head_of<T>(k, b, h / share), head_of<T>(v, b, h / share),
                    head_of<T>(y, b, h), own_lse);
    }
  });
}

template <class T>
void attend(const AttentionForm& form, const Array& stream, const Array& q, const Array& k, const Array& v,
            const Array& mask, const Array& lengths, const Array& y, const Array& lse) {
  AttentionProblem<T> p(form, q, k, v, mask, lengths);
  p.draw_from(stream);
  forward_as(p, q, k, v, y, lse);
}

void attention(Params<AttentionForm> form, In q, In k, In v, In mask, In lengths, In stream, Out y, Out lse) {
  if (y->size() == 0) return;
  if (is_bfloat16_problem(*q, *k)) {
    const Array numbers = numbers_of(*mask, Dtype::float32);
    AttentionProblem<float> p(*form, *q, *k, *v, numbers, *lengths);
    p.draw_from(*stream);
    return attend_bfloat16(p, by_rows(*q), by_rows(*k), by_rows(*v), *y, *lse);
  }
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
  AttentionProblem<float> p(*form, x, keys, values, *mask, no_lengths);
  p.hidden = *fill->data<float>();
  p.is_hidden_where_true = hidden->is_hidden_where_true;
  forward_as(p, x, keys, values, *y, Array());
}

template <class T>
void gradient_as(const AttentionForm& form, const Array& stream, const Array& q, const Array& k, const Array& v,
                 const Array& mask, const Array& lengths, const Array& y, const Array& lse, const Array& gy,
                 const Array& gq, const Array& gk, const Array& gv) {
  AttentionProblem<T> p(form, q, k, v, mask, lengths);
  p.draw_from(stream);
  const int64_t share = p.heads / p.groups;
  parallel_for(q.shape()[0] * p.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t b = at / p.groups, group = at % p.groups;
      const HeadRows<T> gk_rows = head_of<T>(gk, b, group), gv_rows = head_of<T>(gv, b, group);
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
  if (is_bfloat16_problem(*q, *k)) {
    const Array numbers = numbers_of(*mask, Dtype::float32);
    AttentionProblem<float> p(*form, *q, *k, *v, numbers, *lengths);
    p.draw_from(*stream);
    return attention_gradient_bfloat16(p, by_rows(*q), by_rows(*k), by_rows(*v), by_rows(*y), *lse, by_rows(*gy), *gq,
                                       *gk, *gv);
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

// What backward_head has before its products, computed once more: a task has to itself all of the axes along which the
// bias repeats itself, and so adds up all that its numbers get, in an order of its own.
template <class T>
void bias_gradient_as(const AttentionForm& form, const Array& stream, const Array& q, const Array& k, const Array& v,
                      const Array& mask, const Array& lengths, const Array& y, const Array& lse, const Array& gy,
                      const Array& gbias) {
  AttentionProblem<T> p(form, q, k, v, mask, lengths);
  p.draw_from(stream);
  const AttentionLoop<T>& loop = attention_tables<T>().attention;
  const int64_t sizes[] = {q.shape()[0], p.heads, p.queries, p.keys}, blocks[] = {1, 1, kQueryBlock, kKeyBlock};
  int64_t steps[4], counts[4], tasks = 1, to[4];
  for (int axis = 0; axis < 4; ++axis) {
    const bool repeats = gbias.shape()[axis] == 1;
    steps[axis] = repeats ? sizes[axis] : blocks[axis];
    counts[axis] = ceil_divide(sizes[axis], steps[axis]);
    to[axis] = repeats ? 0 : gbias.strides()[axis];
    tasks *= counts[axis];
  }
  const auto add_block = [&](int64_t b, int64_t h, int64_t i, int64_t rows, int64_t j, int64_t columns, T* s, T* g,
                             T* kept) {
    const HeadRows<T> group_k = head_of<T>(k, b, h / (p.heads / p.groups)),
                      group_v = head_of<T>(v, b, h / (p.heads / p.groups)), own_q = head_of<T>(q, b, h),
                      own_y = head_of<T>(y, b, h), own_gy = head_of<T>(gy, b, h);
    const T* const own_lse = lse.data<T>() + (b * p.heads + h) * p.queries;
    multiply(rows, columns, p.width, own_q.at(i), own_q.row, 1, group_k.at(j), 1, group_k.row, s, kKeyBlock);
    multiply(rows, columns, p.value_width, own_gy.at(i), own_gy.row, 1, group_v.at(j), 1, group_v.row, g, kKeyBlock);
    const T scale = p.masked(s, kKeyBlock, b, h, i, rows, j, columns);
    for (int64_t r = 0; r < rows; ++r) {
      if (own_lse[i + r] == -std::numeric_limits<T>::infinity()) continue;
      T* const row = g + r * kKeyBlock;
      if (kept != nullptr) p.kept(kept, b, h, i + r, j, columns);
      const T delta = attention_tables<T>().rows.dot(own_y.at(i + r), own_gy.at(i + r), p.value_width);
      loop.gradient(s + r * kKeyBlock, row, kept, scale, own_lse[i + r], delta, columns);
      T* const sums = gbias.data<T>() + b * to[0] + h * to[1] + (i + r) * to[2] + j * to[3];
      if (to[3] != 0) {
        loop.scale_and_add(sums, 1, row, columns);
      } else {
        for (int64_t c = 0; c < columns; ++c) *sums += row[c];
      }
    }
  };
  parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
    const Scratch<T> scores(kQueryBlock * kKeyBlock), gradients(kQueryBlock * kKeyBlock),
        kept(form.dropout > 0 ? kKeyBlock : 0);
    for (int64_t at = begin; at < end; ++at) {
      int64_t first[4], last[4];
      for (int64_t axis = 3, rest = at; axis >= 0; rest /= counts[axis--]) {
        first[axis] = rest % counts[axis] * steps[axis];
        last[axis] = std::min(first[axis] + steps[axis], sizes[axis]);
      }
      for (int64_t b = first[0]; b < last[0]; ++b) {
        for (int64_t h = first[1]; h < last[1]; ++h) {
          for (int64_t i = first[2]; i < last[2]; i += kQueryBlock) {
            const int64_t rows = std::min(kQueryBlock, last[2] - i);
            const int64_t count = std::min(p.seen(i + rows, p.keys_of(b)), last[3]);
            for (int64_t j = std::max(first[3], p.first_seen(i)); j < count; j += kKeyBlock) {
              add_block(b, h, i, rows, j, std::min(kKeyBlock, count - j), scores.get(), gradients.get(), kept.get());
            }
          }
        }
      }
    }
  });
}

void attention_bias_gradient(Params<AttentionForm> form, In q, In k, In v, In mask, In lengths, In y, In lse, In stream,
                             In gy, Out gbias) {
  gbias->fill(0);
  if (gy->size() == 0 || mask->size() == 0) return;
  const Dtype wide = lse->dtype();
  const auto run = wide == Dtype::float64 ? bias_gradient_as<double> : bias_gradient_as<float>;
  run(*form, *stream, widened(*q, wide), widened(*k, wide), widened(*v, wide), numbers_of(*mask, wide), *lengths,
      widened(*y, wide), *lse, widened(*gy, wide), *gbias);
}

}  // namespace

void register_attention(Backend& backend) {
  backend.add<kernels::Attention>(attention);
  backend.add<kernels::FilledAttention>(filled_attention);
  backend.add<kernels::AttentionGradient>(attention_gradient);
  backend.add<kernels::AttentionBiasGradient>(attention_bias_gradient);
}

}  // namespace kusari::cpu
