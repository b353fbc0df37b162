#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/training/extension.h"

namespace kusari::training::extensions {

struct GradientStatisticsOptions {
  TriggerRef trigger = {1, "epoch"};  ///< when the columns are reported and the files written
  int64_t interval = 1;               ///< the gradients of every interval-th update are looked at
  std::string prefix = {};            ///< "<prefix>/" stands before the names of all columns
  /// Whether to take the parameter of that path ("/predictor/l1/W"); all are taken when not given.
  Callable<bool(const std::string& path)> parameters = {};
  /// Parameters whose paths agree in so many parts share a row: 2 makes one of "predictor/l1" out of its W and b.
  /// 0: each has its own.
  int64_t depth = 0;
  bool values = false;  ///< the parameters themselves as well, as they were before the update
  /// The dtype in whose range numbers are zero, subnormal or infinite: what float32 gradients would lose in float16.
  /// Each tensor's own when not given.
  std::optional<Dtype> range = std::nullopt;
  /// What is reported.
  std::vector<std::string> columns = {"zeros", "subnormals", "inf", "nan", "abs_min", "abs_max", "abs_mean"};
  std::string filename = "gradients";  ///< of the table (.txt) and the plot (.png); no files when empty
};

/// What the numbers of some tensors are, over the updates that were looked at.
struct GradientStatisticsRow {
  std::string name;                    ///< "predictor/l1/W/grad", or "gradients" for all of them
  double size;                         ///< numbers looked at
  double zeros, subnormals, inf, nan;  ///< shares of them, 0 to 1
  double abs_min;                      ///< the smallest magnitude but 0; infinite when there is none
  double abs_max, abs_mean;            ///< of the finite magnitudes
};

/// Shows what gradients lose in their dtype: how many are zero, subnormal, infinite or NaN, and between which
/// magnitudes they lie, for each parameter and for all. It sees the gradients of the trainer's optimizers as backward
/// leaves them, multiplied by the loss scale and before any hook changes them, and counts them on their device, two
/// launches for a model; the host reads the counts when the trigger fires.
///
/// Reports columns "<path>/grad/zeros" ("<path>/data/zeros" for values), those of all together as "gradients/zeros"
/// ("parameters/zeros"), and under loss scaling "gradients/loss_scale", the scale that the next backward will have.
/// With several optimizers each path begins with the optimizer's name. Writes the rows as a table, and draws them with
/// gnuplot if there is one. Throws ValueError for an interval below 1, a negative depth and an unknown column.
class KUSARI_API GradientStatistics final : public Extension {
 public:
  explicit GradientStatistics(GradientStatisticsOptions options = {});
  GradientStatistics(GradientStatistics&&) noexcept;
  GradientStatistics& operator=(GradientStatistics&&) noexcept;
  ~GradientStatistics() override;

  /// The rows of the last report, all together last.
  const std::vector<GradientStatisticsRow>& rows() const noexcept;
  /// The same as text.
  std::string table() const;

  void operator()(Trainer& trainer) override;
  void initialize(Trainer& trainer) override;
  void finalize() override;
  std::string default_name() const override { return "GradientStatistics"; }
  int default_priority() const override { return kPriorityWriter; }
  void serialize(Serializer& serializer) override;

 private:
  struct State;
  Owned<State> state_;
};

}  // namespace kusari::training::extensions
