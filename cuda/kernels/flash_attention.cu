#include "kusari/cuda/kernels/flash_attention.h"

#include <cmath>

#include "kusari/cuda/kernels/flash_dropout.cuh"
#include "kusari/cuda/kernels/flash_launch.cuh"
#include "kusari/cuda/kernels/flash_tiles.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/framework/core/fusions.h"

namespace kusari::cuda {
namespace {

constexpr int kForwardKeys = 64;  // of a tile

/// The softmax of a lane's two rows as their scores come, in exponentials of 2.
struct RunningSoftmax {
  float largest[2] = {kNever, kNever};  // scores
  float sum[2] = {0, 0};                // of exponentials, of this lane's columns

  /// Scores, to be multiplied by `factor`, become exponentials, relative to a score that y is relative to then too.
  template <int N, int M>
  __device__ __forceinline__ void take(float (&s)[N][4], float factor, float (&y)[M][4]) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int c = 2 * part;
      float now = largest[part];
#pragma unroll
      for (int n = 0; n < N; ++n) now = fmaxf(now, fmaxf(s[n][c], s[n][c + 1]));
      now = fmaxf(now, shuffle_xor(now, 1));
      now = fmaxf(now, shuffle_xor(now, 2));
      const float shift = now == kNever ? 0.0f : now * factor;
      const float decay = exp2_fast(largest[part] * factor - shift);
      largest[part] = now;
      sum[part] *= decay;
#pragma unroll
      for (int n = 0; n < N; ++n) {
        s[n][c] = exp2_fast(s[n][c] * factor - shift);
        s[n][c + 1] = exp2_fast(s[n][c + 1] * factor - shift);
        sum[part] += s[n][c] + s[n][c + 1];
      }
#pragma unroll
      for (int m = 0; m < M; ++m) {
        y[m][c] *= decay;
        y[m][c + 1] *= decay;
      }
    }
  }
};

// Blocks that share a multiprocessor, as far as their registers do without memory.
template <int W>
constexpr int kForwardBlocks = W == 64 ? 3 : 2;

/// A block for 64 queries of a head.
template <class T, int W, FlashKind kKind>
__global__ void __launch_bounds__(kFlashThreads, kForwardBlocks<W>)
    flash_forward(const FlashCall call, const FlashMatrix y, float* const lse) {
  KUSARI_DYNAMIC_SHARED(uint16_t, shared);
  const TilePairs<W, kForwardKeys> tiles{shared};
  const QueryBlock block(call);
  const SeenKeys& seen = block.seen;
  const int batch = block.batch, head = block.head, first_query = block.first_query, own_query = block.own_query;
  const auto ask = [&](int tile) { block.ask_for_keys(call, tiles, tile); };

  if (block.seen_by_last > 0) ask(0);
  LeftOperand<W / 16> q;
  load_operand(q, call.q, call.q.of_head(batch, head), own_query, call.queries);
  float sum[W / 8][4] = {};
  RunningSoftmax softmax;
  for (int tile = 0; tile * kForwardKeys < block.seen_by_last; ++tile) {
    const int first_key = tile * kForwardKeys, next_key = first_key + kForwardKeys;
    wait_for_copies();
    __syncthreads();  // the tiles are there, and those of the last round have been read
    if (next_key < block.seen_by_last) ask(tile + 1);
    float s[kForwardKeys / 8][4] = {};
    add_product_with_rows<T, W>(s, q, tiles.first(tile));
    const ScorePlaces<false> places{own_query + flash_lane_row(), first_key + flash_lane_column()};
    if constexpr (kKind == FlashKind::masked) add_mask(s, places, call, batch, head);
    if (next_key > seen.of(first_query)) hide_unseen(s, places, seen);
    softmax.take(s, kKind == FlashKind::masked ? 1.0f : call.scale * kLog2E, sum);
    if constexpr (kKind != FlashKind::plain) {
      if (call.dropout.ratio > 0) {
        const uint32_t kept = kept_bits<kForwardKeys / 8>(places, call, batch, head);
#pragma unroll
        for (int i = 0; i < kForwardKeys / 2; ++i) {
          s[i / 4][i % 4] *= (kept >> i & 1) != 0 ? call.dropout.factor<float>() : 0.0f;
        }
      }
    }
    add_product_with_columns<T, W>(sum, as_operand<T>(s), tiles.second(tile));
  }

  float factor[2];
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    const float all = sum_of_quad(softmax.sum[part]);
    const bool sees_any = all != 0;
    factor[part] = sees_any ? 1 / all : 0.0f;
    const int query = own_query + flash_lane_row() + 8 * part;
    if (lse == nullptr || flash_lane_column() != 0 || query >= call.queries) continue;
    const float largest = softmax.largest[part] * (kKind == FlashKind::masked ? kLn2 : call.scale);
    lse[flash_place(call, batch, head, query)] = sees_any ? largest + logf(all) : kNever;
  }
  store_rows<T>(sum, factor[0], factor[1], y, y.of_head(batch, head), own_query, call.queries);
}

bool takes_width(int64_t width) { return width >= 8 && width <= 128 && width % 8 == 0; }

bool takes_mask(const Array& mask) {
  return !mask.is_defined() || mask.dtype() == Dtype::bool_ || mask.dtype() == Dtype::float32 || is_half(mask.dtype());
}

/// Few queries of few heads, as of generated text, before many keys: each block goes through all keys of its head, and
/// most of the card would have none.
bool leaves_card_idle(const Shape& q, const Shape& k, int multiprocessors) {
  constexpr int64_t kFewQueries = 16, kManyKeys = 1024;
  return q[2] < kFewQueries && k[2] > kManyKeys && q[0] * q[1] < multiprocessors;
}

}  // namespace

bool takes_flash_attention(const FlashInputs& in) {
  constexpr int64_t kMostRows = int64_t{65535} * kFlashRows, kMostHeads = int64_t{1} << 30;
  constexpr double kLeastScale = 1e-30, kMostScale = 1e30;  // the maximum of scaled scores is that of the products
  const Shape &q = in.q.shape(), &k = in.k.shape();
  if (!fusions().flash_attention || !is_half(in.q.dtype())) return false;
  if (in.form.window > 0 && in.form.window < k[2]) return false;
  if (!takes_width(q[3]) || !takes_width(in.v.shape()[3]) || !takes_mask(in.mask)) return false;
  if (!(in.form.scale > kLeastScale && in.form.scale < kMostScale)) return false;
  if (q[2] > kMostRows || k[2] > kMostRows || q[0] * q[1] > kMostHeads) return false;
  if (!has_flash_rows(in.q) || !has_flash_rows(in.k) || !has_flash_rows(in.v)) return false;
  const DeviceFacts& facts = Context::of(in.q).facts();
  return facts.major >= 8 && !leaves_card_idle(q, k, facts.multiprocessors);
}

void flash_attention(const FlashInputs& in, const Array& y, const Array& lse) {
  const Array to = writable_rows(y);
  const Shape& shape = y.shape();
  visit_flash(in, [&]<class T, int W, FlashKind kKind>() {
    enqueue_flash(Context::of(y), shape[0] * shape[1], shape[2], TilePairs<W, kForwardKeys>::kBytes,
                  flash_forward<T, W, kKind>, flash_call(in), flash_matrix(to),
                  lse.is_defined() ? lse.data<float>() : nullptr);
  });
  if (!to.is_same(y)) y.copy_from(to);
}

}  // namespace kusari::cuda
