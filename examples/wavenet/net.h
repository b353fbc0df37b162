#pragma once

#include <cstdint>
#include <vector>

#include <kusari/kusari.h>

// The network of van den Oord et al. 2016, arxiv.org/abs/1609.03499: each sample of a sound after those before it.

struct WaveNetSizes {
  int64_t n_loop = 4;          // how often the dilations begin anew
  int64_t n_layer = 10;        // dilations of 1, 2, 4, ..
  int64_t a_channels = 256;    // amplitudes that are told apart
  int64_t r_channels = 64;     // of the residual path
  int64_t s_channels = 256;    // of what leaves the blocks
  bool use_embed_tanh = true;  // after the first layer

  // How many samples one sample hangs on.
  int64_t receptive_field() const { return n_loop * ((int64_t{1} << n_layer) - 1) + 1; }
};

// A causal convolution of two samples that lie `dilation` apart, the gate, and the ways on and out.
class ResidualBlock : public kusari::Chain {
 public:
  ResidualBlock(int64_t dilation, const WaveNetSizes& sizes)
      : conv{*this, "conv", sizes.r_channels, 2 * sizes.r_channels, 2, {.pad = dilation, .dilate = dilation}},
        condition{*this, "condition", sizes.r_channels, 2 * sizes.r_channels, 1, {.nobias = true}},
        res{*this, "res", sizes.r_channels, sizes.r_channels, 1},
        skip{*this, "skip", sizes.r_channels, sizes.s_channels, 1},
        dilation_{dilation} {}

  struct Result {
    kusari::Variable on, out;
  };
  // h: (N, r, length) of the sounds, c: (N, r, frames) of what is known of them.
  Result operator()(const kusari::Variable& h, const kusari::Variable& c) const {
    using namespace kusari;
    const int64_t length = h.shape(2);
    // The padding of the end would see what comes.
    const Variable past = F::get_item(conv(h), {kEllipsis, Slice{0, length}});
    return gated(h, past + F::repeat(condition(c), length / c.shape(2), 2));
  }

  // The same for one sample: h: (N, r, 1) of now and of `dilation` samples ago, known: condition() of its frame.
  Result step(const kusari::Variable& h, const kusari::Variable& before, const kusari::Variable& known) const {
    using namespace kusari;
    const auto product = [&](const Variable& x, int64_t tap) {
      return F::linear(F::squeeze(x, 2), F::get_item(conv.W, {kEllipsis, tap}));
    };
    const Variable sum = product(before, 0) + product(h, 1) + F::broadcast_to(conv.b, {h.shape(0), conv.b.size()});
    return gated(h, F::expand_dims(sum, 2) + known);
  }

  int64_t dilation() const { return dilation_; }

  kusari::Child<kusari::L::Convolution1D> conv, condition;

 private:
  Result gated(const kusari::Variable& h, const kusari::Variable& sum) const {
    using namespace kusari;
    const auto halves = F::split_axis(sum, 2, 1);
    const Variable z = F::tanh(halves[0]) * F::sigmoid(halves[1]);
    return {h + res(z), skip(z)};
  }

  kusari::Child<kusari::L::Convolution1D> res, skip;
  int64_t dilation_;
};

// Scores of the next sample's amplitudes: x: (N, length) amplitudes, int32; spectrum: (N, bands, frames), of which each
// frame holds for length / frames samples. Returns (N, a_channels, length).
class WaveNet : public kusari::Chain {
 public:
  WaveNet(int64_t bands, const WaveNetSizes& sizes)
      : sizes_{sizes},
        embed{*this, "embed", sizes.a_channels, sizes.r_channels},
        encoder{*this, "encoder", bands, sizes.r_channels, 3, {.pad = 1}},
        proj1{*this, "proj1", sizes.s_channels, sizes.s_channels, 1},
        proj2{*this, "proj2", sizes.s_channels, sizes.a_channels, 1} {
    for (int64_t loop = 0; loop < sizes.n_loop; ++loop) {
      for (int64_t layer = 0; layer < sizes.n_layer; ++layer) {
        blocks.append(ResidualBlock(int64_t{1} << layer, sizes));
      }
    }
  }

  kusari::Variable operator()(const kusari::Variable& x, const kusari::Variable& spectrum) const {
    const kusari::Variable c = encode(spectrum);
    kusari::Variable h = embedded(x), sum;
    for (const ResidualBlock& block : blocks) {
      const auto [on, out] = block(h, c);
      h = on;
      sum = sum.is_defined() ? sum + out : out;
    }
    return scores(sum);
  }

  // The parts of it, for sounds that are made sample by sample.
  kusari::Variable encode(const kusari::Variable& spectrum) const { return kusari::F::tanh(encoder(spectrum)); }
  kusari::Variable embedded(const kusari::Variable& x) const {
    const kusari::Variable h = kusari::F::transpose(embed(x), {0, 2, 1});
    return sizes_.use_embed_tanh ? kusari::F::tanh(h) : h;
  }
  kusari::Variable scores(const kusari::Variable& sum) const {
    using namespace kusari;
    return proj2(F::relu(proj1(F::relu(sum))));
  }

 private:
  WaveNetSizes sizes_;
  kusari::Child<kusari::L::EmbedID> embed;
  kusari::Child<kusari::L::Convolution1D> encoder, proj1, proj2;

 public:
  kusari::Child<kusari::ChainList<ResidualBlock>> blocks{*this, "blocks"};
};
