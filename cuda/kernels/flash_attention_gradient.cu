#include "kusari/cuda/kernels/flash_attention.h"
#include "kusari/cuda/kernels/flash_dropout.cuh"
#include "kusari/cuda/kernels/flash_launch.cuh"
#include "kusari/cuda/kernels/flash_tiles.cuh"
#include "kusari/cuda/kernels/launch.cuh"

// Weights are computed once more from the logarithms of their sums: by the kernel of gq with a block for each 64
// queries, then by that of gk and gv with one for each 64 keys, so that every sum has one order.
namespace kusari::cuda {
namespace {

/// What the gradients of a query's scores need: weight = 2^(score log2(e) - shift), gradient = weight (that of the
/// weight - delta).
struct alignas(8) QueryFacts {
  float shift;  // +inf for a query that sees no key
  float delta;  // sum of y gy
};

// Rows of a tile of the side that a kernel loops over: as many as the registers have room for.
template <int W>
constexpr int kGradientTile = W == 64 ? 64 : 32;
// Blocks that share a multiprocessor, as far as their registers do without memory.
template <int W, FlashKind kKind>
constexpr int kGradientBlocks = W == 64 && kKind == FlashKind::plain ? 3 : 2;

/// Products become weights, products of gy and v the gradients of scaled scores. facts(i): of number i's query.
template <FlashKind kKind, bool kTransposed, int N, class Facts>
__device__ __forceinline__ void to_gradients(float (&s)[N][4], float (&gradients)[N][4],
                                             const ScorePlaces<kTransposed>& places, const FlashCall& call, int batch,
                                             int head, const Facts& facts) {
  const float factor = kKind == FlashKind::masked ? 1.0f : call.scale * kLog2E;
  uint32_t kept = ~uint32_t{0};
  float growth = 1;
  if constexpr (kKind != FlashKind::plain) {
    if (call.dropout.ratio > 0) {
      kept = kept_bits<N>(places, call, batch, head);
      growth = call.dropout.factor<float>();
    }
  }
#pragma unroll
  for (int i = 0; i < 4 * N; ++i) {
    float &weight = s[i / 4][i % 4], &gradient = gradients[i / 4][i % 4];
    const QueryFacts query = facts(i);
    const float p = exp2_fast(weight * factor - query.shift);
    if constexpr (kKind != FlashKind::plain) {
      const float grown = (kept >> i & 1) != 0 ? growth : 0.0f;
      weight = p * grown;
      gradient = p * (gradient * grown - query.delta);
    } else {
      weight = p;
      gradient = p * (gradient - query.delta);
    }
  }
}

/// A block for 64 queries of a head. Writes the facts of its queries too.
template <class T, int W, FlashKind kKind>
__global__ void __launch_bounds__(kFlashThreads, (kGradientBlocks<W, kKind>))
    flash_query_gradient(const FlashCall call, const FlashMatrix y, const FlashMatrix gy, const FlashMatrix gq,
                         const float* const lse, QueryFacts* const all_facts) {
  constexpr int kKeys = kGradientTile<W>;
  KUSARI_DYNAMIC_SHARED(uint16_t, shared);
  const TilePairs<W, kKeys> tiles{shared};
  const QueryBlock block(call);
  const SeenKeys& seen = block.seen;
  const int batch = block.batch, head = block.head, first_query = block.first_query, own_query = block.own_query;
  const auto ask = [&](int tile) { block.ask_for_keys(call, tiles, tile); };

  if (block.seen_by_last > 0) ask(0);
  LeftOperand<W / 16> q, g;
  load_operand(q, call.q, call.q.of_head(batch, head), own_query, call.queries);
  load_operand(g, gy, gy.of_head(batch, head), own_query, call.queries);
  QueryFacts facts[2] = {};
#pragma unroll
  for (int k16 = 0; k16 < W / 16; ++k16) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t ys = operand_word(y, y.of_head(batch, head), own_query, call.queries, k16, i);
      const uint32_t gs = g.words[k16][i];
      facts[i % 2].delta += low_of<T>(ys) * low_of<T>(gs) + high_of<T>(ys) * high_of<T>(gs);
    }
  }
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    facts[part].delta = sum_of_quad(facts[part].delta);
    const int query = own_query + flash_lane_row() + 8 * part;
    if (query >= call.queries) continue;
    const int64_t place = flash_place(call, batch, head, query);
    facts[part].shift = lse[place] == kNever ? -kNever : lse[place] * kLog2E;
    if (flash_lane_column() == 0) all_facts[place] = facts[part];
  }

  float sum[W / 8][4] = {};
  for (int tile = 0; tile * kKeys < block.seen_by_last; ++tile) {
    const int first_key = tile * kKeys, next_key = first_key + kKeys;
    wait_for_copies();
    __syncthreads();  // the tiles are there, and those of the last round have been read
    if (next_key < block.seen_by_last) ask(tile + 1);
    float s[kKeys / 8][4] = {}, gradients[kKeys / 8][4] = {};
    add_product_with_rows<T, W>(s, q, tiles.first(tile));
    add_product_with_rows<T, W>(gradients, g, tiles.second(tile));
    const ScorePlaces<false> places{own_query + flash_lane_row(), first_key + flash_lane_column()};
    if constexpr (kKind == FlashKind::masked) add_mask(s, places, call, batch, head);
    if (next_key > seen.of(first_query)) hide_unseen(s, places, seen);
    to_gradients<kKind>(s, gradients, places, call, batch, head, [&](int i) { return facts[i / 2 % 2]; });
    add_product_with_columns<T, W>(sum, as_operand<T>(gradients), tiles.first(tile));
  }
  store_rows<T>(sum, call.scale, call.scale, gq, gq.of_head(batch, head), own_query, call.queries);
}

