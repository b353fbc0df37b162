#pragma once

#include "kusari/framework/kernels/math.h"

// One step of an optimizer on one element. Members are the numbers of the step, all float64, in the order in which the
// optimizer writes them to the memory that the kernel reads: a recorded step sees today's learning rate and clock.
// g: the gradient; p: the parameter; the rest is the state. Formulas: Chainer's, chainer/optimizers/*.py.
namespace kusari::kernels {

/// km::pow for the numbers of a step, which are too few to be worth its code in each place. Each source has its own:
/// some are compiled for several instruction sets.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
KUSARI_HOST_DEVICE double step_pow(double x, double y) { return km::pow(x, y); }
#else
[[maybe_unused, gnu::noinline]] static double step_pow(double x, double y) { return km::pow(x, y); }
#endif

struct SgdStep {
  static constexpr const char* kName = "sgd_step";
  static constexpr int kStates = 0;
  double lr;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p) const {
    p -= static_cast<T>(lr) * g;
  }
};

struct MomentumSgdStep {
  static constexpr const char* kName = "momentum_sgd_step";
  static constexpr int kStates = 1;
  double lr, momentum;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& v) const {
    v = static_cast<T>(momentum) * v - static_cast<T>(lr) * g;
    p += v;
  }
};

struct CorrectedMomentumSgdStep {
  static constexpr const char* kName = "corrected_momentum_sgd_step";
  static constexpr int kStates = 1;
  double lr, momentum;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& v) const {
    v = static_cast<T>(momentum) * v - g;
    p += static_cast<T>(lr) * v;
  }
};

struct NesterovAgStep {
  static constexpr const char* kName = "nesterov_ag_step";
  static constexpr int kStates = 1;
  double lr, momentum;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& v) const {
    const T mu = static_cast<T>(momentum), step = static_cast<T>(lr) * g;
    v = mu * v - step;
    p += mu * mu * v - (T(1) + mu) * step;
  }
};

struct AdaGradStep {
  static constexpr const char* kName = "ada_grad_step";
  static constexpr int kStates = 1;
  double lr, eps;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& h) const {
    h += g * g;
    p -= static_cast<T>(lr) * g / (km::sqrt(h) + static_cast<T>(eps));
  }
};

struct AdaDeltaStep {
  static constexpr const char* kName = "ada_delta_step";
  static constexpr int kStates = 2;
  double rho, eps;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& msdx, T& msg) const {
    const T r = static_cast<T>(rho), rest = static_cast<T>(1 - rho), e = static_cast<T>(eps);
    msg = r * msg + rest * g * g;
    const T dx = km::sqrt((msdx + e) / (msg + e)) * g;
    msdx = r * msdx + rest * dx * dx;
    p -= dx;
  }
};

struct RmsPropStep {
  static constexpr const char* kName = "rms_prop_step";
  static constexpr int kStates = 1;
  double lr, alpha, eps;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& ms) const {
    ms = static_cast<T>(alpha) * ms + static_cast<T>(1 - alpha) * g * g;
    p -= static_cast<T>(lr) * g / (km::sqrt(ms) + static_cast<T>(eps));
  }
};

struct RmsPropInsideStep {  // eps_inside_sqrt
  static constexpr const char* kName = "rms_prop_inside_step";
  static constexpr int kStates = 1;
  double lr, alpha, eps;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& ms) const {
    ms = static_cast<T>(alpha) * ms + static_cast<T>(1 - alpha) * g * g;
    p -= static_cast<T>(lr) * g / km::sqrt(ms + static_cast<T>(eps));
  }
};

struct RmsPropGravesStep {
  static constexpr const char* kName = "rms_prop_graves_step";
  static constexpr int kStates = 3;
  double lr, alpha, momentum, eps;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& n, T& mean, T& delta) const {
    const T a = static_cast<T>(alpha), rest = static_cast<T>(1 - alpha);
    n = a * n + rest * g * g;
    mean = a * mean + rest * g;
    delta = static_cast<T>(momentum) * delta - static_cast<T>(lr) * g / km::sqrt(n - mean * mean + static_cast<T>(eps));
    p += delta;
  }
};

struct Smorms3Step {
  static constexpr const char* kName = "smorms3_step";
  static constexpr int kStates = 3;
  double lr, eps;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& mem, T& mean, T& square) const {
    const T r = T(1) / (mem + T(1)), e = static_cast<T>(eps);
    mean = (T(1) - r) * mean + r * g;
    square = (T(1) - r) * square + r * g * g;
    const T x = mean * mean / (square + e);
    p -= g * km::min(static_cast<T>(lr), x) / (km::sqrt(square) + e);
    mem = T(1) + mem * (T(1) - x);
  }
};

