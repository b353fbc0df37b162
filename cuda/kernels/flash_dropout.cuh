#pragma once

#include <cstdint>

#include "kusari/cuda/kernels/flash_tiles.cuh"

// Which weights of a tile of scores dropout keeps. A block of the generator has the words of four keys, so the lanes of
// a warp draw for each other.
namespace kusari::cuda {

/// Bit i: whether the weight at place + i is kept, of kCount consecutive places. Only blocks `first_block`,
/// first_block + step, ... are drawn, other bits are 0.
template <int kCount>
__device__ __forceinline__ uint64_t kept_of_places(const AttentionDropout& dropout, int64_t place, int first_block,
                                                   int step) {
  const uint64_t at = dropout.first() + static_cast<uint64_t>(place);
  const int before = static_cast<int>(at % 4);  // words of the first block that belong to earlier places
  uint64_t bits = 0;
#pragma unroll 2  // a block is a long chain
  for (int block = first_block; 4 * block < before + kCount; block += step) {
    const PhiloxBlock words = dropout.block(at / 4 + static_cast<uint64_t>(block));
    uint32_t four = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) four |= static_cast<uint32_t>(dropout.keeps(words.word[i])) << i;
    bits |= block == 0 ? uint64_t{four >> before} : uint64_t{four} << (4 * block - before);
  }
  return kCount < 64 ? bits & ((uint64_t{1} << kCount % 64) - 1) : bits;
}

/// Bit i: whether the weight of number i is kept, where lanes' rows are queries and `places` those of a tile of 8 N
/// keys. The four lanes that share their rows draw every fourth block each.
template <int N>
__device__ __forceinline__ uint32_t kept_bits(const ScorePlaces<false>& places, const FlashCall& call, int batch,
                                              int head) {
  const int column = flash_lane_column();
  uint32_t bits = 0;
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    const int64_t query = flash_place(call, batch, head, places.first_row + 8 * part);
    const int64_t place = query * call.keys + places.first_column - column;
    uint64_t of_row = kept_of_places<8 * N>(call.dropout, place, column / 2, 4);
    of_row |= shuffle_xor(of_row, 1);
    of_row |= shuffle_xor(of_row, 2);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      bits |= (static_cast<uint32_t>(of_row >> (8 * n + column)) & 3u) << (4 * n + 2 * part);
    }
  }
  return bits;
}

/// The same where rows are keys, and columns 8 N queries: each lane draws for the warp's 16 keys of N / 4 queries.
template <int N>
__device__ __forceinline__ uint32_t kept_bits(const ScorePlaces<true>& places, const FlashCall& call, int batch,
                                              int head) {
  static_assert(N == 4 || N == 8);
  const int lane = static_cast<int>(threadIdx.x) % kWarp, row = flash_lane_row(), column = flash_lane_column();
  uint32_t drawn = 0;
#pragma unroll
  for (int part = 0; part < N / 4; ++part) {
    const int64_t query = flash_place(call, batch, head, places.first_column - column + kWarp * part + lane);
    const uint64_t of_query = kept_of_places<16>(call.dropout, query * call.keys + places.first_row - row, 0, 1);
    drawn |= static_cast<uint32_t>(of_query) << (16 * part);
  }
  uint32_t bits = 0;
#pragma unroll
  for (int n = 0; n < N; ++n) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const uint32_t of_query = __shfl_sync(kAllLanes, drawn, (8 * n + column + c) % kWarp) >> (16 * (n / 4) + row);
      bits |= (of_query & 1u) << (4 * n + c) | (of_query >> 8 & 1u) << (4 * n + 2 + c);
    }
  }
  return bits;
}

}  // namespace kusari::cuda
