#pragma once

#include <cstdint>

#include <kusari/kusari.h>

// Noise that keeps the discriminator from being too sure.
inline kusari::Variable add_noise(const kusari::Variable& h, double sigma = 0.2) {
  using namespace kusari;
  if (!config().train) return h;
  return h + random::normal(h.shape(), {.deviation = sigma, .dtype = h.dtype(), .device = h.device()});
}

// Makes images (N, 3, 32, 32) in 0 .. 1 of random numbers (N, n_hidden).
class Generator : public kusari::Chain {
 public:
  explicit Generator(int64_t n_hidden, int64_t ch = 512, double wscale = 0.02)
      : n_hidden_{n_hidden},
        ch_{ch},
        l0{*this, "l0", n_hidden, kWidth * kWidth * ch, {.initial_w = kusari::initializers::Normal(wscale)}},
        dc1{*this, "dc1", ch, ch / 2, 4, up(wscale)},
        dc2{*this, "dc2", ch / 2, ch / 4, 4, up(wscale)},
        dc3{*this, "dc3", ch / 4, ch / 8, 4, up(wscale)},
        dc4{*this, "dc4", ch / 8, 3, 3, {.pad = 1, .initial_w = kusari::initializers::Normal(wscale)}},
        bn0{*this, "bn0", kWidth * kWidth * ch},
        bn1{*this, "bn1", ch / 2},
        bn2{*this, "bn2", ch / 4},
        bn3{*this, "bn3", ch / 8} {}

  kusari::Variable make_hidden(int64_t n) const {
    return kusari::random::uniform({n, n_hidden_}, {.low = -1, .device = device()});
  }

  kusari::Variable operator()(const kusari::Variable& z) const {
    using namespace kusari;
    auto h = F::reshape(bn0.relu(l0(z)), {z.shape(0), ch_, kWidth, kWidth});
    h = bn1.relu(dc1(h));
    h = bn2.relu(dc2(h));
    h = bn3.relu(dc3(h));
    return F::sigmoid(dc4(h));
  }

 private:
  static constexpr int64_t kWidth = 4;  // of the images at the bottom
  static kusari::L::DeconvolutionOptions up(double wscale) {
    return {.stride = 2, .pad = 1, .initial_w = kusari::initializers::Normal(wscale)};
  }

  int64_t n_hidden_, ch_;
  kusari::Child<kusari::L::Linear> l0;
  kusari::Child<kusari::L::Deconvolution2D> dc1, dc2, dc3, dc4;
  kusari::Child<kusari::L::BatchNormalization> bn0, bn1, bn2, bn3;
};

// Scores images: high ones are taken for real.
class Discriminator : public kusari::Chain {
 public:
  explicit Discriminator(int64_t ch = 512, double wscale = 0.02)
      : c0_0{*this, "c0_0", 3, ch / 8, 3, same(wscale)},
        c0_1{*this, "c0_1", ch / 8, ch / 4, 4, down(wscale)},
        c1_0{*this, "c1_0", ch / 4, ch / 4, 3, same(wscale)},
        c1_1{*this, "c1_1", ch / 4, ch / 2, 4, down(wscale)},
        c2_0{*this, "c2_0", ch / 2, ch / 2, 3, same(wscale)},
        c2_1{*this, "c2_1", ch / 2, ch, 4, down(wscale)},
        c3_0{*this, "c3_0", ch, ch, 3, same(wscale)},
        l4{*this, "l4", 16 * ch, 1, {.initial_w = kusari::initializers::Normal(wscale)}},
        bn0_1{*this, "bn0_1", ch / 4, {.use_gamma = false}},
        bn1_0{*this, "bn1_0", ch / 4, {.use_gamma = false}},
        bn1_1{*this, "bn1_1", ch / 2, {.use_gamma = false}},
        bn2_0{*this, "bn2_0", ch / 2, {.use_gamma = false}},
        bn2_1{*this, "bn2_1", ch, {.use_gamma = false}},
        bn3_0{*this, "bn3_0", ch, {.use_gamma = false}} {}

  kusari::Variable operator()(const kusari::Variable& x) const {
    using kusari::F::leaky_relu;
    auto h = leaky_relu(add_noise(c0_0(add_noise(x))));
    h = leaky_relu(add_noise(bn0_1(c0_1(h))));
    h = leaky_relu(add_noise(bn1_0(c1_0(h))));
    h = leaky_relu(add_noise(bn1_1(c1_1(h))));
    h = leaky_relu(add_noise(bn2_0(c2_0(h))));
    h = leaky_relu(add_noise(bn2_1(c2_1(h))));
    h = leaky_relu(add_noise(bn3_0(c3_0(h))));
    return l4(h);
  }

 private:
  static kusari::L::ConvolutionOptions same(double wscale) {
    return {.pad = 1, .initial_w = kusari::initializers::Normal(wscale)};
  }
  static kusari::L::ConvolutionOptions down(double wscale) {
    return {.stride = 2, .pad = 1, .initial_w = kusari::initializers::Normal(wscale)};
  }

  kusari::Child<kusari::L::Convolution2D> c0_0, c0_1, c1_0, c1_1, c2_0, c2_1, c3_0;
  kusari::Child<kusari::L::Linear> l4;
  kusari::Child<kusari::L::BatchNormalization> bn0_1, bn1_0, bn1_1, bn2_0, bn2_1, bn3_0;
};