struct AdamStep {
  static constexpr const char* kName = "adam_step";
  static constexpr int kStates = 2;
  double alpha_t, beta1, beta2, eps, eta, weight_decay_rate;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& m, T& v) const {
    m += static_cast<T>(1 - beta1) * (g - m);
    v += static_cast<T>(1 - beta2) * (g * g - v);
    p -= static_cast<T>(eta) *
         (static_cast<T>(alpha_t) * m / (km::sqrt(v) + static_cast<T>(eps)) + static_cast<T>(weight_decay_rate) * p);
  }
};

/// The numbers of AdamStep and AmsGradStep at step t.
struct AdamSchedule {
  static constexpr const char* kName = "adam_numbers";
  double alpha, beta1, beta2, eps, eta, weight_decay_rate;
  KUSARI_HOST_DEVICE double corrected_alpha(double t) const {
    return alpha * km::sqrt(1 - step_pow(beta2, t)) / (1 - step_pow(beta1, t));
  }
  KUSARI_HOST_DEVICE AdamStep operator()(double t) const {
    return {corrected_alpha(t), beta1, beta2, eps, eta, weight_decay_rate};
  }
};

/// The numbers of AdamStep with PyTorch's AdamW: both the decay and the step go with the learning rate, and eps is
/// added to the root of the corrected second moment.
struct DecoupledAdamSchedule {
  static constexpr const char* kName = "decoupled_adam_numbers";
  double lr, beta1, beta2, eps, weight_decay_rate;
  KUSARI_HOST_DEVICE AdamStep operator()(double t) const {
    const double root = km::sqrt(1 - step_pow(beta2, t));
    return {lr * root / (1 - step_pow(beta1, t)), beta1, beta2, eps * root, 1, lr * weight_decay_rate};
  }
};

struct LionStep {
  static constexpr const char* kName = "lion_step";
  static constexpr int kStates = 1;
  double lr, beta1, beta2, weight_decay_rate;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& m) const {
    const T direction = m + static_cast<T>(1 - beta1) * (g - m);
    p -= static_cast<T>(lr) * (km::sign(direction) + static_cast<T>(weight_decay_rate) * p);
    m += static_cast<T>(1 - beta2) * (g - m);
  }
};

/// `divides`: 0 while the second moment says too little, else 1.
struct RAdamStep {
  static constexpr const char* kName = "radam_step";
  static constexpr int kStates = 2;
  double rate, beta1, beta2, eps, decay, divides;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& m, T& v) const {
    m += static_cast<T>(1 - beta1) * (g - m);
    v += static_cast<T>(1 - beta2) * (g * g - v);
    const T step = static_cast<T>(rate) * m;
    p -= static_cast<T>(decay) * p + (divides != 0 ? step / (km::sqrt(v) + static_cast<T>(eps)) : step);
  }
};

/// The numbers of RAdamStep at step t. rho: the length of the simple average that v is worth.
struct RAdamSchedule {
  static constexpr const char* kName = "radam_numbers";
  double lr, beta1, beta2, eps, weight_decay_rate;
  KUSARI_HOST_DEVICE RAdamStep operator()(double t) const {
    const double power = step_pow(beta2, t), most = 2 / (1 - beta2) - 1;
    const double rho = most - 2 * t * power / (1 - power), corrected = lr / (1 - step_pow(beta1, t));
    if (!(rho > 5)) return {corrected, beta1, beta2, eps, lr * weight_decay_rate, 0};
    const double r = km::sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho));
    return {corrected * r * km::sqrt(1 - power), beta1, beta2, eps, lr * weight_decay_rate, 1};
  }
};

struct NAdamStep {
  static constexpr const char* kName = "nadam_step";
  static constexpr int kStates = 2;
  double gradient_rate, momentum_rate, beta1, beta2, eps, decay;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& m, T& v) const {
    m += static_cast<T>(1 - beta1) * (g - m);
    v += static_cast<T>(1 - beta2) * (g * g - v);
    p -= static_cast<T>(decay) * p +
         (static_cast<T>(gradient_rate) * g + static_cast<T>(momentum_rate) * m) / (km::sqrt(v) + static_cast<T>(eps));
  }
};

