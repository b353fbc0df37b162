#pragma once

#include <cstdint>
#include <optional>

#include "kusari/framework/core/export.h"
#include "kusari/updaters/standard_updater.h"

namespace kusari::updaters {

struct BPTTUpdaterOptions {
  /// Batches of the iterator that one step goes through, each of them one time: they become one batch with an axis in
  /// front, (bprop_len, batch, ...). 0: a batch is several times already, as ParallelSequentialIterator makes them with
  /// `window`. The last step of an iterator that does not repeat may have fewer.
  int64_t bprop_len = 0;
  /// The target is called with one time after the other, and the loss is the sum of its losses, as in Chainer's
  /// example ptb. Otherwise it is called once with all times.
  bool by_time = false;
  // Those of StandardUpdater.
  datasets::Converter converter = {};
  std::optional<Device> device = std::nullopt;
  LossFunction loss_func = {};
  std::optional<double> loss_scale = std::nullopt;
  bool auto_new_epoch = true;
  std::optional<Device> input_device = std::nullopt;
  std::optional<LossScalingOptions> loss_scaling = std::nullopt;
  int64_t prefetch = 0;
  StaticGraphOption static_graph = {};
};

/// Truncated backpropagation through time: the model carries its state (see State) from step to step, and each step
/// goes back to its own beginning alone. With `static_graph` a whole step is one recording. Its snapshots have the
/// state, so that a resumed run goes on as the one that ended; with several processes those of multi_node_snapshot have
/// it, for as many of them. chainer/examples/ptb/train_ptb.py: BPTTUpdater.
class KUSARI_API BPTTUpdater : public StandardUpdater {
 public:
  using Options = BPTTUpdaterOptions;
  /// Throws ValueError for a negative bprop_len, and what StandardUpdater throws.
  BPTTUpdater(iterators::IteratorRef iterator, Ref<Optimizer> optimizer, const Options& options = {});

  /// Beside StandardUpdater's entries the states of the model: `state:main/PATH`.
  void serialize(Serializer& serializer) override;

 protected:
  void update_core() override;

 private:
  void step_of_times(const Variables& inputs);

  int64_t bprop_len_;
};

}  // namespace kusari::updaters
