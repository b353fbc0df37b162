#include "kusari/framework/kernels/attention.h"

#include <algorithm>

#include "kusari/cuda/kernels/attention_dropout.cuh"
#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/flash_attention.h"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/kernels/source.cuh"
#include "kusari/cuda/plans/attention_parts.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/matmul.h"
#include "kusari/framework/kernels/pointwise.h"
#include "kusari/framework/kernels/reduce.h"

// What flash_attention.h does not take: scores of some heads and queries at a time, in memory that the second-level
// cache keeps: products of matrices through the library, on tensor cores, and kernels for what lies between. Scores are
// float32 for the half types.
namespace kusari::cuda {
namespace {

using kernels::AttentionForm;
using kernels::HiddenScores;

constexpr int kRowThreads = 128;

/// What the kernels between the products know of a part's scores: (batch, heads, queries, columns), dense.
struct ScoreRows {
  AttentionPart part;
  int64_t heads, queries, keys;  // of the whole call
  int64_t columns;               // keys of the part, from part.first_key on
  double scale;
  double gradient_scale;  // of the products' gradients, which those of the scores are multiplied by
  AttentionDropout dropout;
  bool is_causal;
  int64_t window;  // keys that a causal query sees at most; 0: all
  const int64_t* lengths;
  const void* mask;
  Dtype mask_dtype;
  int64_t mask_strides[4];
  bool is_hidden_where_true = false;
  const float* fill = nullptr;  // the score of what a mask of bool hides; null: it is left out
};

/// A row of them: one query of one head of one sequence.
template <class C>
struct ScoreRow {
  int64_t batch, head, query;
  int64_t begin, end;  // keys of the part that it may see
  C hidden;            // score of what a mask of bool hides

