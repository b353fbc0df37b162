#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <kusari/kusari.h>

// The networks of Isola et al. 2017, arxiv.org/abs/1611.07004: a U-net, and a discriminator of patches.

enum class Sample { down, up };

struct ConvBnROptions {
  bool use_bn = true;
  Sample sample = Sample::down;  // half or twice as many pixels along each axis
  bool dropout = false;
  bool leaky = true;  // the rectifier
};

// A convolution, batch normalization, perhaps dropout, and a rectifier.
class ConvBnR : public kusari::Chain {
 public:
  ConvBnR(int64_t in, int64_t out, const ConvBnROptions& options = {}) : options_{options}, bn{*this, "bn", out} {
    using namespace kusari;
    const auto w = initializers::Normal(0.02);
    if (options.sample == Sample::down) {
      c.append(AnyLink(L::Convolution2D(in, out, 4, {.stride = 2, .pad = 1, .initial_w = w})));
    } else {
      c.append(AnyLink(L::Deconvolution2D(in, out, 4, {.stride = 2, .pad = 1, .initial_w = w})));
    }
  }

  kusari::Variable operator()(const kusari::Variable& x) const {
    using namespace kusari;
    Variable h = c[0](x);
    if (options_.use_bn) h = bn(h);
    if (options_.dropout) h = F::dropout(h);
    return options_.leaky ? F::leaky_relu(h) : F::relu(h);
  }

 private:
  ConvBnROptions options_;
  kusari::Child<kusari::ChainList<kusari::AnyLink>> c{*this, "c"};
  kusari::Child<kusari::L::BatchNormalization> bn;
};

// What a U-net of a size has on its way down: 64, 128, 256 and then 512 channels, until one pixel is left and half of
// that again: 8 levels for images of 256x256.
inline std::vector<int64_t> unet_channels(int64_t size, int64_t base) {
  std::vector<int64_t> channels{base};
  for (int64_t side = size; side > 2; side /= 2) channels.push_back(std::min(channels.back() * 2, base * 8));
  return channels;
}

// The images at each level, the last one of 2x2 pixels.
class Encoder : public kusari::Chain {
 public:
  Encoder(int64_t in_ch, const std::vector<int64_t>& channels)
      : c0{*this, "c0", in_ch, channels[0], 3, {.pad = 1, .initial_w = kusari::initializers::Normal(0.02)}} {
    for (size_t i = 1; i < channels.size(); ++i) blocks.append(ConvBnR(channels[i - 1], channels[i]));
  }

  std::vector<kusari::Variable> operator()(const kusari::Variable& x) const {
    std::vector<kusari::Variable> hs{kusari::F::leaky_relu(c0(x))};
    for (const ConvBnR& block : blocks) hs.push_back(block(hs.back()));
    return hs;
  }

 private:
  kusari::Child<kusari::L::Convolution2D> c0;
  kusari::Child<kusari::ChainList<ConvBnR>> blocks{*this, "blocks"};
};

// The way back up, which sees each level of the way down.
class Decoder : public kusari::Chain {
 public:
  Decoder(int64_t out_ch, const std::vector<int64_t>& channels)
      : last{*this, "last", 2 * channels[0], out_ch, 3, {.pad = 1, .initial_w = kusari::initializers::Normal(0.02)}} {
    const size_t depth = channels.size();
    for (size_t i = 0; i + 1 < depth; ++i) {
      const int64_t in = channels[depth - 1 - i] * (i == 0 ? 1 : 2);
      blocks.append(ConvBnR(in, channels[depth - 2 - i], {.sample = Sample::up, .dropout = i < 3, .leaky = false}));
    }
  }

  kusari::Variable operator()(const std::vector<kusari::Variable>& hs) const {
    using namespace kusari;
    Variable h = hs.back();
    for (size_t i = 0; i < blocks.size(); ++i) {
      h = blocks[i](h);
      h = F::concat({h, hs[hs.size() - 2 - i]});
    }
    return last(h);
  }

 private:
  kusari::Child<kusari::ChainList<ConvBnR>> blocks{*this, "blocks"};
  kusari::Child<kusari::L::Convolution2D> last;
};

// Scores patches of pairs of images.
class Discriminator : public kusari::Chain {
 public:
  Discriminator(int64_t in_ch, int64_t out_ch, int64_t base)
      : c0_0{*this, "c0_0", in_ch, base / 2, ConvBnROptions{.use_bn = false}},
        c0_1{*this, "c0_1", out_ch, base / 2, ConvBnROptions{.use_bn = false}},
        c1{*this, "c1", base, 2 * base},
        c2{*this, "c2", 2 * base, 4 * base},
        c3{*this, "c3", 4 * base, 8 * base},
        c4{*this, "c4", 8 * base, 1, 3, {.pad = 1, .initial_w = kusari::initializers::Normal(0.02)}} {}

  kusari::Variable operator()(const kusari::Variable& x_0, const kusari::Variable& x_1) const {
    return c4(c3(c2(c1(kusari::F::concat({c0_0(x_0), c0_1(x_1)})))));
  }

 private:
  kusari::Child<ConvBnR> c0_0, c0_1, c1, c2, c3;
  kusari::Child<kusari::L::Convolution2D> c4;
};
