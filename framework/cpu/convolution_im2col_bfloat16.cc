#include <algorithm>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/bfloat16_gemm.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/convolution_im2col.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/convolution.h"
#include "kusari/framework/cpu/scratch.h"

namespace kusari::cpu {
namespace {

using Bits = unsigned short;

constexpr int64_t kPanel = kBfloat16Panel;
constexpr int64_t kPieceRows = 256;           // panels of so many rows of both matrices fit the first-level cache
constexpr int64_t kTile = 128;                // channels and columns of a product
constexpr int64_t kCopiedColumns = 512;       // that are gathered and packed at a time
constexpr int64_t kFewTasks = 16;             // below so many products, rows are summed in parts
constexpr int64_t kPackedElements = 1 << 19;  // of both matrices together, where one piece is less
constexpr int64_t kSumChunk = 1 << 15;

const ConvolutionLoops& loops() {
  static const ConvolutionLoops& chosen = *KUSARI_LOOPS(isa(), convolution_loops);
  return chosen;
}

// gW (channels of y, columns) = gy^T times the matrix of patches of x. Some pieces of rows of both are packed at a
// time, for all products. The order of summation depends on the sizes alone.
class FilterGradient {
 public:
  FilterGradient(const ConvolutionProblem& p, const ConvolutionArrays& a)
      : p_{p},
        patches_{p, 0, 0, p.in[0]},
        x_{static_cast<const Bits*>(a.x)},
        y_{static_cast<const Bits*>(a.y)},
        is_plain_{is_matrix_product(p)},
        rows_{p.batch * p.out_size()},
        channels_{p.out_channels},
        columns_{p.kernel_size() * p.in_channels},
        tiles_down_{ceil_divide(channels_, kTile)},
        tiles_across_{ceil_divide(columns_, kTile)},
        parts_{std::clamp<int64_t>(kFewTasks / (tiles_down_ * tiles_across_), 1, ceil_divide(rows_, 4 * kPieceRows))},
        part_rows_{round_up(ceil_divide(rows_, parts_), kPieceRows)},
        y_piece_{bfloat16_packed_size(kPieceRows, channels_)},
        x_piece_{bfloat16_packed_size(kPieceRows, columns_)} {}

  void to(void* w) const {
    const bool is_direct = p_.w_element() == Dtype::float32;
    const int64_t size = channels_ * columns_;
    const Scratch<float> others((parts_ - (is_direct ? 1 : 0)) * size);
    float* const first = is_direct ? static_cast<float*>(w) : others.get();
    float* const rest = others.get() + (is_direct ? 0 : size);
    const auto sum = [&](int64_t part) { return part == 0 ? first : rest + (part - 1) * size; };

    const int64_t pieces =
        std::clamp<int64_t>(kPackedElements / (parts_ * (y_piece_ + x_piece_)), 1, ceil_divide(part_rows_, kPieceRows));
    const Scratch<Bits> packed(parts_ * pieces * (y_piece_ + x_piece_));
    for (int64_t begin = 0; begin < part_rows_; begin += pieces * kPieceRows) {
      pack(begin, pieces, packed.get());
      multiply(begin, pieces, packed.get(), sum);
    }

    parallel_for(size, kSumChunk, [&](int64_t begin, int64_t end) {
      for (int64_t part = 1; part < parts_; ++part) {
        loops().f32.add(sum(part) + begin, 0, first + begin, 0, 1, end - begin);
      }
      if (is_direct) return;
      convert_loop(Dtype::float32, p_.w_element())(first + begin, static_cast<Bits*>(w) + begin, end - begin);
    });
  }

 private:
  // Rows of both matrices.
  struct Piece {
    int64_t row, rows;
    int64_t panel() const { return bfloat16_packed_size(rows, kPanel); }
  };