  __device__ __forceinline__ ScoreRow(const ScoreRows& rows, int64_t row) {
    const AttentionPart& part = rows.part;
    query = part.first_query + row % part.queries;
    head = part.first_head + row / part.queries % part.heads;
    batch = part.first_batch + row / part.queries / part.heads;
    begin = 0;
    end = rows.columns;
    hidden = rows.fill != nullptr ? static_cast<C>(*rows.fill) : -km::Real<C>::kInfinity;
    if (rows.lengths != nullptr) {
      const int64_t length = rows.lengths[batch] - part.first_key;
      end = length < 0 ? 0 : length < end ? length : end;
    }
    if (rows.is_causal) {
      const int64_t seen = rows.keys - rows.queries + query + 1 - part.first_key;
      end = seen < 0 ? 0 : seen < end ? seen : end;
      if (rows.window > 0 && seen > rows.window) begin = seen - rows.window;
    }
  }
  /// Of all queries of the call, in C order.
  __device__ __forceinline__ int64_t place(const ScoreRows& rows) const {
    return (batch * rows.heads + head) * rows.queries + query;
  }
  __device__ __forceinline__ bool sees(int64_t column) const { return begin <= column && column < end; }
  __device__ __forceinline__ C score(const ScoreRows& rows, C product, int64_t column) const {
    const C scaled = static_cast<C>(rows.scale) * product;
    if (rows.mask == nullptr) return scaled;
    const int64_t at = batch * rows.mask_strides[0] + head * rows.mask_strides[1] + query * rows.mask_strides[2] +
                       (rows.part.first_key + column) * rows.mask_strides[3];
    if (rows.mask_dtype == Dtype::bool_) {
      return static_cast<const bool*>(rows.mask)[at] == rows.is_hidden_where_true ? hidden : scaled;
    }
    return scaled + load_as<C>(rows.mask, rows.mask_dtype, at);
  }
  /// What dropout multiplies the weight of a key by.
  __device__ __forceinline__ C kept(const ScoreRows& rows, int64_t column) const {
    if (!(rows.dropout.ratio > 0)) return C(1);
    return rows.dropout.kept<C>(static_cast<uint64_t>(place(rows) * rows.keys + rows.part.first_key + column));
  }
};

/// NaN where one of them is: a row of NaNs is not one that sees nothing.
template <class C>
struct Larger {
  __device__ __forceinline__ C operator()(C a, C b) const { return a < b || km::isnan(b) ? b : a; }
};

/// A block for each row of x (batch, groups, keys, width), dense: from lengths[batch] on they become zeros, as their
/// weights are. What lies there may be NaN, and so would be its products with zeros.
template <class T>
__global__ void __launch_bounds__(kRowThreads)
    clear_unseen(T* x, const int64_t* lengths, int64_t groups, int64_t keys, int64_t width) {
  const int64_t row = blockIdx.x;
  if (row % keys < lengths[row / keys / groups]) return;
  for (int64_t e = threadIdx.x; e < width; e += kRowThreads) x[row * width + e] = narrow<T>(Compute<T>(0));
}

/// A block for each row: products become weights, which may take the products' place. lse: of the whole call, or null.
template <class T, class C>
__global__ void __launch_bounds__(kRowThreads) score_weights(ScoreRows rows, const C* products, T* weights, C* lse) {
  const ScoreRow<C> row(rows, blockIdx.x);
  const C* const from = products + int64_t{blockIdx.x} * rows.columns;
  T* const to = weights + int64_t{blockIdx.x} * rows.columns;
  const C never = -km::Real<C>::kInfinity;
  C largest = never;
  for (int64_t j = row.begin + threadIdx.x; j < row.end; j += kRowThreads) {
    largest = Larger<C>{}(largest, row.score(rows, from[j], j));
  }
  largest = block_reduce(largest, never, Larger<C>{});
  const bool sees_any = largest != never;
  C sum = C(0);
  for (int64_t j = row.begin + threadIdx.x; sees_any && j < row.end; j += kRowThreads) {
    sum += km::exp(row.score(rows, from[j], j) - largest);
  }
  sum = block_reduce(sum, C(0), Plus<C>{});
  const C factor = sees_any ? C(1) / sum : C(0);
  for (int64_t j = threadIdx.x; j < rows.columns; j += kRowThreads) {
    C weight = C(0);
    if (sees_any && row.sees(j)) {
      weight = km::exp(row.score(rows, from[j], j) - largest) * factor * row.kept(rows, j);
    }
    to[j] = narrow<T>(weight);
  }
  if (lse != nullptr && threadIdx.x == 0) lse[row.place(rows)] = sees_any ? largest + km::log(sum) : never;
}

/// Rows of the part's y and gy: (batch, heads, queries, width), dense.
template <class T>
struct ResultRows {
  const T *y, *gy;
  int64_t width;
};

/// A block for each row. products: of q and k; products_of_gradient: of gy and v. They become the weights, and the
/// gradients of the products.
template <class T, class C>
__global__ void __launch_bounds__(kRowThreads)
    score_gradients(ScoreRows rows, const C* products, const C* products_of_gradient, const C* lse,
                    ResultRows<T> results, T* weights, T* gradients) {
  const ScoreRow<C> row(rows, blockIdx.x);
  const int64_t first = int64_t{blockIdx.x} * rows.columns, first_result = int64_t{blockIdx.x} * results.width;
  C delta = C(0);
  for (int64_t e = threadIdx.x; e < results.width; e += kRowThreads) {
    delta += static_cast<C>(widen(results.y[first_result + e])) * static_cast<C>(widen(results.gy[first_result + e]));
  }
  delta = block_reduce(delta, C(0), Plus<C>{});
  const C shift = lse[row.place(rows)];
  const bool sees_any = shift != -km::Real<C>::kInfinity;
  for (int64_t j = threadIdx.x; j < rows.columns; j += kRowThreads) {
    C weight = C(0), gradient = C(0);
    if (sees_any && row.sees(j)) {
      const C p = km::exp(row.score(rows, products[first + j], j) - shift), kept = row.kept(rows, j);
      weight = p * kept;
      gradient = p * (products_of_gradient[first + j] * kept - delta) * static_cast<C>(rows.gradient_scale);
    }
    weights[first + j] = narrow<T>(weight);
    gradients[first + j] = narrow<T>(gradient);
  }
}

/// Heads of a part beside the group that they share: (batch, groups, share, rows, width) of (batch, heads, rows,
/// width).
Array in_groups(const Array& x, int64_t groups) {
  const Shape& shape = x.shape();
  const Strides& s = x.strides();
  const int64_t share = shape[1] / groups;
  return x.as_strided({shape[0], groups, share, shape[2], shape[3]}, {s[0], s[1] * share, s[1], s[2], s[3]});
}

Array of_part(const Array& x, const AttentionPart& part) {
  return x.slice(0, part.first_batch, part.batch)
      .slice(1, part.first_head, part.heads)
      .slice(2, part.first_query, part.queries);
}
Array of_keys(const Array& x, const AttentionPart& part, int64_t columns) {
  return x.slice(0, part.first_batch, part.batch)
      .slice(1, part.first_group, part.groups)
      .slice(2, part.first_key, columns);
}

/// The arrays of a call in the dtype of its elements, and what is computed for each part.
template <class T>
class Attention {
  using C = Compute<T>;

