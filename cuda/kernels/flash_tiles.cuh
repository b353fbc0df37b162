#pragma once

#include <cstdint>

#include "kusari/cuda/kernels/attention_dropout.cuh"
#include "kusari/cuda/kernels/tensor_core.cuh"

// What the kernels of fused attention are made of. A block of four warps has 64 rows of scores, each warp 16: queries,
// or keys where scores are transposed. The other side's tiles come through shared memory, one while the last one is
// computed with. N below counts accumulators of (16, 8), K left operands of (16, 16); g and t as in tensor_core.cuh.
namespace kusari::cuda {

inline constexpr int kFlashThreads = 128;
inline constexpr int kFlashRows = 64;  // of a block
inline constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;
inline constexpr float kNever = -km::Real<float>::kInfinity;

/// (batch, heads, rows, width) of 16-bit numbers, rows aligned to 16 bytes.
struct FlashMatrix {
  uint16_t* data;
  int64_t batch, head, row;  ///< strides
  int width;

  __device__ __forceinline__ uint16_t* of_head(int b, int h) const { return data + b * batch + h * head; }
};

/// bool, true where a query sees a key, or numbers that are added.
struct FlashMask {
  const void* data;  ///< null: none
  Dtype dtype;
  int64_t strides[4];
};

/// What is done with scores and weights.
enum class FlashKind : uint8_t {
  plain,
  dropped,  ///< dropout
  masked,   ///< a mask, and perhaps dropout
};

struct FlashCall {
  FlashMatrix q, k, v;
  int heads, groups, queries, keys;
  float scale;
  bool is_causal;
  const int64_t* lengths;
  FlashMask mask;
  AttentionDropout dropout;
};

__device__ __forceinline__ int flash_lane_row() { return static_cast<int>(threadIdx.x) % kWarp / 4; }  // g
__device__ __forceinline__ int flash_lane_column() { return static_cast<int>(threadIdx.x) % 4 * 2; }   // 2 t
__device__ __forceinline__ int flash_warp_row() { return static_cast<int>(threadIdx.x) / kWarp * 16; }
__device__ __forceinline__ int64_t flash_place(const FlashCall& call, int batch, int head, int query) {
  return (int64_t{batch} * call.heads + head) * call.queries + query;
}

/// How many keys, from the first one on, the queries of a sequence see.
struct SeenKeys {
  int count;  ///< there are
  int shift;  ///< query i sees shift + i of them at most

  __device__ __forceinline__ SeenKeys(const FlashCall& call, int batch) {
    count = call.keys;
    if (call.lengths != nullptr) {
      const int64_t length = call.lengths[batch];
      count = length < 0 ? 0 : length < count ? static_cast<int>(length) : count;
    }
    shift = call.is_causal ? call.keys - call.queries + 1 : 1 << 30;
  }
  __device__ __forceinline__ int of(int query) const { return min(count, shift + query); }  // may be negative
};

/// Which query and key number i of a lane's accumulators, (n, c) of i = 4 n + c, belongs to.
template <bool kTransposed>
struct ScorePlaces {
  int first_row, first_column;  ///< of the lane

  __device__ __forceinline__ int row(int i) const { return first_row + 8 * (i / 2 % 2); }
  __device__ __forceinline__ int column(int i) const { return first_column + 8 * (i / 4) + i % 2; }
  __device__ __forceinline__ int query(int i) const { return kTransposed ? column(i) : row(i); }
  __device__ __forceinline__ int key(int i) const { return kTransposed ? row(i) : column(i); }
};

// Tiles in shared memory: rows of W numbers in chunks of 8, in an order that lets eight rows' same chunk lie in
// different banks: chunk c of row r is at chunk c ^ (r % 8). The start of a lane's chunk is computed once, and others
// from it: r W + ((c + k) ^ (r % 8)) 8 = (r W + (c ^ (r % 8)) 8) ^ (8 k) where k has none of c's bits.
template <int W>
__device__ __forceinline__ int tile_place(int row, int chunk) {
  static_assert(W % 64 == 0);
  return row * W + (chunk ^ row % 8) * 8;
}

/// Asks for rows [first, first + kRows) of a head's matrix that has `count`; what lies outside is zeros.
template <int kRows, int W>
__device__ __forceinline__ void ask_for_rows(uint16_t* tile, const FlashMatrix& matrix, const uint16_t* head, int first,
                                             int count) {
  constexpr int kChunks = W / 8, kStep = kFlashThreads / kChunks;  // rows at a time, a multiple of 8
  const int row = static_cast<int>(threadIdx.x) / kChunks, chunk = static_cast<int>(threadIdx.x) % kChunks;
  const int left = chunk * 8 < matrix.width ? count - first - row : 0;
  const uint16_t* from = head + (first + row) * matrix.row + chunk * 8;
  uint16_t* const to = tile + tile_place<W>(row, chunk);
#pragma unroll
  for (int i = 0; i < kRows; i += kStep) {
    const bool is_there = i < left;
    copy_async<16>(to + i * W, is_there ? from : head, is_there);
    from += kStep * matrix.row;
  }
}

/// Rows [row, row + 16) and columns [16 k, 16 k + 16) of a tile as a left operand.
template <int W>
struct TileOperand {
  const uint16_t* tile;
  int row;
  __device__ __forceinline__ void load(uint32_t (&a)[4], int k) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    load_matrices(a, tile + (tile_place<W>(row + lane % 16, lane / 16) ^ 16 * k));
  }
};
/// The same in registers.
template <int K>
struct LeftOperand {
  uint32_t words[K][4];
  __device__ __forceinline__ void load(uint32_t (&a)[4], int k) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = words[k][i];
  }
};

