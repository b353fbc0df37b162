#pragma once

#include <cstdint>
#include <span>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/kernel.h"

namespace kusari::kernels {

struct LabelAlignment {
  int64_t blank_symbol = 0;
};

/// What all ways to lay a label sequence over the frames of a sequence have in common (Graves et al. 2006).
///
/// loss[b] = -log P(labels of b | first input_length[b] frames), infinite where the labels do not fit. p, if defined,
/// comes as softmax(x) and becomes d loss[b] / d x[t, b, v]: 0 behind the last frame and where the loss is infinite.
/// log_p: log softmax(x), (T, B, V), float32 or float64; p and loss (B): of its dtype; p C-ordered. t: (B, M),
/// input_length, label_length: (B), integers. On the CPU, labels outside [0, V) throw IndexError, lengths outside
/// [0, T] and [0, M] ValueError; elsewhere such a sequence's loss and gradient are NaN.
struct ConnectionistTemporalClassification {
  static constexpr const char* kName = "connectionist_temporal_classification";
  using Signature = void(Params<LabelAlignment> alignment, In log_p, In t, In input_length, In label_length, Out loss,
                         InOut p);
};

struct LabelAlignmentSizes {
  int64_t frames, symbols, labels;
};

/// Throws what the kernel does for these numbers on the host: labels (B, M), lengths (B).
KUSARI_API void check_label_alignment(const LabelAlignmentSizes& sizes, std::span<const int64_t> labels,
                                      std::span<const int64_t> input_length, std::span<const int64_t> label_length);

}  // namespace kusari::kernels
