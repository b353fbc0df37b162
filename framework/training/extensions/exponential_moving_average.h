#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/extensions/report_picture.h"

namespace kusari::training::extensions {

struct ExponentialMovingAverageOptions {
  double decay = 0.9998;  ///< d, in [0, 1): how much of an average a step keeps
  /// Keep no more than (1 + t) / (10 + t) at step t, so that averages soon forget where training began.
  bool warmup = true;
  bool persistents = true;  ///< also of floating persistent arrays: the running statistics of normalizations
};

/// Averages of a model's parameters over the steps of training: average <- d average + (1 - d) parameter after each
/// step; the first step's are the beginning. Networks often do better with them than with the parameters themselves.
///
/// Averages are float32 (float64 of float64 parameters) and lie on the parameters' devices; of 16-bit parameters with
/// float32 copies the copies are averaged. Static graphs, also of whole steps, need not know of it. Snapshots hold the
/// averages; a trainer that reads a snapshot without any begins anew.
///
///   extensions::ExponentialMovingAverage average(model);
///   trainer.extend(average);
///   trainer.extend(extensions::with_average(average, extensions::Evaluator(test, model)));
///
/// A loop of one's own calls update() after each step, and tests while the result of apply() lives. Copies share the
/// averages. tf.train.ExponentialMovingAverage, torch.optim.swa_utils.AveragedModel.
class KUSARI_API ExponentialMovingAverage final : public Extension {
 public:
  /// The model may be moved, but must live at each call. Throws ValueError unless decay is in [0, 1).
  explicit ExponentialMovingAverage(Link& model, const ExponentialMovingAverageOptions& options = {});

  void operator()(Trainer&) override { update(); }
  /// Takes the parameters as they are into the averages. Throws StateError while the model has the averages, and
  /// within a step that is being recorded.
  void update();
  /// Steps that the averages have seen.
  int64_t t() const noexcept;
  /// The average of the parameter or persistent array with this path, "/l1/W". Throws KeyError when there is none.
  Array average(const std::string& path) const;
  /// Writes the averages to a link with the same paths, converting dtype and device. Throws KeyError for a link that
  /// lacks one, TypeError for another shape.
  void copy_to(Link& model) const;

  /// While it lives the model has the averages instead of its own numbers.
  class KUSARI_API Applied {
   public:
    Applied(Applied&&) noexcept = default;
    Applied& operator=(Applied&&) = delete;
    /// Gives the model its numbers back.
    ~Applied();

   private:
    friend class ExponentialMovingAverage;
    struct Saved;
    explicit Applied(std::unique_ptr<Saved> saved) noexcept;
    Owned<Saved> saved_;
  };
  /// Writes the averages to the model, in place. Before the first update it changes nothing. Throws StateError when
  /// the model already has them.
  [[nodiscard]] Applied apply() const;

  std::string default_name() const override { return "ExponentialMovingAverage"; }
  TriggerRef default_trigger() const override { return {1, "iteration"}; }
  /// Before those that report.
  int default_priority() const override { return kPriorityWriter + 100; }
  void serialize(Serializer& serializer) override;

 private:
  friend class AveragedExtension;
  struct State;
  Shared<State> state_;
};

/// See with_average().
class KUSARI_API AveragedExtension final : public Extension, public PictureSource {
 public:
  AveragedExtension(const ExponentialMovingAverage& average, ExtensionRef extension);

  void operator()(Trainer& trainer) override;
  void initialize(Trainer& trainer) override;
  void finalize() override { extension_->finalize(); }
  void on_error(Trainer& trainer, const std::exception& error) override;
  void serialize(Serializer& serializer) override { extension_->serialize(serializer); }
  std::string default_name() const override;
  TriggerRef default_trigger() const override { return extension_->default_trigger(); }
  int default_priority() const override { return extension_->default_priority(); }

  Extension& extension() const noexcept { return *extension_; }
  const std::vector<ReportPicture>& pictures() const noexcept override;
  int64_t drawn() const noexcept override;

 private:
  ExponentialMovingAverage average_;
  ExtensionRef extension_;
  const PictureSource* source_;  // null: it draws nothing
};

/// An extension that runs while the model has the averages: an evaluator, or snapshot_object(model, ...), which then
/// writes them. It has the name, the trigger and the priority of the one that it runs.
inline AveragedExtension with_average(const ExponentialMovingAverage& average, ExtensionRef extension) {
  return {average, std::move(extension)};
}

}  // namespace kusari::training::extensions
