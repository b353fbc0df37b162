#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/attention.h"
#include "kusari/framework/cpu/bfloat16_gemm.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

using Bfloat16Bits = unsigned short;  // a bfloat16
using BitRows = HeadRows<Bfloat16Bits>;

constexpr float kNever = -std::numeric_limits<float>::infinity();

void round_to(const float* from, Bfloat16Bits* to, int64_t n) {
  static const ConvertLoop convert = convert_loop(Dtype::float32, Dtype::bfloat16);
  convert(from, to, n);
}
void widen_to(const Bfloat16Bits* from, float* to, int64_t n) {
  static const ConvertLoop convert = convert_loop(Dtype::bfloat16, Dtype::float32);
  convert(from, to, n);
}

// Rows of one head as the right factor of products, packed by blocks.
class PackedRows {
 public:
  // block: rows of each, no matter how many there are. is_transposed: the rows are the columns of the factor.
  PackedRows(int64_t rows, int64_t width, int64_t block, bool is_transposed)
      : rows_{rows},
        width_{width},
        block_{block},
        is_transposed_{is_transposed},
        size_{is_transposed ? bfloat16_packed_size(width, block) : bfloat16_packed_size(block, width)} {}

  int64_t size() const { return ceil_divide(rows_, block_) * size_; }
  void pack(const BitRows& from, int64_t first, Bfloat16Bits* to) const {
    if (is_transposed_) {
      bfloat16_gemm().pack(from.at(first), 1, from.row, width_, rows_from(first), at(to, first));
    } else {
      bfloat16_gemm().pack(from.at(first), from.row, 1, rows_from(first), width_, at(to, first));
    }
  }
  void pack_all(const BitRows& from, Bfloat16Bits* to) const {
    for (int64_t first = 0; first < rows_; first += block_) pack(from, first, to);
  }
  // c (m, n) (+)= a b, of the block that begins with row `first`.
  void multiply(int64_t m, int64_t n, int64_t k, const BitRows& a, const Bfloat16Bits* packed, int64_t first, float* c,
                int64_t c_row, bool add) const {
    const Bfloat16Bits* const b = packed + first / block_ * size_;
    bfloat16_gemm().multiply_tile({m, n, k, a.data, a.row, false, b, depth(first), c, c_row, add, nullptr, nullptr, 0});
  }
  // The same with a packed.
  void multiply_packed(int64_t m, int64_t n, int64_t k, const Bfloat16Bits* a, const Bfloat16Bits* packed,
                       int64_t first, float* c, int64_t c_row, bool add) const {
    const Bfloat16Bits* const b = packed + first / block_ * size_;
    bfloat16_gemm().multiply_tile({m, n, k, a, 0, true, b, depth(first), c, c_row, add, nullptr, nullptr, 0});
  }

 private:
  int64_t rows_from(int64_t first) const { return std::min(block_, rows_ - first); }
  int64_t depth(int64_t first) const { return is_transposed_ ? width_ : rows_from(first); }
  Bfloat16Bits* at(Bfloat16Bits* packed, int64_t first) const { return packed + first / block_ * size_; }

  int64_t rows_, width_, block_;
  bool is_transposed_;
  int64_t size_;
};

// The keys and values of one head, of which later ones than the sequence has are not read.
struct PackedKeys {
  PackedRows keys, values;
  Bfloat16Bits *packed_keys, *packed_values;
};

// The first key of the packed block that has the first one that queries from number i on see.
int64_t first_block(const AttentionProblem<float>& p, int64_t i) { return p.first_seen(i) / kKeyBlock * kKeyBlock; }

