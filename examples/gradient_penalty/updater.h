#pragma once

#include <cstdint>

#include <kusari/kusari.h>

#include "kusari/examples/gradient_penalty/net.h"

struct WganGpOptions {
  int64_t n_latent = 2;        // numbers that the generator makes a point of
  int64_t n_critic = 5;        // steps of the critic for one of the generator
  double gradient_weight = 1;  // lambda, the weight of the gradient penalty
  kusari::Device device = {};
};

// One step of the generator, after several of the critic. Wasserstein GAN with gradient penalty, Gulrajani et al. 2017.
class WganGpUpdater : public kusari::updaters::StandardUpdater {
 public:
  WganGpUpdater(kusari::iterators::IteratorRef iterator, Mlp& gen, Mlp& critic, kusari::Optimizer& gen_optimizer,
                kusari::Optimizer& critic_optimizer, const WganGpOptions& options)
      : StandardUpdater({{"main", iterator}}, {{"gen", gen_optimizer}, {"critic", critic_optimizer}},
                        {.device = options.device}),
        gen_{gen},
        critic_{critic},
        options_{options} {}

  // n new points.
  kusari::Variable generate(int64_t n) {
    return gen_(kusari::random::normal({n, options_.n_latent}, {.device = options_.device}));
  }

 protected:
  void update_core() override {
    using namespace kusari;
    int64_t n = 0;  // of the batch
    for (int64_t i = 0; i < options_.n_critic; ++i) {
      const Variable x_real = next_inputs()[0];
      n = x_real.shape(0);
      const Variable x_fake = generate(n).array();  // without its graph
      get_optimizer("critic").update([&] { return critic_loss(x_real, x_fake); });
    }
    get_optimizer("gen").update([&] {
      const auto loss = -F::mean(critic_(generate(n)));
      report({{"loss", loss}}, gen_);
      return loss;
    });
  }

 private:
  // The critic is to score real points higher than generated ones, with a gradient of norm 1 between them.
  kusari::Variable critic_loss(const kusari::Variable& x_real, const kusari::Variable& x_fake) {
    using namespace kusari;
    const auto distance = F::mean(critic_(x_real)) - F::mean(critic_(x_fake));

    const Variable eps = random::uniform({x_real.shape(0), 1}, {.device = options_.device});
    const Variable x_between((eps * x_real + (1 - eps) * x_fake).array());
    const auto gradient = grad({critic_(x_between)}, {x_between}, {.enable_double_backprop = true})[0];
    const auto norm = F::sqrt(F::batch_l2_norm_squared(gradient));
    const auto penalty = F::mean(F::square(norm - 1));

    report({{"distance", distance}, {"gradient_norm", F::mean(norm)}, {"penalty", penalty}}, critic_);
    return options_.gradient_weight * penalty - distance;
  }

  Mlp& gen_;
  Mlp& critic_;
  WganGpOptions options_;
};