/// The numbers of NAdamStep at step t. The momentum of step i is mu_i = beta1 (1 - 0.96^(i momentum_decay) / 2).
struct NAdamSchedule {
  static constexpr const char* kName = "nadam_numbers";
  double lr, beta1, beta2, eps, weight_decay_rate, momentum_decay;
  /// mu_1 .. mu_t. Factors that cannot be told from beta1 follow as its power, and none follow a product that vanishes
  /// beside 1: some dozens are multiplied, whatever t is, and some thousands at most for other hyperparameters.
  KUSARI_HOST_DEVICE double product(double t) const {
    const double ratio = step_pow(0.96, momentum_decay);
    double made = 1, power = 1, i = 0;
    while (i < t && made > 1e-18) {
      power *= ratio;
      if (power < 1e-17) return made * step_pow(beta1, t - i);
      made *= beta1 * (1 - power / 2);
      i += 1;
    }
    return made;
  }
  KUSARI_HOST_DEVICE NAdamStep operator()(double t) const {
    const double mu = beta1 * (1 - step_pow(0.96, t * momentum_decay) / 2);
    const double next = beta1 * (1 - step_pow(0.96, (t + 1) * momentum_decay) / 2);
    const double made = product(t), root = km::sqrt(1 - step_pow(beta2, t));  // root: as in DecoupledAdamSchedule
    return {lr * root * (1 - mu) / (1 - made),
            lr * root * next / (1 - made * next),
            beta1,
            beta2,
            eps * root,
            lr * weight_decay_rate};
  }
};

struct AmsGradStep {
  static constexpr const char* kName = "ams_grad_step";
  static constexpr int kStates = 3;
  double alpha_t, beta1, beta2, eps, eta, weight_decay_rate;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& m, T& v, T& vhat) const {
    m += static_cast<T>(1 - beta1) * (g - m);
    v += static_cast<T>(1 - beta2) * (g * g - v);
    vhat = km::max(vhat, v);
    p -= static_cast<T>(eta) *
         (static_cast<T>(alpha_t) * m / (km::sqrt(vhat) + static_cast<T>(eps)) + static_cast<T>(weight_decay_rate) * p);
  }
};

struct AdaBoundStep {
  static constexpr const char* kName = "ada_bound_step";
  static constexpr int kStates = 2;
  double alpha_t, beta1, beta2, eps, eta, weight_decay_rate, lower, upper;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& m, T& v) const {
    m += static_cast<T>(1 - beta1) * (g - m);
    v += static_cast<T>(1 - beta2) * (g * g - v);
    const T rate = static_cast<T>(alpha_t) / (km::sqrt(v) + static_cast<T>(eps));
    const T clipped = km::min(km::max(rate, static_cast<T>(lower)), static_cast<T>(upper));
    p -= static_cast<T>(eta) * (clipped * m + static_cast<T>(weight_decay_rate) * p);
  }
};

/// The numbers of AdaBoundStep and AmsBoundStep at step t.
struct AdaBoundSchedule {
  static constexpr const char* kName = "ada_bound_numbers";
  AdamSchedule adam;
  double final_rate, gamma;
  KUSARI_HOST_DEVICE AdaBoundStep operator()(double t) const {
    const double progress = gamma * t;
    const double lower = final_rate * (1 - 1 / (progress + 1)), upper = final_rate * (1 + 1 / progress);
    return {adam.corrected_alpha(t), adam.beta1, adam.beta2, adam.eps, adam.eta, adam.weight_decay_rate, lower, upper};
  }
};

struct AmsBoundStep {
  static constexpr const char* kName = "ams_bound_step";
  static constexpr int kStates = 3;
  double alpha_t, beta1, beta2, eps, eta, weight_decay_rate, lower, upper;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& m, T& v, T& vhat) const {
    m += static_cast<T>(1 - beta1) * (g - m);
    v += static_cast<T>(1 - beta2) * (g * g - v);
    vhat = km::max(vhat, v);
    const T rate = static_cast<T>(alpha_t) / (km::sqrt(vhat) + static_cast<T>(eps));
    const T clipped = km::min(km::max(rate, static_cast<T>(lower)), static_cast<T>(upper));
    p -= static_cast<T>(eta) * (clipped * m + static_cast<T>(weight_decay_rate) * p);
  }
};

struct MsvagStep {
  static constexpr const char* kName = "msvag_step";
  static constexpr int kStates = 2;
  double lr, beta, eta, weight_decay_rate, beta_power, rho;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& m, T& v) const {
    const T rest = static_cast<T>(1 - beta), bias = static_cast<T>(1 - beta_power);
    m += rest * (g - m);
    v += rest * (g * g - v);
    const T mt = m / bias, vt = v / bias, mt2 = mt * mt;
    const T s = (vt - mt2) / static_cast<T>(1 - rho);
    const T factor = mt2 / (mt2 + static_cast<T>(rho) * s);
    const T known = factor == factor ? km::min(km::max(factor, T(0)), T(1)) : T(0);  // 0 / 0, or an overflow
    p -= static_cast<T>(eta) * (static_cast<T>(lr) * mt * known + static_cast<T>(weight_decay_rate) * p);
  }
};

