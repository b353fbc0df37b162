#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/shared.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/training/extension.h"
#include "kusari/framework/training/extensions/report_picture.h"

namespace kusari::training::extensions {

/// Base of the extensions that average a model's parameters over training. Networks often do better with averages than
/// with the parameters themselves.
///
/// Averages are float32 (float64 of float64 parameters) and lie on the parameters' devices; of 16-bit parameters with
/// float32 copies the copies are averaged. Static graphs, also of whole steps, need not know of it. Snapshots hold the
/// averages; a trainer that reads a snapshot without any begins anew. Copies share the averages.
class KUSARI_API ModelAverage : public Extension {
 public:
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
    friend class ModelAverage;
    struct Saved;
    explicit Applied(std::unique_ptr<Saved> saved) noexcept;
    Owned<Saved> saved_;
  };
  /// Writes the averages to the model, in place. Before the first update it changes nothing. Throws StateError when
  /// the model already has them.
  [[nodiscard]] Applied apply() const;

  /// Before those that report.
  int default_priority() const override { return kPriorityWriter + 100; }
  void serialize(Serializer& serializer) override;

 protected:
  /// The model may be moved, but must live at each call. call: the name of the class. persistents: also of floating
  /// persistent arrays.
  ModelAverage(Link& model, const char* call, bool persistents);
  /// average <- kept average + (1 - kept) parameter; what has no average begins with the parameter. Throws StateError
  /// while the model has the averages, and within a step that is being recorded.
  void take(double kept);

 private:
  friend class AveragedExtension;
  struct State;
  static Applied apply(const Shared<State>& state);
  Shared<State> state_;
};

/// See with_average().
class KUSARI_API AveragedExtension final : public Extension, public PictureSource {
 public:
  AveragedExtension(const ModelAverage& average, ExtensionRef extension);

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
  Shared<ModelAverage::State> average_;
  ExtensionRef extension_;
  const PictureSource* source_;  // null: it draws nothing
};

/// An extension that runs while the model has the averages: an evaluator, or snapshot_object(model, ...), which then
/// writes them. It has the name, the trigger and the priority of the one that it runs.
inline AveragedExtension with_average(const ModelAverage& average, ExtensionRef extension) {
  return {average, std::move(extension)};
}

}  // namespace kusari::training::extensions
