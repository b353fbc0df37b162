#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/ref.h"

namespace kusari {
class Optimizer;
class Serializer;
namespace training {
class Trainer;
}
}  // namespace kusari

namespace kusari::updaters {

/// Seconds that steps took, all together: waiting for batches, preparing and sending them; waiting for other processes;
/// and the rest.
struct KUSARI_API StepTimes {
  double data = 0;
  double compute = 0;
  int64_t iterations = 0;
  double exchange = 0;

  /// What came after `earlier`; everything when that is of another run.
  StepTimes since(const StepTimes& earlier) const noexcept;
  /// Whether more than half of the time went to data.
  bool is_input_bound() const noexcept { return data > compute; }
  /// A reader keeps what the snapshot does not have.
  void serialize(Serializer& serializer);
};

/// One step of a training run, and how far the run is. What a Trainer calls in its loop. chainer.training.Updater.
class KUSARI_API Updater {
 public:
  virtual ~Updater();

  /// Takes a batch and changes the parameters.
  virtual void update() = 0;
  /// Steps done.
  virtual int64_t iteration() const = 0;
  /// Completed sweeps over the data, and the same with the fraction of the one under way.
  virtual int64_t epoch() const = 0;
  virtual double epoch_detail() const = 0;
  /// epoch_detail() before the last step; nothing before the first.
  virtual std::optional<double> previous_epoch_detail() const = 0;
  /// Whether the last step completed a sweep.
  virtual bool is_new_epoch() const = 0;
  /// Of all steps, those before a resume included; of none when the updater does not measure them. On a GPU these are
  /// the host's times: it gives the device work without waiting, so that data may be prepared while the device
  /// computes.
  virtual StepTimes step_times() const;

  /// Throws KeyError when there is none of that name.
  virtual Optimizer& get_optimizer(const std::string& name) = 0;
  virtual std::vector<std::pair<std::string, Optimizer*>> get_all_optimizers() = 0;

  /// Called by the trainer's constructor.
  virtual void connect_trainer(training::Trainer& trainer);
  /// Called when the training loop ends, by whatever cause.
  virtual void finalize();
  virtual void serialize(Serializer& serializer) = 0;

 protected:
  Updater() = default;
  Updater(const Updater&) = default;
  Updater& operator=(const Updater&) = default;
};
/// An updater, owned when given as an rvalue.
using UpdaterRef = Ref<Updater>;

}  // namespace kusari::updaters
