#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/iterators/iterator.h"
#include "kusari/optimizers/optimizer.h"
#include "kusari/updaters/loss_function.h"
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
};

/// Takes a batch of the iterator "main", makes arrays of it, and lets the optimizer "main" take a step for the loss of
/// its target. Other schemes override update_core. chainer.training.updaters.StandardUpdater.
class KUSARI_API StandardUpdater : public Updater {
 public:
  using NamedIterators = std::vector<std::pair<std::string, iterators::IteratorRef>>;
  using NamedOptimizers = std::vector<std::pair<std::string, Ref<Optimizer>>>;

  StandardUpdater(iterators::IteratorRef iterator, Ref<Optimizer> optimizer, StandardUpdaterOptions options = {});
  /// `StandardUpdater({{"main", iterator}}, {{"gen", gen_optimizer}, {"dis", dis_optimizer}})`. Throws ValueError when
  /// there is no iterator "main", or both loss_scale and loss_scaling.
  StandardUpdater(NamedIterators iterators, NamedOptimizers optimizers, StandardUpdaterOptions options = {});

  void update() final;
  int64_t iteration() const override { return iteration_; }
  int64_t epoch() const override { return main_iterator().epoch(); }
  double epoch_detail() const override { return main_iterator().epoch_detail(); }
  std::optional<double> previous_epoch_detail() const override { return main_iterator().previous_epoch_detail(); }
  bool is_new_epoch() const override { return main_iterator().is_new_epoch(); }

  iterators::Iterator& get_iterator(const std::string& name);
  Optimizer& get_optimizer(const std::string& name) override;
  std::vector<std::pair<std::string, Optimizer*>> get_all_optimizers() override;
  const StandardUpdaterOptions& options() const noexcept { return options_; }

  void finalize() override;
  /// Under Chainer's names: `iterator:main`, `optimizer:main`, `model:main`, `iteration`.
  void serialize(Serializer& serializer) override;

 protected:
  /// One step.
  virtual void update_core();
  /// A batch of examples as variables on the input device.
  Variables convert(const iterators::Batch& batch) const;

 private:
  iterators::Iterator& main_iterator() const noexcept { return *iterators_[main_].second; }

  NamedIterators iterators_;
  NamedOptimizers optimizers_;
  StandardUpdaterOptions options_;
  size_t main_ = 0;  // place of the iterator "main"
  int64_t iteration_ = 0;
};

}  // namespace kusari::updaters