 public:
  Attention(const AttentionForm& form, const Array& q, const Array& k, const Array& v, const Array& mask,
            const Array& lengths, const Array& stream)
      : context_{Context::of(q)}, q_{q}, k_{seen(k, lengths)}, v_{seen(v, lengths)} {
    rows_.heads = q.shape()[1];
    rows_.queries = q.shape()[2];
    rows_.keys = k.shape()[2];
    rows_.scale = rows_.gradient_scale = form.scale;
    rows_.dropout = AttentionDropout(form.dropout, stream.is_defined() ? stream.data<int64_t>() : nullptr);
    rows_.is_causal = form.is_causal;
    rows_.window = form.window;
    rows_.lengths = lengths.is_defined() ? lengths.data<int64_t>() : nullptr;
    rows_.mask = mask.is_defined() ? mask.raw_data() : nullptr;
    rows_.mask_dtype = mask.is_defined() ? mask.dtype() : Dtype::bool_;
    for (int i = 0; i < 4; ++i) rows_.mask_strides[i] = mask.is_defined() ? mask.strides()[i] : 0;
  }

  void hide(const HiddenScores& scores, const Array& fill) {
    rows_.is_hidden_where_true = scores.is_hidden_where_true;
    rows_.fill = fill.data<float>();
  }

  void forward(const Array& y, const Array& lse) {
    for_parts([&] {
      const Array products = multiplied(of_q(), of_k(), {.transb = true}, dtype_of<C>);
      const Array weights = sizeof(T) == sizeof(C) ? products : like(products);
      enqueue(context_, shape_of(products), score_weights<T, C>, rows_, products.data<C>(), weights.data<T>(),
              lse.is_defined() ? lse.data<C>() : nullptr);
      multiply_into(weights, of_v(), {}, in_groups(of_part(y, part()), part().groups));
    });
  }

  void backward(const Array& y, const Array& lse, const Array& gy, const Array& gq, const Array& gk, const Array& gv) {
    const Array sum_k = zeros(gk.shape(), dtype_of<C>, gk.device()),
                sum_v = zeros(gv.shape(), dtype_of<C>, gv.device());
    for_parts([&] {
      const auto [part_gy, weights, gradients] = gradients_of_part(y, lse, gy);
      multiply_into(gradients, of_k(), {}, in_groups(of_part(gq, part()), part().groups));
      add_of_heads(weights, part_gy, of_keys(sum_v, part(), rows_.columns));
      add_of_heads(gradients, of_part(q_, part()).contiguous(), of_keys(sum_k, part(), rows_.columns));
    });
    gk.copy_from(sum_k);
    gv.copy_from(sum_v);
  }

