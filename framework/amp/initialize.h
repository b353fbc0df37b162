#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "kusari/framework/amp/autocast.h"
#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/core/owned.h"
#include "kusari/framework/core/thread_owned.h"

namespace kusari {
class Link;
class Optimizer;
}  // namespace kusari

namespace kusari::amp {

/// The loss scale of InitializeOptions: a number, or "dynamic"; the text of a number will do.
class KUSARI_API LossScaleChoice {
 public:
  LossScaleChoice(double scale);
  /// Throws ValueError for another text.
  LossScaleChoice(const char* text) : LossScaleChoice(std::string_view(text)) {}
  LossScaleChoice(std::string_view text);
  bool is_dynamic() const noexcept { return !scale_; }
  /// Unless dynamic.
  double scale() const { return *scale_; }

 private:
  std::optional<double> scale_;
};

/// What is to differ from the level's properties.
struct InitializeOptions {
  std::optional<bool> cast_model = std::nullopt;           ///< apex: cast_model_type
  std::optional<bool> patch_functions = std::nullopt;      ///< apex: patch_torch_functions
  std::optional<bool> keep_batchnorm_fp32 = std::nullopt;  ///< all normalizations
  std::optional<bool> master_weights = std::nullopt;       ///< float32 copies that the optimizers change
  std::optional<LossScaleChoice> loss_scale = std::nullopt;
  std::optional<double> min_loss_scale = std::nullopt;  ///< of a dynamic scale
  double max_loss_scale = 16777216;                     ///< of a dynamic scale: 2^24
  Dtype dtype = Dtype::float16;  ///< the 16-bit one; bfloat16 needs no loss scaling, which is 1 unless given
  bool enabled = true;           ///< false: nothing happens
};

/// How long a model that initialize() set up can be called: one thread's forward computations while the object lives.
/// Sessions end on their thread in the reverse order of their beginning, as Autocast regions do.
class KUSARI_API Session {
 public:
  Session() = default;
  Session(Session&&) noexcept = default;
  Session& operator=(const Session&) = delete;
  ~Session();

 private:
  friend KUSARI_API Session initialize(std::span<Link* const> models, std::span<Optimizer* const> optimizers,
                                       std::string_view opt_level, const InitializeOptions& options);
  explicit Session(const AutocastOptions& options) : region_{new Autocast(options)} {}

  Owned<Autocast> region_;
  uint64_t thread_ = detail::this_thread();
};

/// Sets a float32 model and its optimizer up for mixed precision, in one of apex's four ways:
///
///     |                | O0           | O1       | O2             | O3             |
///     | -------------- | ------------ | -------- | -------------- | -------------- |
///     | parameters     | float32      | float32  | 16-bit         | 16-bit         |
///     | normalizations | float32      | float32  | float32        | 16-bit         |
///     | functions      | as they come | Autocast | as their W are | as their W are |
///     | masters        | no           | no       | float32        | no             |
///     | loss scale     | 1            | dynamic  | dynamic        | 1              |
///
///     optimizer.setup(model);
///     const auto session = amp::initialize(model, optimizer, "O1");
///     ...
///     model.cleargrads();
///     amp::scale_loss(loss, optimizer).backward();
///     optimizer.update();
///
/// `optimizer.update(lossfun, ...)` and updaters do the three lines themselves. A 16-bit model takes float32 batches:
/// in the session, inputs of functions are converted to the dtype of their 16-bit parameters; losses are computed in
/// float32, for apex makes the model's outputs float32. The dynamic scale is GradScaler's: 65536, doubled after 2000
/// steps without overflow, halved by each with one, which is skipped, between min_loss_scale and max_loss_scale.
/// Call it after setup() and before the first use of the model. Throws ValueError for an unknown level and for options
/// that contradict it, TypeError for parameters that are not float32, StateError for an optimizer without a target or
/// with loss scaling. apex.amp.initialize.
[[nodiscard]] KUSARI_API Session initialize(std::span<Link* const> models, std::span<Optimizer* const> optimizers,
                                            std::string_view opt_level = "O1", const InitializeOptions& options = {});
/// Several: initialize({&generator, &critic}, {&generator_optimizer, &critic_optimizer}, "O2").
[[nodiscard]] KUSARI_API Session initialize(std::initializer_list<Link*> models,
                                            std::initializer_list<Optimizer*> optimizers,
                                            std::string_view opt_level = "O1", const InitializeOptions& options = {});
[[nodiscard]] KUSARI_API Session initialize(Link& model, Optimizer& optimizer, std::string_view opt_level = "O1",
                                            const InitializeOptions& options = {});

/// A loss whose backward() multiplies by the loss scale of optimizers.
class KUSARI_API ScaledLoss {
 public:
  /// loss.backward(options) with the scale, which the optimizers' update() takes out of the gradients again.
  void backward(const BackwardOptions& options = {}) const;
  const Variable& loss() const noexcept { return loss_; }

 private:
  friend KUSARI_API ScaledLoss scale_loss(const Variable& loss, std::span<Optimizer* const> optimizers);
  ScaledLoss(const Variable& loss, const Array& scale) : loss_{loss}, scale_{scale} {}

  Variable loss_;
  Array scale_;  // one float64 element; undefined: 1
};

/// For a loss whose gradients the given optimizers will use. Several losses may be scaled before an update, each for
/// the optimizers that it concerns; one for several optimizers carries the smallest of their scales. Without loss
/// scaling it is the loss itself. Throws StateError when an optimizer's loss scaling is chainer_compatible. apex.amp.
/// scale_loss.
[[nodiscard]] KUSARI_API ScaledLoss scale_loss(const Variable& loss, std::span<Optimizer* const> optimizers);
[[nodiscard]] KUSARI_API ScaledLoss scale_loss(const Variable& loss, std::initializer_list<Optimizer*> optimizers);
[[nodiscard]] KUSARI_API ScaledLoss scale_loss(const Variable& loss, Optimizer& optimizer);

}  // namespace kusari::amp