/// The numbers of MsvagStep at step t.
struct MsvagSchedule {
  static constexpr const char* kName = "msvag_numbers";
  double lr, beta, eta, weight_decay_rate;
  KUSARI_HOST_DEVICE MsvagStep operator()(double t) const {
    const double beta_power = step_pow(beta, t), rest = 1 - beta, rest_power = 1 - beta_power;
    const double ratio = rest * rest * (1 - beta_power * beta_power) / (rest_power * rest_power * (1 - beta * beta));
    return {lr, beta, eta, weight_decay_rate, beta_power, km::min(ratio, 0.9999)};
  }
};

// Steps with a rate for each parameter, from the norms of the whole parameter and of another tensor: see LayerNumbers.

struct LarsStep {
  static constexpr const char* kName = "lars_step";
  static constexpr int kStates = 1;
  double rate, momentum, weight_decay_rate;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& v) const {
    v = static_cast<T>(momentum) * v - static_cast<T>(rate) * (g + static_cast<T>(weight_decay_rate) * p);
    p += v;
  }
};

/// From the hyperparameters to the numbers of LarsStep. `other`: the squared norm of the gradient.
struct LarsRule {
  static constexpr const char* kName = "lars_numbers";
  using Step = LarsStep;
  double lr, momentum, weight_decay_rate, trust_coefficient, eps;
  KUSARI_HOST_DEVICE LarsStep operator()(double parameter, double other) const {
    const double p = km::sqrt(parameter), g = km::sqrt(other);
    const double trust = p > 0 && g > 0 ? trust_coefficient * p / (g + weight_decay_rate * p + eps) : 1;
    return {lr * trust, momentum, weight_decay_rate};
  }
};

/// The first half of LAMB's step: the moments, and the direction r. `lr` is for LambRule.
struct LambDirectionStep {
  static constexpr const char* kName = "lamb_direction_step";
  static constexpr int kStates = 3;
  double beta1, beta2, correction1, correction2, eps, weight_decay_rate, lr;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T g, T& p, T& m, T& v, T& r) const {
    m += static_cast<T>(1 - beta1) * (g - m);
    v += static_cast<T>(1 - beta2) * (g * g - v);
    r = m * static_cast<T>(correction1) / (km::sqrt(v * static_cast<T>(correction2)) + static_cast<T>(eps)) +
        static_cast<T>(weight_decay_rate) * p;
  }
};

/// The numbers of LambDirectionStep at step t.
struct LambSchedule {
  static constexpr const char* kName = "lamb_numbers";
  double lr, beta1, beta2, eps, weight_decay_rate;
  KUSARI_HOST_DEVICE LambDirectionStep operator()(double t) const {
    return {beta1, beta2, 1 / (1 - step_pow(beta1, t)), 1 / (1 - step_pow(beta2, t)), eps, weight_decay_rate, lr};
  }
};

/// The second half: along the direction.
struct LambStep {
  static constexpr const char* kName = "lamb_step";
  static constexpr int kStates = 0;
  double rate;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T r, T& p) const {
    p -= static_cast<T>(rate) * r;
  }
};

/// From the numbers of LambDirectionStep to those of LambStep. `other`: the squared norm of the direction.
struct LambRule {
  static constexpr const char* kName = "lamb_rate";
  using Step = LambStep;
  LambDirectionStep first;
  KUSARI_HOST_DEVICE LambStep operator()(double parameter, double other) const {
    return {parameter > 0 && other > 0 ? first.lr * km::sqrt(parameter / other) : first.lr};
  }
};

// Gradients in place; p is the parameter.
struct WeightDecayHook {
  static constexpr const char* kName = "weight_decay";
  static constexpr int kStates = 0;
  double rate;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T p, T& g) const {
    g += static_cast<T>(rate) * p;
  }
};

struct LassoHook {
  static constexpr const char* kName = "lasso";
  static constexpr int kStates = 0;
  double rate;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T p, T& g) const {
    g += static_cast<T>(rate) * km::sign(p);
  }
};

struct ScaleHook {
  static constexpr const char* kName = "scale_gradients";
  static constexpr int kStates = 0;
  double rate;
  /// Whether the step changes nothing: then the tensors are not even read.
  KUSARI_HOST_DEVICE bool is_identity() const { return rate == 1; }
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T, T& g) const {
    g *= static_cast<T>(rate);
  }
};