/// Shared memory of the kernel of gk and gv.
template <int W>
struct KeyGradientTiles {
  static constexpr int kQueries = kGradientTile<W>, kOwn = kFlashRows * W;
  static constexpr int kBytes = 2 * kOwn * static_cast<int>(sizeof(uint16_t)) + TilePairs<W, kQueries>::kBytes +
                                2 * kQueries * static_cast<int>(sizeof(QueryFacts));
  uint16_t* shared;

  __device__ __forceinline__ uint16_t* k() const { return shared; }
  __device__ __forceinline__ uint16_t* v() const { return shared + kOwn; }
  __device__ __forceinline__ TilePairs<W, kQueries> queries() const { return {shared + 2 * kOwn}; }
  __device__ __forceinline__ QueryFacts* facts(int stage) const {
    return reinterpret_cast<QueryFacts*>(shared + 2 * kOwn + 4 * kQueries * W) + stage % 2 * kQueries;
  }
};

/// A tile of queries of one of a group's heads.
struct QueryTile {
  int head, tile;
  __device__ __forceinline__ QueryTile next(int begin, int end) const {
    return tile + 1 < end ? QueryTile{head, tile + 1} : QueryTile{head + 1, begin};
  }
};

/// A block for 64 keys of a group of heads; scores are transposed.
template <class T, int W, FlashKind kKind>
__global__ void __launch_bounds__(kFlashThreads, (kGradientBlocks<W, kKind>))
    flash_key_gradients(const FlashCall call, const FlashMatrix gy, const FlashMatrix gk, const FlashMatrix gv,
                        const QueryFacts* const all_facts) {
  constexpr int kQueries = kGradientTile<W>;
  KUSARI_DYNAMIC_SHARED(uint16_t, shared);
  const KeyGradientTiles<W> tiles{shared};
  const int batch = static_cast<int>(blockIdx.x) / call.groups, group = static_cast<int>(blockIdx.x) % call.groups;
  const int share = call.heads / call.groups;
  const int first_key = static_cast<int>(blockIdx.y) * kFlashRows;
  const SeenKeys seen(call, batch);
  // Queries from the first one on that sees a key of the block, in tiles.
  const int begin = max(first_key + 1 - seen.shift, 0) / kQueries, end = (call.queries + kQueries - 1) / kQueries;
  const int rounds = first_key < seen.count ? (end - begin) * share : 0;
  const auto ask = [&](int round, const QueryTile& at) {
    const TilePairs<W, kQueries> pairs = tiles.queries();
    const int first_query = at.tile * kQueries, i = static_cast<int>(threadIdx.x);
    ask_for_rows<kQueries, W>(pairs.first(round), call.q, call.q.of_head(batch, at.head), first_query, call.queries);
    ask_for_rows<kQueries, W>(pairs.second(round), gy, gy.of_head(batch, at.head), first_query, call.queries);
    if (i >= kQueries) return;
    const bool is_there = first_query + i < call.queries;
    const QueryFacts* const of_head = all_facts + flash_place(call, batch, at.head, 0);
    copy_async<8>(tiles.facts(round) + i, is_there ? of_head + first_query + i : of_head, is_there);
  };

  QueryTile at{group * share, begin};
  if (rounds > 0) {
    ask_for_rows<kFlashRows, W>(tiles.k(), call.k, call.k.of_head(batch, group), first_key, seen.count);
    ask_for_rows<kFlashRows, W>(tiles.v(), call.v, call.v.of_head(batch, group), first_key, seen.count);
    ask(0, at);
  }
  float sum_k[W / 8][4] = {}, sum_v[W / 8][4] = {};
  for (int round = 0; round < rounds; ++round) {
    const QueryTile next = at.next(begin, end);
    wait_for_copies();
    __syncthreads();  // the tiles are there, and those of the last round have been read
    if (round + 1 < rounds) ask(round + 1, next);
    const uint16_t *const q = tiles.queries().first(round), *const g = tiles.queries().second(round);
    float s[kQueries / 8][4] = {}, gradients[kQueries / 8][4] = {};
    add_product_with_rows<T, W>(s, TileOperand<W>{tiles.k(), flash_warp_row()}, q);
    add_product_with_rows<T, W>(gradients, TileOperand<W>{tiles.v(), flash_warp_row()}, g);
    const int first_query = at.tile * kQueries;
    const ScorePlaces<true> places{first_key + flash_warp_row() + flash_lane_row(), first_query + flash_lane_column()};
    if constexpr (kKind == FlashKind::masked) add_mask(s, places, call, batch, at.head);
    if (first_key + kFlashRows > seen.of(first_query)) hide_unseen(s, places, seen);
    const QueryFacts* const facts = tiles.facts(round) + flash_lane_column();
    to_gradients<kKind>(s, gradients, places, call, batch, at.head, [&](int i) { return facts[i / 4 * 8 + i % 2]; });
    add_product_with_columns<T, W>(sum_v, as_operand<T>(s), g);
    add_product_with_columns<T, W>(sum_k, as_operand<T>(gradients), q);
    at = next;
  }
  const int own_key = first_key + flash_warp_row();
  store_rows<T>(sum_k, call.scale, call.scale, gk, gk.of_head(batch, group), own_key, call.keys);
  store_rows<T>(sum_v, 1.0f, 1.0f, gv, gv.of_head(batch, group), own_key, call.keys);
}

}  // namespace

