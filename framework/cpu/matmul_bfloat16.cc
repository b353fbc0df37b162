#include <algorithm>
#include <cstdint>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/bfloat16_gemm.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/matmul.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

using Bfloat16 = unsigned short;

constexpr int64_t kPairsPanel = kBfloat16Panel;
// Elements of a matrix that are packed at a time, to be read by all threads from the last-level cache.
constexpr int64_t kPackedPart = int64_t{1} << 20;
constexpr int64_t kMostDepth = 2048;                 // k of such a part
constexpr int64_t kTileElements = int64_t{1} << 17;  // of a in a tile: a part of the second-level cache
constexpr int64_t kMostTileRows = 192;
constexpr int64_t kFewTiles = 16;
constexpr int64_t kPackWork = int64_t{1} << 16;  // elements that are worth a thread
constexpr int64_t kTileWork = int64_t{1} << 20;  // multiplications that are

// Rows or columns of a part that is packed at a time.
int64_t part_of(int64_t n, int64_t depth) {
  return std::min(std::max(kPackedPart / depth / kPairsPanel, int64_t{1}) * kPairsPanel, round_up(n, kPairsPanel));
}

// A part of a matrix in panels.
struct PackedPart {
  const Bfloat16* from;
  int64_t k_step, n_step;
  Bfloat16* to;

  // Rows [k, k + depth) and columns [n, n + count): column `n` is packed[0].
  void pack(int64_t k, int64_t depth, int64_t n, int64_t count, float* sums) const {
    const int64_t panels = ceil_divide(count, kPairsPanel),
                  at_once = std::max<int64_t>(1, kPackWork / (depth * kPairsPanel));
    parallel_for(panels, at_once, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kPairsPanel, columns = std::min(end * kPairsPanel, count) - first;
      Bfloat16* const packed = to + bfloat16_packed_size(depth, first);
      bfloat16_gemm().pack(from + k * k_step + (n + first) * n_step, k_step, n_step, depth, columns, packed);
      if (sums != nullptr) bfloat16_gemm().sum_rows(packed, depth, columns, sums + n + first, k > 0);
    });
  }
};

// c is computed in parts: as many columns, and of a transposed a as many rows, as are packed at a time, and in steps of
// k whose sums are kept in float32.
class PairsProduct {
 public:
  PairsProduct(const MatrixProduct& p, float* a_sums)
      : p_{p},
        a_sums_{a_sums},
        packs_a_{p.a_column != 1 || a_sums != nullptr},  // the sums are taken while it is packed
        depth_{round_up(ceil_divide(p.k, ceil_divide(p.k, kMostDepth)), 2)},
        width_{part_of(p.n, depth_)},
        height_{packs_a_ ? part_of(p.m, depth_) : p.m},
        rounds_{p.c_dtype == Dtype::bfloat16},
        packed_b_(depth_ * width_),
        packed_a_(packs_a_ ? depth_ * height_ : 0),
        sums_(rounds_ && depth_ < p.k ? p.m * std::min(width_, p.n) : 0),
        bias_(p.bias != nullptr ? p.n : 0) {
    if (p.bias != nullptr) convert_loop(p.bias_dtype, Dtype::float32)(p.bias, bias_.get(), p.n);
  }

  void run() const {
    const PackedPart a = {static_cast<const Bfloat16*>(p_.a), p_.a_column, p_.a_row, packed_a_.get()};
    const PackedPart b = {static_cast<const Bfloat16*>(p_.b), p_.b_row, p_.b_column, packed_b_.get()};
    for (int64_t column = 0; column < p_.n; column += width_) {
      const int64_t columns = std::min(width_, p_.n - column);
      for (int64_t k = 0; k < p_.k; k += depth_) {
        const int64_t depth = std::min(depth_, p_.k - k);
        b.pack(k, depth, column, columns, nullptr);
        for (int64_t row = 0; row < p_.m; row += height_) {
          const int64_t rows = std::min(height_, p_.m - row);
          if (packs_a_) a.pack(k, depth, row, rows, column == 0 ? a_sums_ : nullptr);
          multiply(row, rows, column, columns, k, depth);
        }
      }
    }
  }

 private:
  void multiply(int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t k, int64_t depth) const {
    const int64_t step = packs_a_ ? kPairsPanel : 12;  // rows of a panel, or of a block of the innermost loops
    const int64_t most = std::clamp(kTileElements / depth, kPairsPanel, kMostTileRows);
    const int64_t tile_rows = round_up(ceil_divide(rows, ceil_divide(rows, most)), step);
    const int64_t down = ceil_divide(rows, tile_rows);
    const int64_t tile_columns = round_up(ceil_divide(columns, ceil_divide(kFewTiles, down)), kPairsPanel);
    const int64_t across = ceil_divide(columns, tile_columns);
    const int64_t at_once = std::max<int64_t>(1, kTileWork / (tile_rows * tile_columns * depth));
    parallel_for(down * across, at_once, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t r = i / across * tile_rows, c = i % across * tile_columns;
        tile(row, r, std::min(tile_rows, rows - r), column, c, std::min(tile_columns, columns - c), k, depth);
      }
    });
  }

  void tile(int64_t row, int64_t r, int64_t rows, int64_t column, int64_t c, int64_t columns, int64_t k,
            int64_t depth) const {
    const bool is_last = k + depth == p_.k;
    Bfloat16Tile t;
    t.m = rows;
    t.n = columns;
    t.k = depth;
    t.a = packs_a_ ? packed_a_.get() + bfloat16_packed_size(depth, r)
                   : static_cast<const Bfloat16*>(p_.a) + (row + r) * p_.a_row + k;
    t.a_row = p_.a_row;
    t.is_a_packed = packs_a_;
    t.b = packed_b_.get() + bfloat16_packed_size(depth, c);
    t.b_depth = depth;
    const int64_t at = (row + r) * p_.c_row + column + c;
    t.c_row = rounds_ ? std::min(width_, p_.n) : p_.c_row;
    t.c = !rounds_                 ? static_cast<float*>(p_.c) + at
          : sums_.get() == nullptr ? nullptr
                                   : sums_.get() + (row + r) * t.c_row + c;
    t.add = k > 0;
    t.bias = is_last && p_.bias != nullptr ? bias_.get() + column + c : nullptr;
    t.rounded = is_last && rounds_ ? static_cast<Bfloat16*>(p_.c) + at : nullptr;
    t.rounded_row = p_.c_row;
    bfloat16_gemm().multiply_tile(t);
  }

  const MatrixProduct& p_;
  float* a_sums_;
  bool packs_a_;
  int64_t depth_, width_, height_;
  bool rounds_;
  Scratch<Bfloat16> packed_b_, packed_a_;
  Scratch<float> sums_, bias_;
};

}  // namespace

bool multiply_by_pairs(const MatrixProduct& p, float* a_sums) {
  // oneDNN reads what is nearly a vector without a copy.
  constexpr int64_t kFewRows = 8, kFewColumns = 24;
  if (!has_bfloat16_dot() || p.m < kFewRows || p.n < kFewColumns) return false;
  PairsProduct(p, a_sums).run();
  return true;
}

}  // namespace kusari::cpu