/// The lane's word i of operand k: rows [first, first + 16) of a head's matrix that has `count`.
__device__ __forceinline__ uint32_t operand_word(const FlashMatrix& matrix, const uint16_t* head, int first, int count,
                                                 int k, int i) {
  const int row = first + flash_lane_row() + 8 * (i % 2), column = 16 * k + flash_lane_column() + 8 * (i / 2);
  if (row >= count || column >= matrix.width) return 0;
  return *reinterpret_cast<const uint32_t*>(head + row * matrix.row + column);
}
template <int K>
__device__ __forceinline__ void load_operand(LeftOperand<K>& a, const FlashMatrix& matrix, const uint16_t* head,
                                             int first, int count) {
#pragma unroll
  for (int k = 0; k < K; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) a.words[k][i] = operand_word(matrix, head, first, count, k, i);
  }
}
/// Sums as a left operand: their columns become its inner axis.
template <class T, int N>
__device__ __forceinline__ LeftOperand<N / 2> as_operand(const float (&x)[N][4]) {
  LeftOperand<N / 2> a;
#pragma unroll
  for (int k = 0; k < N / 2; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float(&sums)[4] = x[2 * k + i / 2];
      a.words[k][i] = narrow_two<T>(sums[i % 2 * 2], sums[i % 2 * 2 + 1]);
    }
  }
  return a;
}

/// sum += A B^T: B the first 8 N rows of a tile, of W columns.
template <class T, int W, int N, class Left>
__device__ __forceinline__ void add_product_with_rows(float (&sum)[N][4], const Left& left, const uint16_t* tile) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int place = tile_place<W>(lane / 16 * 8 + lane % 8, lane / 8 % 2);
#pragma unroll
  for (int k = 0; k < W / 16; ++k) {
    uint32_t a[4];
    left.load(a, k);
#pragma unroll
    for (int n = 0; n < N; n += 2) {
      uint32_t b[4];  // of 8 rows twice, then of the next 8
      load_matrices(b, tile + 8 * n * W + (place ^ 16 * k));
      multiply_halves<T>(sum[n], a, b[0], b[1]);
      multiply_halves<T>(sum[n + 1], a, b[2], b[3]);
    }
  }
}
/// sum += A B: B the first 16 K rows of a tile, of W columns.
template <class T, int W, int K>
__device__ __forceinline__ void add_product_with_columns(float (&sum)[W / 8][4], const LeftOperand<K>& left,
                                                         const uint16_t* tile) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int place = tile_place<W>(lane % 16, lane / 16);
#pragma unroll
  for (int k = 0; k < K; ++k) {
#pragma unroll
    for (int n = 0; n < W / 8; n += 2) {
      uint32_t b[4];  // of 16 rows' 8 columns, then of the next 8
      load_matrices_transposed(b, tile + 16 * k * W + (place ^ 8 * n));
      multiply_halves<T>(sum[n], left.words[k], b[0], b[1]);
      multiply_halves<T>(sum[n + 1], left.words[k], b[2], b[3]);
    }
  }
}

/// Tiles of two matrices of one head, and room for the next ones.
template <int W, int kRows>
struct TilePairs {
  static constexpr int kTile = kRows * W;
  static constexpr int kBytes = 4 * kTile * static_cast<int>(sizeof(uint16_t));
  uint16_t* tiles;

  __device__ __forceinline__ uint16_t* first(int stage) const { return tiles + stage % 2 * 2 * kTile; }
  __device__ __forceinline__ uint16_t* second(int stage) const { return first(stage) + kTile; }
};

