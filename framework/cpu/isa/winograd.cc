#include "kusari/framework/cpu/isa/winograd.h"

#include "kusari/framework/cpu/isa/winograd_lines.h"

namespace kusari::cpu {
namespace {

constexpr i64 kPanel = kWinogradChannels;
constexpr i64 kPanelVectors = kPanel / kLanes;
constexpr i64 kDepth = 256;  // rows of a panel of weights that stay in the first-level cache

void input(const float* const* d, i64 channels, float* v, i64 place_stride) {
  for (i64 c = 0; c < channels; c += kLanes) {
    transform<6, 6>([&](int i) { return load(d[i] + c); }, input_line,
                    [&](int i, V value) { store(v + i * place_stride + c, value); });
  }
}

void output(const float* m, i64 place_stride, i64 channels, const float* bias, const float* const* z, bool relu,
            float* const* y) {
  const V least = least_result(relu);
  for (i64 c = 0; c < channels; c += kLanes) {
    const V offset = bias != nullptr ? load(bias + c) : V{};
    transform<6, 4>([&](int i) { return load(m + i * place_stride + c); }, output_line,
                    [&](int i, V value) {
                      if (y[i] == nullptr) return;
                      value += offset;
                      if (z != nullptr) value += load(z[i] + c);
                      store(y[i] + c, at_least(least, value));
                    });
  }
}

void gradient(const float* const* g, i64 channels, float* n, i64 place_stride) {
  for (i64 c = 0; c < channels; c += kLanes) {
    transform<4, 6>([&](int i) { return load(g[i] + c); }, gradient_line,
                    [&](int i, V value) { store(n + i * place_stride + c, value); });
  }
}

void filter(const float* u, i64 place_stride, i64 channels, float* w, i64 tap_stride) {
  for (i64 c = 0; c < channels; c += kLanes) {
    transform<6, 3>([&](int i) { return load(u + i * place_stride + c); }, filter_line,
                    [&](int i, V value) { store(w + i * tap_stride + c, value); });
  }
}

// Weights whose rows are contiguous: transformed along the rows, then turned in squares of vectors.
void panel_from_rows(const float* w, i64 rows, i64 first_column, float* u, i64 place_stride) {
  alignas(64) float transformed[36][kLanes][kLanes];
  for (i64 row = 0; row < rows; row += kLanes) {
    for (i64 part = 0; part < kPanelVectors; ++part) {
      for (i64 j = 0; j < kLanes; ++j) {
        const float* const source = w + (first_column + part * kLanes + j) * 9 * rows + row;
        transform<3, 6>([&](int i) { return load(source + i * rows); }, weight_line,
                        [&](int i, V value) { store(transformed[i][j], value); });
      }
      for (int i = 0; i < 36; ++i) {
        V square[kLanes], other[kLanes];
        for (i64 j = 0; j < kLanes; ++j) square[j] = load(transformed[i][j]);
        for (i64 width = 1; width < kLanes; width *= 2) {
          shuffle_square<float>(square, other);
          for (i64 j = 0; j < kLanes; ++j) square[j] = other[j];
        }
        for (i64 j = 0; j < kLanes; ++j) store(u + i * place_stride + (row + j) * kPanel + part * kLanes, square[j]);
      }
    }
  }
}

void panel_from_columns(const float* w, i64 rows, i64 columns, i64 first_column, float* u, i64 place_stride) {
  for (i64 row = 0; row < rows; ++row) {
    const float* const source = w + row * 9 * columns + first_column;
    for (i64 part = 0; part < kPanelVectors; ++part) {
      transform<3, 6>([&](int i) { return load(source + (8 - i) * columns + part * kLanes); }, weight_line,
                      [&](int i, V value) { store(u + i * place_stride + row * kPanel + part * kLanes, value); });
    }
  }
}

void weights(const float* w, i64 rows, i64 columns, bool from_rows, i64 first, i64 last, float* u) {
  for (i64 panel = first; panel < last; ++panel) {
    float* const to = u + panel * rows * kPanel;
    if (from_rows) {
      panel_from_rows(w, rows, panel * kPanel, to, rows * columns);
    } else {
      panel_from_columns(w, rows, columns, panel * kPanel, to, rows * columns);
    }
  }
}

void multiply_panel(const float* v, i64 v_stride, i64 tiles, i64 rows, const float* u, float* m, i64 m_stride) {
  for (i64 depth = 0; depth < rows; depth += kDepth) {
    for (i64 column = 0; column < kPanel; column += kBlockVectors * kLanes) {
      Block<float> block;
      block.depth = rows - depth < kDepth ? rows - depth : kDepth;
      block.a = v + depth;
      block.a_row = v_stride;
      block.a_column = 1;
      block.b = u + depth * kPanel + column;
      block.b_row = kPanel;
      block.c = m + column;
      block.c_row = m_stride;
      block.columns = kPanel;
      block.accumulate = depth > 0;
      block.bias = nullptr;
      multiply_rows<float, kBlockVectors, true>(block, tiles);
    }
  }
}

void accumulate(const float* n, i64 n_stride, i64 outs, const float* v, i64 v_stride, i64 ins, i64 tiles, float* sum,
                i64 sum_stride, bool add) {
  for (i64 column = 0; column < ins; column += kBlockVectors * kLanes) {
    Block<float> block;
    block.depth = tiles;
    block.a = n;
    block.a_row = 1;
    block.a_column = n_stride;
    block.b = v + column;
    block.b_row = v_stride;
    block.c = sum + column;
    block.c_row = sum_stride;
    block.columns = kBlockVectors * kLanes;
    block.accumulate = add;
    block.bias = nullptr;
    multiply_rows<float, kBlockVectors, false>(block, outs);
  }
}

constexpr WinogradLoops kLoops = {weights, input, output, gradient, filter, multiply_panel, accumulate};

}  // namespace

namespace KUSARI_ISA {
const WinogradLoops* winograd_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
