#pragma once

#include <cstdint>
#include <span>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/rnn/n_step_lstm.h"
#include "kusari/framework/links/rnn/n_step.h"

namespace kusari::links {

/// What NStepLSTM and NStepBiLSTM share.
class KUSARI_API NStepLstmBase : public NStepBase {
 public:
  using Options = NStepOptions;
  /// hx, cx: (layers * directions, B, out_size), or undefined for zeros. xs: B sequences (length, in_size) in any
  /// order; lengths may be 0. Returns hy and cy, like hx, and ys: the last layer's h of each sequence, (length,
  /// directions * out_size). Throws TypeError when shapes or dtypes do not fit.
  functions::NStepLstmOutput operator()(const Variable& hx, const Variable& cx, std::span<const Variable> xs) const;
  functions::NStepLstmOutput operator()(const Variable& hx, const Variable& cx,
                                        std::initializer_list<Variable> xs) const {
    return (*this)(hx, cx, std::span<const Variable>(xs.begin(), xs.size()));
  }
  /// The same for sequences that are packed already.
  functions::PackedLstmOutput operator()(const Variable& hx, const Variable& cx, const PackedSequence& xs) const;

 protected:
  NStepLstmBase(const char* call, int64_t directions, int64_t n_layers, int64_t in_size, int64_t out_size,
                double dropout_ratio, const NStepOptions& options)
      : NStepBase(call, 4, directions, n_layers, in_size, out_size, dropout_ratio, options),
        is_bidirectional_{directions == 2} {}

 private:
  bool is_bidirectional_;
};

/// Layers of long short-term memory over ragged sequences, F::n_step_lstm. The forget gate's bias begins as the others
/// do. `auto [hy, cy, ys] = lstm({}, {}, xs);` chainer.links.NStepLSTM.
class KUSARI_API NStepLSTM : public NStepLstmBase {
 public:
  /// n_layers: at least 1. in_size may be kInfer. dropout_ratio: in [0, 1), of what layers above the first read, when
  /// config.train. Throws ValueError for other numbers.
  NStepLSTM(int64_t n_layers, int64_t in_size, int64_t out_size, double dropout_ratio, const Options& options = {})
      : NStepLstmBase("L::NStepLSTM", 1, n_layers, in_size, out_size, dropout_ratio, options) {}
};

/// The same in both directions, whose h lie side by side in ys, forward first. chainer.links.NStepBiLSTM.
class KUSARI_API NStepBiLSTM : public NStepLstmBase {
 public:
  NStepBiLSTM(int64_t n_layers, int64_t in_size, int64_t out_size, double dropout_ratio, const Options& options = {})
      : NStepLstmBase("L::NStepBiLSTM", 2, n_layers, in_size, out_size, dropout_ratio, options) {}
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
