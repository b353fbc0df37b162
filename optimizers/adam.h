#pragma once

#include "kusari/optimizers/optimizer.h"

namespace kusari::optimizers {

/// Hyperparameters of Adam and its relatives.
struct AdamOptions {
  double alpha = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double eta = 1;                ///< scales the step and the weight decay
  double weight_decay_rate = 0;  ///< AdamW: decay of the parameter itself
  bool amsgrad = false;          ///< divide by the largest v so far
  bool adabound = false;         ///< clip the step sizes between bounds that close in on final_lr
  double final_lr = 0.1;         ///< adabound
  double gamma = 1e-3;           ///< adabound: how fast the bounds close in
};

/// Adam: m += (1 - beta1)(g - m); v += (1 - beta2)(g g - v);
/// p -= eta (alpha_t m / (sqrt(v) + eps) + weight_decay_rate p), with alpha_t = alpha sqrt(1 - beta2^t) / (1 -
/// beta1^t). Kingma and Ba 2015; chainer.optimizers.Adam.
class KUSARI_API Adam : public Optimizer, public AdamOptions {
 public:
  explicit Adam(const AdamOptions& options = {}) : AdamOptions{options}, initial_alpha_{options.alpha} {}
  explicit Adam(double step_size) : Adam(AdamOptions{.alpha = step_size}) {}
  const char* name() const override { return "Adam"; }
  /// The bias-corrected step size alpha_t of the last step. Throws StateError before the first.
  double lr() const;

 private:
  std::vector<Field> fields() override;
  std::span<const char* const> state_names() const noexcept override;
  detail::StepMethod method() const override;
  // Those that derive from it are the same rule with other options, which a training may change on its way.
  const char* rule_name() const final { return "Adam"; }

  double initial_alpha_;
};

/// Adam with decoupled weight decay: Adam with a weight_decay_rate. Loshchilov and Hutter 2019;
/// chainer.optimizers.AdamW.
class KUSARI_API AdamW : public Adam {
 public:
  explicit AdamW(const AdamOptions& options = {}) : Adam(options) {}
  explicit AdamW(double step_size) : AdamW(AdamOptions{.alpha = step_size}) {}
  const char* name() const override { return "AdamW"; }
};

/// Adam with amsgrad. Reddi et al. 2018; chainer.optimizers.AMSGrad.
class KUSARI_API AMSGrad : public Adam {
 public:
  explicit AMSGrad(const AdamOptions& options = {}) : Adam(options) { amsgrad = true; }
  explicit AMSGrad(double step_size) : AMSGrad(AdamOptions{.alpha = step_size}) {}
  const char* name() const override { return "AMSGrad"; }
};

/// Adam with adabound. Luo et al. 2019; chainer.optimizers.AdaBound.
class KUSARI_API AdaBound : public Adam {
 public:
  explicit AdaBound(const AdamOptions& options = {}) : Adam(options) { adabound = true; }
  explicit AdaBound(double step_size) : AdaBound(AdamOptions{.alpha = step_size}) {}
  const char* name() const override { return "AdaBound"; }
};

/// Adam with amsgrad and adabound. Luo et al. 2019; chainer.optimizers.AMSBound.
class KUSARI_API AMSBound : public Adam {
 public:
  explicit AMSBound(const AdamOptions& options = {}) : Adam(options) { amsgrad = adabound = true; }
  explicit AMSBound(double step_size) : AMSBound(AdamOptions{.alpha = step_size}) {}
  const char* name() const override { return "AMSBound"; }
};

}  // namespace kusari::optimizers