void forward_in_bfloat16(const AttentionProblem<float>& p, int64_t b, int64_t h, int64_t i, const BitRows& q,
                         const PackedKeys& packed, const BitRows& y, float* lse) {
  const AttentionLoop<float>& loop = attention_tables<float>().attention;
  const int64_t rows = std::min(kQueryBlock, p.queries - i), count = p.seen(i + rows, p.keys_of(b));
  const int64_t width = p.value_width;
  const Scratch<float> scores(rows * kKeyBlock), values(rows * width), sums(rows * width),
      kept(p.form.dropout > 0 ? kKeyBlock : 0);
  const Scratch<Bfloat16Bits> rounded(rows * kKeyBlock);
  float largest[kQueryBlock], sum[kQueryBlock];
  std::fill_n(largest, rows, kNever);
  std::fill_n(sum, rows, 0.0f);
  std::fill_n(sums.get(), rows * width, 0.0f);
  for (int64_t j = first_block(p, i); j < count; j += kKeyBlock) {
    const int64_t columns = std::min(kKeyBlock, count - j);
    float* const s = scores.get();
    packed.keys.multiply(rows, columns, p.width, {q.at(i), q.row}, packed.packed_keys, j, s, kKeyBlock, false);
    const float scale = p.masked(s, kKeyBlock, b, h, i, rows, j, columns);
    float factor[kQueryBlock];
    for (int64_t r = 0; r < rows; ++r) {
      float* const row = s + r * kKeyBlock;
      const float before = largest[r], now = largest_score(before, row, scale, columns);
      largest[r] = now;
      factor[r] = 1;
      if (now == kNever) {  // nothing is seen yet
        std::fill_n(row, columns, 0.0f);
      } else {
        factor[r] = std::exp(before - now);
        sum[r] = sum[r] * factor[r] + loop.exponentials(row, scale, now, columns);
        if (p.form.dropout > 0) {
          p.kept(kept.get(), b, h, i + r, j, columns);
          loop.multiply(row, kept.get(), columns);
        }
      }
      round_to(row, rounded.get() + r * kKeyBlock, columns);
    }
    packed.values.multiply(rows, width, columns, {rounded.get(), kKeyBlock}, packed.packed_values, j, values.get(),
                           width, false);
    for (int64_t r = 0; r < rows; ++r) {
      loop.scale_and_add(sums.get() + r * width, factor[r], values.get() + r * width, width);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    float* const row = sums.get() + r * width;
    if (!(sum[r] == 0)) loop.scale(row, 1 / sum[r], width);
    round_to(row, y.at(i + r), width);
    if (lse != nullptr) lse[i + r] = sum[r] == 0 ? kNever : largest[r] + std::log(sum[r]);
  }
}

// The gradients of one head of keys, whose sums are kept in float32.
class HeadGradient {
 public:
  HeadGradient(const AttentionProblem<float>& p, int64_t b, const BitRows& k, const BitRows& v)
      : p_{p},
        b_{b},
        count_{p.keys_of(b)},
        keys_by_columns_{count_, p.width, kKeyBlock, true},
        values_by_columns_{count_, p.value_width, kKeyBlock, true},
        keys_{count_, p.width, kKeyBlock, false},
        packed_(keys_by_columns_.size() + values_by_columns_.size() + keys_.size()),
        gk_(p.keys * p.width),
        gv_(p.keys * p.value_width) {
    keys_by_columns_.pack_all(k, packed_.get());
    values_by_columns_.pack_all(v, packed_values());
    keys_.pack_all(k, packed_key_rows());
    std::fill_n(gk_.get(), p.keys * p.width, 0.0f);
    std::fill_n(gv_.get(), p.keys * p.value_width, 0.0f);
  }

  // Adds what comes through one head of queries, and computes the gradient of these.
  void add(int64_t h, const BitRows& q, const BitRows& y, const float* lse, const BitRows& gy, const BitRows& gq) {
    for (int64_t i = 0; i < p_.queries; i += kQueryBlock) add_block(h, i, q, y, lse, gy, gq);
  }

  void write(const BitRows& gk, const BitRows& gv) const {
    for (int64_t j = 0; j < p_.keys; ++j) {
      round_to(gk_.get() + j * p_.width, gk.at(j), p_.width);
      round_to(gv_.get() + j * p_.value_width, gv.at(j), p_.value_width);
    }
  }

 private:
  Bfloat16Bits* packed_values() const { return packed_.get() + keys_by_columns_.size(); }
  Bfloat16Bits* packed_key_rows() const { return packed_values() + values_by_columns_.size(); }

  void add_block(int64_t h, int64_t i, const BitRows& q, const BitRows& y, const float* lse, const BitRows& gy,
                 const BitRows& gq) {
    const AttentionLoop<float>& loop = attention_tables<float>().attention;
    const int64_t rows = std::min(kQueryBlock, p_.queries - i), count = p_.seen(i + rows, count_);
    const int64_t width = p_.width, value_width = p_.value_width;
    const Scratch<float> scores(2 * kQueryBlock * kKeyBlock), products(rows * std::max(width, 2 * value_width)),
        kept(p_.form.dropout > 0 ? kKeyBlock : 0);
    const PackedRows queries(rows, width, rows, false), outputs(rows, value_width, rows, false),
        factors(rows, kKeyBlock, rows, false);
    const Scratch<Bfloat16Bits> rounded(2 * kQueryBlock * kKeyBlock),
        packed(queries.size() + outputs.size() + factors.size());
    float *const s = scores.get(), *const g = s + kQueryBlock * kKeyBlock;
    Bfloat16Bits *const s_bits = rounded.get(), *const g_bits = s_bits + kQueryBlock * kKeyBlock;
    Bfloat16Bits *const packed_q = packed.get(), *const packed_gy = packed_q + queries.size(),
                        *const turned = packed_gy + outputs.size();
    queries.pack({q.at(i), q.row}, 0, packed_q);
    outputs.pack({gy.at(i), gy.row}, 0, packed_gy);
    float deltas[kQueryBlock];
    for (int64_t r = 0; r < rows; ++r) {
      float *const left = products.get(), *const right = left + value_width;
      widen_to(y.at(i + r), left, value_width);
      widen_to(gy.at(i + r), right, value_width);
      deltas[r] = attention_tables<float>().rows.dot(left, right, value_width);
    }
    std::fill_n(products.get(), rows * width, 0.0f);
    for (int64_t j = first_block(p_, i); j < count; j += kKeyBlock) {
      const int64_t columns = std::min(kKeyBlock, count - j);
      keys_by_columns_.multiply(rows, columns, width, {q.at(i), q.row}, packed_.get(), j, s, kKeyBlock, false);
      values_by_columns_.multiply(rows, columns, value_width, {gy.at(i), gy.row}, packed_values(), j, g, kKeyBlock,
                                  false);
      const float scale = p_.masked(s, kKeyBlock, b_, h, i, rows, j, columns);
      for (int64_t r = 0; r < rows; ++r) {
        float *const s_row = s + r * kKeyBlock, *const g_row = g + r * kKeyBlock;
        if (lse[i + r] == kNever) {
          std::fill_n(s_row, columns, 0.0f);
          std::fill_n(g_row, columns, 0.0f);
        } else {
          if (p_.form.dropout > 0) p_.kept(kept.get(), b_, h, i + r, j, columns);
          loop.gradient(s_row, g_row, kept.get(), scale, lse[i + r], deltas[r], columns);
          // The scores were scaled before a mask was added.
          if (p_.mask.is_defined()) loop.scale(g_row, static_cast<float>(p_.form.scale), columns);
        }
        round_to(s_row, s_bits + r * kKeyBlock, columns);
        round_to(g_row, g_bits + r * kKeyBlock, columns);
      }
      bfloat16_gemm().pack(s_bits, kKeyBlock, 1, rows, columns, turned);
      outputs.multiply_packed(columns, value_width, rows, turned, packed_gy, 0, gv_.get() + j * value_width,
                              value_width, true);
      bfloat16_gemm().pack(g_bits, kKeyBlock, 1, rows, columns, turned);
      queries.multiply_packed(columns, width, rows, turned, packed_q, 0, gk_.get() + j * width, width, true);
      keys_.multiply(rows, width, columns, {g_bits, kKeyBlock}, packed_key_rows(), j, products.get(), width, true);
    }
    for (int64_t r = 0; r < rows; ++r) round_to(products.get() + r * width, gq.at(i + r), width);
  }

  const AttentionProblem<float>& p_;
  int64_t b_, count_;
  PackedRows keys_by_columns_, values_by_columns_, keys_;
  Scratch<Bfloat16Bits> packed_;
  Scratch<float> gk_, gv_;
};

}  // namespace