  /// Adds to gbias, in the dtype C.
  void bias_gradient(const Array& y, const Array& lse, const Array& gy, const Array& gbias) {
    rows_.gradient_scale = 1;
    for_parts([&] {
      const AttentionPart& p = part();
      const Array scores =
          gradients_of_part(y, lse, gy).gradients.reshape({p.batch, p.heads, p.queries, rows_.columns});
      const int64_t first[] = {p.first_batch, p.first_head, p.first_query, p.first_key};
      AxisMask repeated;
      Array sums = gbias;
      for (int axis = 0; axis < 4; ++axis) {
        if (gbias.shape()[axis] == 1) {
          repeated.bits |= AxisMask::of(axis).bits;
        } else {
          sums = sums.slice(axis, first[axis], scores.shape()[axis]);
        }
      }
      pointwise_to(sums, kernels::Add{}, sums, reduce(kernels::Sum{}, scores, repeated, true));
    });
  }

 private:
  /// Of the scores of a part: (batch, groups, share, queries, columns).
  struct PartGradients {
    Array part_gy, weights, gradients;
  };
  PartGradients gradients_of_part(const Array& y, const Array& lse, const Array& gy) const {
    const Array part_y = of_part(y, part()).contiguous(), part_gy = of_part(gy, part()).contiguous();
    const Array grouped_gy = in_groups(part_gy, part().groups);
    const Array products = multiplied(of_q(), of_k(), {.transb = true}, dtype_of<C>);
    const Array more = multiplied(grouped_gy, of_v(), {.transb = true}, dtype_of<C>);
    const bool in_place = sizeof(T) == sizeof(C);
    const Array weights = in_place ? products : like(products), gradients = in_place ? more : like(products);
    enqueue(context_, shape_of(products), score_gradients<T, C>, rows_, products.data<C>(), more.data<C>(),
            lse.data<C>(), ResultRows<T>{part_y.data<T>(), part_gy.data<T>(), y.shape()[3]}, weights.data<T>(),
            gradients.data<T>());
    return {part_gy, weights, gradients};
  }

  /// x (batch, groups, keys, width) with zeros for what lengths hide.
  Array seen(const Array& x, const Array& lengths) const {
    if (!lengths.is_defined() || x.size() == 0) return x;
    const Shape& s = x.shape();
    const Array result = empty(s, x.dtype(), x.device());
    result.copy_from(x);
    enqueue(context_, {dim3(static_cast<unsigned>(s[0] * s[1] * s[2])), dim3(kRowThreads)}, clear_unseen<T>,
            result.data<T>(), lengths.data<int64_t>(), s[1], s[2], s[3]);
    return result;
  }

  const AttentionPart& part() const { return rows_.part; }
  Array of_q() const { return in_groups(of_part(q_, part()), part().groups); }
  Array of_k() const { return in_groups(of_keys(k_, part(), rows_.columns), part().groups); }
  Array of_v() const { return in_groups(of_keys(v_, part(), rows_.columns), part().groups); }

  template <class Body>
  void for_parts(const Body& body) {
    const AttentionSizes sizes{q_.shape()[0],   k_.shape()[1], rows_.heads / k_.shape()[1],
                               rows_.queries,   rows_.keys,    static_cast<int64_t>(sizeof(C)),
                               rows_.is_causal, rows_.window};
    for_attention_parts(sizes, [&](const AttentionPart& part, int64_t columns) {
      rows_.part = part;
      rows_.columns = columns;
      if (columns > 0) return body();
      rows_.columns = 1;  // nobody sees anything: the kernels write zeros
      body();
    });
  }

  static Array like(const Array& products) { return empty(products.shape(), dtype_of<T>, products.device()); }
  LaunchShape shape_of(const Array& products) const {
    return {dim3(static_cast<unsigned>(products.size() / rows_.columns)), dim3(kRowThreads)};
  }

