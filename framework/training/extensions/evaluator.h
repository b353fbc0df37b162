#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/device.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/summary.h"
#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/links/call_model.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/training/extension.h"
#include "kusari/iterators/iterator.h"
#include "kusari/updaters/loss_function.h"

namespace kusari::training::extensions {

class Evaluator;

struct EvaluatorOptions {
  datasets::Converter converter = {};           ///< concat_examples when not given
  std::optional<Device> device = std::nullopt;  ///< where batches go
  Callable<void(Evaluator&)> eval_hook = {};    ///< called before each evaluation
  updaters::LossFunction eval_func = {};        ///< called with each batch; the model when not given
};

/// Runs a model over a data set in test mode, without recording a graph, and reports the means of what the model
/// reports, under "validation/" and the model's name: "validation/main/loss". Every batch has the same weight, the last
/// one too. The iterator must not repeat. Once an epoch unless told otherwise; chainer.training.extensions.Evaluator.
class KUSARI_API Evaluator : public Extension {
 public:
  /// The model may be moved, but must live when the evaluator runs. Throws ValueError for an iterator that repeats: an
  /// evaluation is one sweep.
  template <LinkType Model>
  Evaluator(iterators::IteratorRef iterator, Model& model, EvaluatorOptions options = {})
      : Evaluator(std::move(iterator), model, detail::model_caller<Model>(), std::move(options)) {}

  /// What the model reported for one batch.
  struct BatchReport {
    int64_t examples;
    DictSummary::Values values;
  };
  /// Makes means of the batches of this process and those of others.
  using Combine = Callable<DictSummary::Values(std::vector<BatchReport> batches)>;

  void operator()(Trainer& trainer) override;
  /// The same without a trainer: the means, which are also reported to the current reporter, if any. Outside a trainer
  /// the names have no prefix unless set_name gave one.
  DictSummary::Values operator()();
  /// In place of the means of this process alone. Evaluators that override evaluate() give what that returns as one
  /// batch.
  void combine_with(Combine combine) { combine_ = std::move(combine); }
  void finalize() override;
  std::string default_name() const override { return "validation"; }
  TriggerRef default_trigger() const override { return {1, "epoch"}; }
  int default_priority() const override { return kPriorityWriter; }

  iterators::Iterator& get_iterator() const noexcept { return *iterator_; }
  Link& get_target() const { return home_->get(); }
  /// The same by their name, "main".
  std::map<std::string, iterators::Iterator*> get_all_iterators() const;
  std::map<std::string, Link*> get_all_targets() const;

 protected:
  /// For evaluators that override evaluate(): the model need not be callable if options.eval_func is given.
  Evaluator(iterators::IteratorRef iterator, Link& model, EvaluatorOptions options)
      : Evaluator(std::move(iterator), model, nullptr, std::move(options)) {}
  /// Goes over the data once and returns the means.
  virtual DictSummary::Values evaluate();

 private:
  Evaluator(iterators::IteratorRef iterator, Link& model, detail::CallModel call, EvaluatorOptions options);

  iterators::IteratorRef iterator_;
  IntrusivePtr<Home> home_;
  detail::CallModel call_;
  EvaluatorOptions options_;
  Combine combine_;
  std::vector<BatchReport> reports_;  // during an evaluation
};

}  // namespace kusari::training::extensions
