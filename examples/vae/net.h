#pragma once

#include <cstdint>
#include <utility>

#include <kusari/kusari.h>

// A diagonal Gaussian distribution: mean and logarithm of the variance, one per coordinate.
struct Gaussian {
  kusari::Variable mean;
  kusari::Variable ln_var;
};

// q(z|x), the approximate posterior distribution of the latent variables z of an image x (n, n_in)
class Encoder : public kusari::Chain {
 public:
  Encoder(int64_t n_in, int64_t n_latent, int64_t n_h)
      : linear{*this, "linear", n_in, n_h},
        mu{*this, "mu", n_h, n_latent},
        ln_sigma{*this, "ln_sigma", n_h, n_latent} {}

  Gaussian operator()(const kusari::Variable& x) const {
    const auto h = kusari::F::tanh(linear(x));
    return {mu(h), 2 * ln_sigma(h)};
  }

 private:
  kusari::Child<kusari::L::Linear> linear, mu, ln_sigma;
};

// p(x|z): the logits of independent Bernoulli distributions, one per pixel. z: (..., n_latent)
class Decoder : public kusari::Chain {
 public:
  Decoder(int64_t n_in, int64_t n_latent, int64_t n_h)
      : linear{*this, "linear", n_latent, n_h}, output{*this, "output", n_h, n_in} {}

  kusari::Variable operator()(const kusari::Variable& z) const {
    const int n_batch_axes = z.ndim() - 1;
    const auto h = kusari::F::tanh(linear(z, n_batch_axes));
    return output(h, n_batch_axes);
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
    const int64_t k = options_.k, n = x.shape(0), n_latent = q_z.mean.shape(1);
    const auto z =
        F::gaussian(F::broadcast_to(q_z.mean, {k, n, n_latent}), F::broadcast_to(q_z.ln_var, {k, n, n_latent}));

    const auto nll = F::bernoulli_nll(F::broadcast_to(x, {k, n, x.shape(1)}), decoder(z));
    const auto reconstr = -nll / (k * n);
    const auto kl_penalty = F::gaussian_kl_divergence(q_z.mean, q_z.ln_var) / n;
    const auto loss = -(reconstr - options_.beta * kl_penalty);
    report({{"loss", loss}, {"reconstr", reconstr}, {"kl_penalty", kl_penalty}}, *this);
    return loss;
  }

  kusari::Child<Encoder> encoder;
  kusari::Child<Decoder> decoder;

 private:
  AvgElboLossOptions options_;
};
