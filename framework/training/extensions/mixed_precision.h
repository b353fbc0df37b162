#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/amp/initialize.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/kernels/loss_scale.h"
#include "kusari/framework/training/extension.h"

namespace kusari {
class Optimizer;
}

namespace kusari::training::extensions {

/// Which recipe for 16 bits.
enum class MixedPrecisionRecipe : uint8_t {
  autocast,  ///< the model stays float32, functions get 16-bit inputs where that suits them: amp::initialize's O1
  to_fp16    ///< a 16-bit model with float32 normalizations, and float32 copies that the optimizer changes: O2
};

struct MixedPrecisionOptions {
  MixedPrecisionRecipe recipe = MixedPrecisionRecipe::autocast;
  Dtype dtype = Dtype::float16;  ///< or bfloat16, which needs no loss scaling and gets none unless it is given
  std::optional<amp::LossScaleChoice> loss_scale = std::nullopt;  ///< a number, or "dynamic", which float16 has
  std::optional<double> clip = std::nullopt;                      ///< the largest norm of all gradients together
};

/// Makes the training of a float32 model one in mixed precision, and gives the float32 model back:
///
///     trainer.extend(extensions::MixedPrecision());
///
/// When the training begins, the targets of the trainer's optimizers are set up by amp::initialize, whose session lasts
/// until it ends; the evaluation of the models is in it, too. Then they are float32 again, with the numbers of the
/// float32 copies, which frozen parameters have as well; what no optimizer was set up with is rounded, and so is, after
/// an error, what other ranks have the copies of (shard_optimizer): the end of a run is collective then. Once an epoch
/// it reports "loss_scale" and "skipped_steps", where there is loss scaling. A snapshot resumes exactly: the model is
/// float32 when it is read. Throws what amp::initialize throws; ValueError for a clip that is not positive. fastai's
/// MixedPrecision callback.
class KUSARI_API MixedPrecision final : public Extension {
 public:
  explicit MixedPrecision(MixedPrecisionOptions options = {});
  MixedPrecision(MixedPrecision&&) noexcept;
  ~MixedPrecision() override;

  void operator()(Trainer& trainer) override;
  void initialize(Trainer& trainer) override;
  void finalize() override;
  std::string default_name() const override { return "MixedPrecision"; }
  TriggerRef default_trigger() const override { return {1, "epoch"}; }
  int default_priority() const override { return kPriorityWriter; }
  void serialize(Serializer& serializer) override;

 private:
  using Optimizers = std::vector<std::pair<std::string, Optimizer*>>;

  void remember_scales();

  MixedPrecisionOptions options_;
  Owned<amp::Session> session_;                                          // while the training runs
  Optimizers optimizers_;                                                // likewise
  std::vector<std::pair<std::string, kernels::LossScaleState>> scales_;  // by optimizer, when it does not
};

}  // namespace kusari::training::extensions
