#pragma once

#include <cstdint>
#include <span>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/rnn/n_step_gru.h"
#include "kusari/framework/links/rnn/n_step.h"

namespace kusari::links {

/// What NStepGRU and NStepBiGRU share.
class KUSARI_API NStepGruBase : public NStepBase {
 public:
  using Options = NStepOptions;
  /// hx: (layers * directions, B, out_size), or undefined for zeros. xs: B sequences (length, in_size) in any order;
  /// lengths may be 0. Returns hy, like hx, and ys: the last layer's h of each sequence, (length, directions *
  /// out_size). Throws TypeError when shapes or dtypes do not fit.
  functions::NStepOutput operator()(const Variable& hx, std::span<const Variable> xs) const;
  functions::NStepOutput operator()(const Variable& hx, std::initializer_list<Variable> xs) const {
    return (*this)(hx, std::span<const Variable>(xs.begin(), xs.size()));
  }
  /// The same for sequences that are packed already.
  functions::PackedOutput operator()(const Variable& hx, const PackedSequence& xs) const;

 protected:
  NStepGruBase(const char* call, int64_t directions, int64_t n_layers, int64_t in_size, int64_t out_size,
               double dropout_ratio, const NStepOptions& options)
      : NStepBase(call, 3, directions, n_layers, in_size, out_size, dropout_ratio, options),
        is_bidirectional_{directions == 2} {}

 private:
  bool is_bidirectional_;
};

/// Layers of gated recurrent units over ragged sequences, F::n_step_gru. `auto [hy, ys] = gru({}, xs);`
/// chainer.links.NStepGRU.
class KUSARI_API NStepGRU : public NStepGruBase {
 public:
  /// n_layers: at least 1. in_size may be kInfer. dropout_ratio: in [0, 1), of what layers above the first read, when
  /// config.train. Throws ValueError for other numbers.
  NStepGRU(int64_t n_layers, int64_t in_size, int64_t out_size, double dropout_ratio, const Options& options = {})
      : NStepGruBase("L::NStepGRU", 1, n_layers, in_size, out_size, dropout_ratio, options) {}
};

/// The same in both directions, whose h lie side by side in ys, forward first. chainer.links.NStepBiGRU.
class KUSARI_API NStepBiGRU : public NStepGruBase {
 public:
  NStepBiGRU(int64_t n_layers, int64_t in_size, int64_t out_size, double dropout_ratio, const Options& options = {})
      : NStepGruBase("L::NStepBiGRU", 2, n_layers, in_size, out_size, dropout_ratio, options) {}
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
