#pragma once

#include <cstdint>
#include <span>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/rnn/n_step_rnn.h"
#include "kusari/framework/links/rnn/n_step.h"

namespace kusari::links {

/// What NStepRNNTanh, NStepRNNReLU and their bidirectional forms share.
class KUSARI_API NStepRnnBase : public NStepBase {
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
  NStepRnnBase(const char* call, functions::RnnActivation activation, int64_t directions, int64_t n_layers,
               int64_t in_size, int64_t out_size, double dropout_ratio, const NStepOptions& options)
      : NStepBase(call, 1, directions, n_layers, in_size, out_size, dropout_ratio, options),
        activation_{activation},
        is_bidirectional_{directions == 2} {}

 private:
  functions::RnnActivation activation_;
  bool is_bidirectional_;
};

/// Layers of simple recurrent units with tanh over ragged sequences, F::n_step_rnn. `auto [hy, ys] = rnn({}, xs);`
/// chainer.links.NStepRNNTanh.
class KUSARI_API NStepRNNTanh : public NStepRnnBase {
 public:
  /// n_layers: at least 1. in_size may be kInfer. dropout_ratio: in [0, 1), of what layers above the first read, when
  /// config.train. Throws ValueError for other numbers.
  NStepRNNTanh(int64_t n_layers, int64_t in_size, int64_t out_size, double dropout_ratio, const Options& options = {})
      : NStepRnnBase("L::NStepRNNTanh", functions::RnnActivation::tanh, 1, n_layers, in_size, out_size, dropout_ratio,
                     options) {}
};

/// The same in both directions, whose h lie side by side in ys, forward first. chainer.links.NStepBiRNNTanh.
class KUSARI_API NStepBiRNNTanh : public NStepRnnBase {
 public:
  NStepBiRNNTanh(int64_t n_layers, int64_t in_size, int64_t out_size, double dropout_ratio, const Options& options = {})
      : NStepRnnBase("L::NStepBiRNNTanh", functions::RnnActivation::tanh, 2, n_layers, in_size, out_size, dropout_ratio,
                     options) {}
};

/// With relu instead of tanh. chainer.links.NStepRNNReLU.
class KUSARI_API NStepRNNReLU : public NStepRnnBase {
 public:
  NStepRNNReLU(int64_t n_layers, int64_t in_size, int64_t out_size, double dropout_ratio, const Options& options = {})
      : NStepRnnBase("L::NStepRNNReLU", functions::RnnActivation::relu, 1, n_layers, in_size, out_size, dropout_ratio,
                     options) {}
};

/// The same in both directions. chainer.links.NStepBiRNNReLU.
class KUSARI_API NStepBiRNNReLU : public NStepRnnBase {
 public:
  NStepBiRNNReLU(int64_t n_layers, int64_t in_size, int64_t out_size, double dropout_ratio, const Options& options = {})
      : NStepRnnBase("L::NStepBiRNNReLU", functions::RnnActivation::relu, 2, n_layers, in_size, out_size, dropout_ratio,
                     options) {}
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