void attend_bfloat16(const AttentionProblem<float>& p, const Array& q, const Array& k, const Array& v, const Array& y,
                     const Array& lse) {
  const int64_t batch = q.shape()[0], share = p.heads / p.groups, key_blocks = ceil_divide(p.keys, kKeyBlock);
  const int64_t key_size = PackedRows(p.keys, p.width, kKeyBlock, true).size(),
                value_size = PackedRows(p.keys, p.value_width, kKeyBlock, false).size();
  const Scratch<Bfloat16Bits> packed(batch * p.groups * (key_size + value_size));
  const auto keys_of_head = [&](int64_t b, int64_t group) {
    const int64_t count = p.keys_of(b);
    Bfloat16Bits* const to = packed.get() + (b * p.groups + group) * (key_size + value_size);
    return PackedKeys{{count, p.width, kKeyBlock, true}, {count, p.value_width, kKeyBlock, false}, to, to + key_size};
  };
  parallel_for(batch * p.groups * key_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t b = at / key_blocks / p.groups, group = at / key_blocks % p.groups;
      const int64_t first = at % key_blocks * kKeyBlock;
      if (first < first_block(p, 0) || first >= p.keys_of(b)) continue;
      const PackedKeys head = keys_of_head(b, group);
      head.keys.pack(head_of<Bfloat16Bits>(k, b, group), first, head.packed_keys);
      head.values.pack(head_of<Bfloat16Bits>(v, b, group), first, head.packed_values);
    }
  });
  const int64_t blocks = ceil_divide(p.queries, kQueryBlock);
  parallel_for(batch * p.heads * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t b = at / blocks / p.heads, h = at / blocks % p.heads;
      // From the block that sees most keys, so that the last to be taken are short.
      const int64_t i = (blocks - 1 - at % blocks) * kQueryBlock;
      float* const own_lse = lse.is_defined() ? lse.data<float>() + (b * p.heads + h) * p.queries : nullptr;
      forward_in_bfloat16(p, b, h, i, head_of<Bfloat16Bits>(q, b, h), keys_of_head(b, h / share),
                          head_of<Bfloat16Bits>(y, b, h), own_lse);
    }
  });
}

void attention_gradient_bfloat16(const AttentionProblem<float>& p, const Array& q, const Array& k, const Array& v,
                                 const Array& y, const Array& lse, const Array& gy, const Array& gq, const Array& gk,
                                 const Array& gv) {
  const int64_t share = p.heads / p.groups;
  parallel_for(q.shape()[0] * p.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t b = at / p.groups, group = at % p.groups;
      HeadGradient gradient(p, b, head_of<Bfloat16Bits>(k, b, group), head_of<Bfloat16Bits>(v, b, group));
      for (int64_t h = group * share; h < (group + 1) * share; ++h) {
        gradient.add(h, head_of<Bfloat16Bits>(q, b, h), head_of<Bfloat16Bits>(y, b, h),
                     lse.data<float>() + (b * p.heads + h) * p.queries, head_of<Bfloat16Bits>(gy, b, h),
                     head_of<Bfloat16Bits>(gq, b, h));
      }
      gradient.write(head_of<Bfloat16Bits>(gk, b, group), head_of<Bfloat16Bits>(gv, b, group));
    }
  });
}

}  // namespace kusari::cpu