/// The 64 queries of a head that a block computes with, and the keys that they see.
struct QueryBlock {
  int batch, head, group;
  int first_query, own_query;  ///< of the block, of the warp
  SeenKeys seen;
  int seen_by_last;       ///< keys
  const uint16_t *k, *v;  ///< of the group

  __device__ __forceinline__ explicit QueryBlock(const FlashCall& call)
      : batch{static_cast<int>(blockIdx.x) / call.heads},
        head{static_cast<int>(blockIdx.x) % call.heads},
        group{head / (call.heads / call.groups)},
        // Causal queries have the more to do the later they are: the last ones begin.
        first_query{static_cast<int>(call.is_causal ? gridDim.y - 1 - blockIdx.y : blockIdx.y) * kFlashRows},
        own_query{first_query + flash_warp_row()},
        seen{call, batch},
        seen_by_last{seen.of(min(first_query + kFlashRows, call.queries) - 1)},
        k{call.k.of_head(batch, group)},
        v{call.v.of_head(batch, group)} {}

  /// Asks for a tile of keys and of their values.
  template <int W, int kRows>
  __device__ __forceinline__ void ask_for_keys(const FlashCall& call, const TilePairs<W, kRows>& tiles,
                                               int tile) const {
    const int first = tile * kRows;
    ask_for_rows<kRows, W>(tiles.first(tile), call.k, k, first, seen.count);
    ask_for_rows<kRows, W>(tiles.second(tile), call.v, v, first, seen.count);
  }
};

/// What a query does not see becomes `never`.
template <bool kTransposed, int N>
__device__ __forceinline__ void hide_unseen(float (&s)[N][4], const ScorePlaces<kTransposed>& places,
                                            const SeenKeys& seen) {
#pragma unroll
  for (int i = 0; i < 4 * N; ++i) {
    if (places.key(i) >= seen.of(places.query(i))) s[i / 4][i % 4] = kNever;
  }
}

template <class Element, bool kTransposed, int N>
__device__ __forceinline__ void add_elements(float (&s)[N][4], const ScorePlaces<kTransposed>& places,
                                             const FlashCall& call, const Element* of_head) {
#pragma unroll
  for (int i = 0; i < 4 * N; ++i) {
    const int query = places.query(i), key = places.key(i);
    if (query >= call.queries || key >= call.keys) continue;
    const Element element = of_head[query * call.mask.strides[2] + key * call.mask.strides[3]];
    float& score = s[i / 4][i % 4];
    if constexpr (dtype_of<Element> == Dtype::bool_) {
      score = element ? score : kNever;
    } else {
      score += widen(element) * kLog2E;
    }
  }
}
/// Products become scores times log2(e), with the mask.
template <bool kTransposed, int N>
__device__ __forceinline__ void add_mask(float (&s)[N][4], const ScorePlaces<kTransposed>& places,
                                         const FlashCall& call, int batch, int head) {
#pragma unroll
  for (int i = 0; i < 4 * N; ++i) s[i / 4][i % 4] *= call.scale * kLog2E;
  if (call.mask.data == nullptr) return;
  const int64_t first = batch * call.mask.strides[0] + head * call.mask.strides[1];
  const auto add = [&](const auto* elements) { add_elements(s, places, call, elements + first); };
  switch (call.mask.dtype) {
    case Dtype::bool_:
      return add(static_cast<const bool*>(call.mask.data));
    case Dtype::float16:
      return add(static_cast<const float16*>(call.mask.data));
    case Dtype::bfloat16:
      return add(static_cast<const bfloat16*>(call.mask.data));
    default:
      return add(static_cast<const float*>(call.mask.data));
  }
}

/// Rows [first, first + 16) of a head's matrix that has `count`: the sums times the factors of the lane's two rows.
template <class T, int N>
__device__ __forceinline__ void store_rows(const float (&sum)[N][4], float factor, float factor_below,
                                           const FlashMatrix& matrix, uint16_t* head, int first, int count) {
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    const int row = first + flash_lane_row() + 8 * part;
    const float f = part == 0 ? factor : factor_below;
    if (row >= count) continue;
    uint16_t* const to = head + row * matrix.row + flash_lane_column();
#pragma unroll
    for (int n = 0; n < N; ++n) {
      if (8 * n >= matrix.width) break;
      *reinterpret_cast<uint32_t*>(to + 8 * n) = narrow_two<T>(sum[n][2 * part] * f, sum[n][2 * part + 1] * f);
    }
  }
}

/// The sum over the four lanes that share their rows.
__device__ __forceinline__ float sum_of_quad(float x) {
  x += shuffle_xor(x, 1);
  return x + shuffle_xor(x, 2);
}

}  // namespace kusari::cuda