  // Piece i of those whose rows begin at `begin` of each part; without rows past the end of the part.
  Piece piece(int64_t part, int64_t begin, int64_t i) const {
    const int64_t row = std::min(part * part_rows_ + begin + i * kPieceRows, rows_);
    return {row, std::clamp<int64_t>(std::min(rows_, (part + 1) * part_rows_) - row, 0, kPieceRows)};
  }
  Bits* packed_y(Bits* packed, int64_t i) const { return packed + i * (y_piece_ + x_piece_); }
  Bits* packed_x(Bits* packed, int64_t i) const { return packed_y(packed, i) + y_piece_; }

  void pack(int64_t begin, int64_t pieces, Bits* packed) const {
    const int64_t y_blocks = ceil_divide(channels_, kCopiedColumns);
    const int64_t blocks = y_blocks + ceil_divide(columns_, kCopiedColumns);
    run_tasks(parts_ * pieces * blocks, [&](int64_t task) {
      const int64_t i = task / blocks, block = task % blocks;
      const Piece some = piece(i / pieces, begin, i % pieces);
      if (some.rows == 0) return;
      if (block < y_blocks) {
        const int64_t first = block * kCopiedColumns;
        bfloat16_gemm().pack(y_ + some.row * channels_ + first, channels_, 1, some.rows,
                             std::min(kCopiedColumns, channels_ - first),
                             packed_y(packed, i) + first / kPanel * some.panel());
      } else {
        const int64_t first = (block - y_blocks) * kCopiedColumns;
        pack_patches(some, first, std::min(kCopiedColumns, columns_ - first),
                     packed_x(packed, i) + first / kPanel * some.panel());
      }
    });
  }

  void pack_patches(const Piece& some, int64_t first, int64_t n, Bits* to) const {
    if (is_plain_) return bfloat16_gemm().pack(x_ + some.row * columns_ + first, columns_, 1, some.rows, n, to);
    const Scratch<Bits> copied(some.rows * n);
    patches_.visit(some.row, some.rows, first, first + n, [&](const Patches::Run& run) {
      Bits* const target = copied.get() + run.row * n + run.column;
      if (run.source < 0) {
        loops().clear16(target, n, run.rows, run.n);
      } else {
        loops().copy16(x_ + run.source, run.source_step, target, n, run.rows, run.n);
      }
    });
    bfloat16_gemm().pack(copied.get(), n, 1, some.rows, n, to);
  }

  template <class Sum>
  void multiply(int64_t begin, int64_t pieces, Bits* packed, const Sum& sum) const {
    const int64_t tiles = tiles_down_ * tiles_across_;
    parallel_for(parts_ * tiles, 1, [&](int64_t from, int64_t end) {
      for (int64_t task = from; task < end; ++task) {
        const int64_t part = task / tiles, tile = task % tiles;
        const int64_t channel = tile % tiles_down_ * kTile, column = tile / tiles_down_ * kTile;
        for (int64_t i = 0; i < pieces; ++i) {
          const Piece some = piece(part, begin, i);
          const bool is_first = begin == 0 && i == 0;
          if (some.rows == 0 && !is_first) break;
          bfloat16_gemm().multiply_packed(packed_y(packed, part * pieces + i) + channel / kPanel * some.panel(),
                                          std::min(kTile, channels_ - channel), some.rows,
                                          packed_x(packed, part * pieces + i) + column / kPanel * some.panel(),
                                          std::min(kTile, columns_ - column), sum(part) + channel * columns_ + column,
                                          columns_, !is_first);
        }
      }
    });
  }

  const ConvolutionProblem& p_;
  Patches patches_;
  const Bits *x_, *y_;
  bool is_plain_;
  int64_t rows_, channels_, columns_;
  int64_t tiles_down_, tiles_across_;
  int64_t parts_, part_rows_;
  int64_t y_piece_, x_piece_;  // elements
};

}  // namespace

void filter_grad_im2col_bfloat16(const ConvolutionProblem& p, const ConvolutionArrays& a) {
  FilterGradient(p, a).to(a.w.data());
}

}  // namespace kusari::cpu