  static void multiply_into(const Array& a, const Array& b, kernels::MatmulOptions options, const Array& c) {
    launch<kernels::Matmul>(c.device(), a, b, Array(), options, c);
  }
  // a: (batch, groups, share, m, k).
  static Array multiplied(const Array& a, const Array& b, kernels::MatmulOptions options, Dtype dtype) {
    const Shape& s = a.shape();
    const Array c = empty({s[0], s[1], s[2], s[3], b.shape()[options.transb ? 3 : 4]}, dtype, a.device());
    multiply_into(a, b, options, c);
    return c;
  }

  // sum (batch, groups, columns, width) += over all heads of a group and queries: weights^T x, x dense (batch, heads,
  // queries, width).
  void add_of_heads(const Array& weights, const Array& x, const Array& sum) const {
    const AttentionPart& p = part();
    const int64_t rows = p.heads / p.groups * p.queries;
    const Array product = empty(sum.shape(), dtype_of<C>, sum.device());
    multiply_into(weights.reshape({p.batch, p.groups, rows, rows_.columns}),
                  x.reshape({p.batch, p.groups, rows, x.shape()[3]}), {.transa = true}, product);
    pointwise_to(sum, kernels::Add{}, sum, product);
  }

  Context& context_;
  Array q_, k_, v_;
  ScoreRows rows_{};
};

void attention(Params<AttentionForm> form, In q, In k, In v, In mask, In lengths, In stream, Out y, Out lse) {
  if (y->size() == 0) return;
  const FlashInputs inputs{*form, *q, *k, *v, *mask, *lengths, *stream};
  if (takes_flash_attention(inputs)) return flash_attention(inputs, *y, *lse);
  visit_floating(q->dtype(),
                 [&]<class T>() { Attention<T>(*form, *q, *k, *v, *mask, *lengths, *stream).forward(*y, *lse); });
}

void filled_attention(Params<AttentionForm> form, Params<HiddenScores> hidden, In q, In k, In v, In mask, In fill,
                      Out y) {
  if (y->size() == 0) return;
  Attention<float> attention(*form, *q, *k, *v, *mask, Array(), Array());
  attention.hide(*hidden, *fill);
  attention.forward(*y, Array());
}

void attention_gradient(Params<AttentionForm> form, In q, In k, In v, In mask, In lengths, In y, In lse, In stream,
                        In gy, Out gq, Out gk, Out gv) {
  if (gy->size() == 0) {
    for (const Array* g : {&*gq, &*gk, &*gv}) g->fill(0.0);
    return;
  }
  const FlashInputs inputs{*form, *q, *k, *v, *mask, *lengths, *stream};
  if (takes_flash_attention(inputs)) return flash_attention_gradient(inputs, *y, *lse, *gy, *gq, *gk, *gv);
  visit_floating(q->dtype(), [&]<class T>() {
    Attention<T>(*form, *q, *k, *v, *mask, *lengths, *stream).backward(*y, *lse, *gy, *gq, *gk, *gv);
  });
}

// What flash attention does not give: in float32 for the half types, so that sums over many scores are.
void attention_bias_gradient(Params<AttentionForm> form, In q, In k, In v, In mask, In lengths, In y, In lse, In stream,
                             In gy, Out gbias) {
  gbias->fill(0.0);
  if (gy->size() == 0 || mask->size() == 0) return;
  const auto wide = [&](const Array& x) { return x.astype(lse->dtype()); };
  const auto run = [&]<class T>(Attention<T> attention) { attention.bias_gradient(wide(*y), *lse, wide(*gy), *gbias); };
  if (lse->dtype() == Dtype::float64) {
    run(Attention<double>(*form, *q, *k, *v, *mask, *lengths, *stream));
  } else {
    run(Attention<float>(*form, wide(*q), wide(*k), wide(*v), *mask, *lengths, *stream));
  }
}

}  // namespace

void register_attention(Backend& backend) {
  backend.add<kernels::Attention>(attention);
  backend.add<kernels::FilledAttention>(filled_attention);
  backend.add<kernels::AttentionGradient>(attention_gradient);
  backend.add<kernels::AttentionBiasGradient>(attention_bias_gradient);
}

}  // namespace kusari::cuda