void flash_attention_gradient(const FlashInputs& in, const Array& y, const Array& lse, const Array& gy, const Array& gq,
                              const Array& gk, const Array& gv) {
  const Array from_y = readable_rows(y), from_gy = readable_rows(gy);
  const Array to_q = writable_rows(gq), to_k = writable_rows(gk), to_v = writable_rows(gv);
  const int64_t batch = in.q.shape()[0];
  const FlashCall call = flash_call(in);
  Context& context = Context::of(in.q);
  const Scratch scratch(context, static_cast<size_t>(lse.size()) * sizeof(QueryFacts));
  auto* const facts = scratch.data<QueryFacts>();
  visit_flash(in, [&]<class T, int W, FlashKind kKind>() {
    enqueue_flash(context, batch * call.heads, call.queries, TilePairs<W, kGradientTile<W>>::kBytes,
                  flash_query_gradient<T, W, kKind>, call, flash_matrix(from_y), flash_matrix(from_gy),
                  flash_matrix(to_q), lse.data<float>(), facts);
    enqueue_flash(context, batch * call.groups, call.keys, KeyGradientTiles<W>::kBytes,
                  flash_key_gradients<T, W, kKind>, call, flash_matrix(from_gy), flash_matrix(to_k), flash_matrix(to_v),
                  facts);
  });
  for (const auto& [written, wanted] : {std::pair{&to_q, &gq}, std::pair{&to_k, &gk}, std::pair{&to_v, &gv}}) {
    if (!written->is_same(*wanted)) wanted->copy_from(*written);
  }
}

}  // namespace kusari::cuda
