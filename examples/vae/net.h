#pragma once

#include <cstdint>
#include <utility>

#include <kusari/kusari.h>

// q(z|x), the approximate posterior distribution of the latent variables z of an image x (n, n_in): normal, each
// coordinate by itself.
class Encoder : public kusari::Chain {
 public:
  Encoder(int64_t n_in, int64_t n_latent, int64_t n_h)
      : linear{*this, "linear", n_in, n_h},
        mu{*this, "mu", n_h, n_latent},
        ln_sigma{*this, "ln_sigma", n_h, n_latent} {}

  kusari::D::Independent operator()(const kusari::Variable& x) const {
    const auto h = kusari::F::tanh(linear(x));
    return kusari::D::Independent(kusari::D::Normal(mu(h), {.log_scale = ln_sigma(h)}));
  }

 private:
  kusari::Child<kusari::L::Linear> linear, mu, ln_sigma;
};

// p(x|z): each pixel is 1 with a probability of its own. z: (..., n_latent)
class Decoder : public kusari::Chain {
 public:
  Decoder(int64_t n_in, int64_t n_latent, int64_t n_h)
      : linear{*this, "linear", n_latent, n_h}, output{*this, "output", n_h, n_in} {}

  kusari::D::Independent operator()(const kusari::Variable& z) const {
    const int n_batch_axes = z.ndim() - 1;
    const auto h = kusari::F::tanh(linear(z, n_batch_axes));
    return kusari::D::Independent(kusari::D::Bernoulli({.logit = output(h, n_batch_axes)}), 1);
  }

 private:
  kusari::Child<kusari::L::Linear> linear, output;
};

struct AvgElboLossOptions {
  double beta = 1;  // weight of the second term of the bound, which works as regularization
  int64_t k = 1;    // Monte Carlo samples of z for each image
};

// The evidence lower bound of log p(x), times -1, averaged over the images of a batch. The prior p(z) is the standard
// normal distribution. Kingma and Welling 2014; with beta, Higgins et al. 2017.
class AvgElboLoss : public kusari::Chain {
 public:
  AvgElboLoss(Encoder x_to_z, Decoder z_to_x, const AvgElboLossOptions& options = {})
      : encoder{*this, "encoder", std::move(x_to_z)}, decoder{*this, "decoder", std::move(z_to_x)}, options_{options} {}

  kusari::Variable operator()(const kusari::Variable& x) const {
    using namespace kusari;
    const auto q_z = encoder(x);
    const auto z = q_z.sample({options_.k});
    const auto p_x = decoder(z);
    const D::Independent p_z(D::Normal(zeros_like(q_z.mean().array()), 1));

    const auto reconstr = F::average(p_x.log_prob(x));
    const auto kl_penalty = F::average(D::kl_divergence(q_z, p_z));
    const auto loss = -(reconstr - options_.beta * kl_penalty);
    report({{"loss", loss}, {"reconstr", reconstr}, {"kl_penalty", kl_penalty}}, *this);
    return loss;
  }

  kusari::Child<Encoder> encoder;
  kusari::Child<Decoder> decoder;

 private:
  AvgElboLossOptions options_;
};
