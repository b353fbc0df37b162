#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/datasets/dataset.h"
#include "kusari/framework/links/dict_variables.h"
#include "kusari/iterators/iterator.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/updaters/batch_feed.h"
#include "kusari/updaters/loss_function.h"
#include "kusari/updaters/static_step.h"
#include "kusari/updaters/step_timer.h"
#include "kusari/updaters/updater.h"

namespace kusari::updaters {

struct StandardUpdaterOptions {
  datasets::Converter converter = {};                 ///< concat_examples when not given
  std::optional<Device> device = std::nullopt;        ///< where the models go
  LossFunction loss_func = {};                        ///< the optimizer's target when not given
  std::optional<double> loss_scale = std::nullopt;    ///< a fixed loss scale for all optimizers
  bool auto_new_epoch = true;                         ///< call Optimizer::new_epoch at the end of each sweep
  std::optional<Device> input_device = std::nullopt;  ///< where batches go; `device` when not given
  /// Optimizer::loss_scaling of all optimizers: `.loss_scaling = LossScalingOptions{}` is dynamic. Not with loss_scale.
  std::optional<LossScalingOptions> loss_scaling = std::nullopt;
  /// Batches that are sent to the input device ahead of their turn, while the device computes. Results are the same.
  int64_t prefetch = 0;
  /// Batches that make one step, for the mean of their losses: that of one batch as large as all of them, if they are
  /// equally large and losses are means over the batch. Where an iterator that does not repeat ends within a step, it
  /// is the step of the batches that there were.
  int64_t accumulate = 1;
  /// Forward, backward and update of a step as one static graph, recorded at the first step with a batch of a certain
  /// shape and replayed afterwards. Numbers, schedules, loss scaling, snapshots and reports are those of define-by-run;
  /// what the loss function does on the host, it does when it is recorded only (see static_code), and the gradients of
  /// a step are gone when the next one begins. With accumulate, loss scaling that is chainer_compatible, observers of
  /// gradients, or hooks of one's own that do not say kReplays, only forward and backward are replayed. A loss function
  /// that reads numbers on the host throws StateError, or with `StaticGraphOptions{.fallback = true}` runs
  /// define-by-run. For update_core alone: those that override it make static graphs of their models themselves.
  StaticGraphOption static_graph = {};
};

/// Takes a batch of the iterator "main", makes arrays of it, and lets the optimizer "main" take a step for the loss of
/// its target. A target or loss_func that takes DictVariables is called by name if the data set has keys, any other one
/// in the order of the components. Other schemes, such as GANs, override update_core. What models report for the
/// batches of one step is averaged. chainer.training.updaters.StandardUpdater.
class KUSARI_API StandardUpdater : public Updater {
 public:
  using NamedIterators = std::vector<std::pair<std::string, iterators::IteratorRef>>;
  using NamedOptimizers = std::vector<std::pair<std::string, Ref<Optimizer>>>;

  StandardUpdater(iterators::IteratorRef iterator, Ref<Optimizer> optimizer, StandardUpdaterOptions options = {});
  /// `StandardUpdater({{"main", iterator}}, {{"gen", gen_optimizer}, {"dis", dis_optimizer}})`. Throws KeyError without
  /// an iterator "main", ValueError for both loss_scale and loss_scaling, prefetch below 0, and accumulate below 1.
  StandardUpdater(NamedIterators iterators, NamedOptimizers optimizers, StandardUpdaterOptions options = {});

  void update() final;
  int64_t iteration() const override { return iteration_; }
  int64_t epoch() const override { return main_iterator().epoch(); }
  double epoch_detail() const override { return main_iterator().epoch_detail(); }
  std::optional<double> previous_epoch_detail() const override;
  bool is_new_epoch() const override;
  StepTimes step_times() const override { return timer_.times(); }

  iterators::Iterator& get_iterator(const std::string& name);
  Optimizer& get_optimizer(const std::string& name) override;
  std::vector<std::pair<std::string, Optimizer*>> get_all_optimizers() override;
  const StandardUpdaterOptions& options() const noexcept { return options_; }
  /// What has been recorded for `static_graph`: see StaticStep. Null without it. `static_step()->clear()` after
  /// changing an option of a layer, such as a dropout ratio: recordings have options as they were.
  StaticStep* static_step() noexcept { return static_step_.get(); }
  const StaticStep* static_step() const noexcept { return static_step_.get(); }

  void finalize() override;
  /// Under Chainer's names: `iterator:main`, `optimizer:main`, `model:main`, `iteration`; beside them what random
  /// converters and the times go on from. Batches that were sent ahead are not in it, and are sent again by who reads.
  void serialize(Serializer& serializer) override;

 protected:
  /// One step.
  virtual void update_core();
  /// The next batch of an iterator as variables on the input device. With `prefetch`, it may be there already.
  Variables next_inputs(const std::string& iterator = "main");
  /// The same with the keys of the data set. Throws ValueError when there are not as many keys.
  DictVariables next_named_inputs(const std::string& iterator = "main");
  /// The next batch of the iterator "main"; nothing after the last one.
  std::optional<Variables> try_next_main();
  /// A step of the optimizer "main" for the loss of these inputs, and its new epochs: for update_cores that prepare
  /// batches themselves. With `static_graph` it is recorded and replayed.
  void step(const Variables& inputs);
  /// The same where the examples, of so many, are not the first axis: several processes weigh their gradients by it.
  void step(const Variables& inputs, int64_t examples);
  /// Keys of the data set of the iterator "main".
  const datasets::Keys& keys() const noexcept { return keys_; }
  /// A batch of examples, taken from an iterator by hand, as variables on the input device.
  Variables convert(const iterators::Batch& batch);
  /// Sends batches to come to the input device. Called after update_core; an update_core that takes several batches may
  /// call it where it has given the device work.
  void look_ahead();
  /// For update_cores that prepare batches themselves: `const auto data = data_time();` counts its life as data_time.
  [[nodiscard]] StepTimer::DataScope data_time() noexcept { return StepTimer::DataScope(timer_); }

 private:
  // Of a step that took several batches of the iterator "main", which knows about the last alone.
  struct Sweep {
    int64_t batches = 0;
    int64_t completed = 0;  // batches that ended a sweep
    std::optional<double> previous_epoch_detail = std::nullopt;
  };

  iterators::Iterator& main_iterator() const noexcept { return *iterators_[main_].second; }
  double seconds_waited() const;
  void count_batch();
  void begin_epochs(Optimizer& optimizer);
  Variable loss_of(Optimizer& optimizer, const Variables& inputs) const;
  void update_accumulated(Optimizer& optimizer);
  void take_step(const Variables& inputs);
  void update_in_parts(Optimizer& optimizer, const Variables& inputs);
  void serialize_feeds(Serializer& serializer);
  void serialize_sweep(Serializer& serializer);

  NamedIterators iterators_;
  NamedOptimizers optimizers_;
  StandardUpdaterOptions options_;
  size_t main_ = 0;  // place of the iterator "main"
  datasets::Keys keys_;
  int64_t iteration_ = 0;
  uint64_t seed_ = 0;             // of random converters
  std::vector<BatchFeed> feeds_;  // one per iterator
  StepTimer timer_;
  Sweep sweep_;
  Owned<StaticStep> static_step_;
  bool is_static_step_used_ = false;
};

}  // namespace kusari::updaters