struct HardClippingHook {
  static constexpr const char* kName = "gradient_hard_clipping";
  static constexpr int kStates = 0;
  double lower, upper;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T, T& g) const {
    g = km::min(km::max(g, static_cast<T>(lower)), static_cast<T>(upper));
  }
};

struct LarsHook {
  static constexpr const char* kName = "gradient_lars";
  static constexpr int kStates = 0;
  double weight_decay, rate;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T p, T& g) const {
    g = (g + static_cast<T>(weight_decay) * p) * static_cast<T>(rate);
  }
};

/// The first argument is another gradient of the same parameter.
struct AddHook {
  static constexpr const char* kName = "add_gradients";
  static constexpr int kStates = 0;
  double weight;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T other, T& g) const {
    g += static_cast<T>(weight) * other;
  }
};

/// The first argument is noise of deviation 1.
struct NoiseHook {
  static constexpr const char* kName = "gradient_noise";
  static constexpr int kStates = 0;
  double deviation;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T noise, T& g) const {
    g += static_cast<T>(deviation) * noise;
  }
};

/// Moves an average towards a value.
struct MovingAverageStep {
  static constexpr const char* kName = "moving_average";
  static constexpr int kStates = 0;
  double rate;
  template <class T>
  KUSARI_HOST_DEVICE void operator()(T value, T& average) const {
    average += static_cast<T>(rate) * (value - average);
  }
};

/// The numbers of NoiseHook after t steps.
struct NoiseSchedule {
  static constexpr const char* kName = "gradient_noise_numbers";
  double eta;
  KUSARI_HOST_DEVICE NoiseHook operator()(double t) const { return {km::sqrt(eta / step_pow(1 + t, 0.55))}; }
};

/// The numbers of an optimizer of the user's, and the count of the step behind them.
struct ComposedNumbers {
  double values[15], t;
};
struct ComposedSchedule {
  static constexpr const char* kName = "composed_numbers";
  double values[15];
  KUSARI_HOST_DEVICE ComposedNumbers operator()(double t) const {
    ComposedNumbers numbers{};
    for (int i = 0; i < 15; ++i) numbers.values[i] = values[i];
    numbers.t = t;
    return numbers;
  }
};

/// ScaleHook's rate, which makes a norm at most `threshold`. A norm of NaN is left alone.
struct ClippingRate {
  double threshold;
  KUSARI_HOST_DEVICE double operator()(double squared_norm) const {
    const double norm = km::sqrt(squared_norm);
    return norm > threshold ? threshold / norm : 1;
  }
};

/// LarsHook's rate for a parameter and its gradient, given their squared norms.
struct LarsRate {
  double threshold, weight_decay, eps;
  KUSARI_HOST_DEVICE double operator()(double parameter, double gradient) const {
    const double norm = km::sqrt(parameter);
    return norm > threshold ? norm / (eps + km::sqrt(gradient) + weight_decay * norm) : 1;
  }
};

}  // namespace kusari::kernels

#define KUSARI_OPTIMIZER_STEPS(V) \
  V(SgdStep)                      \
  V(MomentumSgdStep)              \
  V(CorrectedMomentumSgdStep)     \
  V(NesterovAgStep)               \
  V(AdaGradStep)                  \
  V(AdaDeltaStep)                 \
  V(RmsPropStep)                  \
  V(RmsPropInsideStep)            \
  V(RmsPropGravesStep)            \
  V(Smorms3Step)                  \
  V(AdamStep)                     \
  V(LionStep)                     \
  V(RAdamStep)                    \
  V(NAdamStep)                    \
  V(AmsGradStep)                  \
  V(AdaBoundStep)                 \
  V(AmsBoundStep)                 \
  V(MsvagStep)                    \
  V(LarsStep)                     \
  V(LambDirectionStep)            \
  V(LambStep)                     \
  V(WeightDecayHook)              \
  V(LassoHook)                    \
  V(ScaleHook)                    \
  V(HardClippingHook)             \
  V(LarsHook)                     \
  V(AddHook)                      \
  V(NoiseHook)                    \
  V(MovingAverageStep)

#define KUSARI_STEP_SCHEDULES(V) \
  V(AdamSchedule)                \
  V(AdaBoundSchedule)            \
  V(MsvagSchedule)               \
  V(DecoupledAdamSchedule)       \
  V(RAdamSchedule)               \
  V(NAdamSchedule)               \
  V(LambSchedule)                \
  V(NoiseSchedule)               \
  V(ComposedSchedule)

#define KUSARI_LAYER_RULES(V) \
  V(LarsRule)                 \
  V(LambRule)
