#pragma once

#include <cstdint>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/wavenet/net.h"

// The flags of the sizes, which training and generation must agree on.
inline WaveNetSizes size_flags(Flags& flags) {
  WaveNetSizes sizes;
  sizes.n_loop = flags.count("--n_loop", 4, "Number of residual blocks");
  sizes.n_layer = flags.number("--n_layer", 10, "Number of layers in each residual block", Flags::between(1, 16));
  sizes.a_channels =
      flags.number("--a_channels", 256, "Number of quantization levels of the sounds", Flags::between(2, 65536));
  sizes.r_channels = flags.count("--r_channels", 64, "Number of channels in residual layers and embedding");
  sizes.s_channels = flags.count("--s_channels", 256, "Number of channels in skip layers");
  sizes.use_embed_tanh = flags.flag("!--no_embed_tanh", "No tanh after the embedding");
  return sizes;
}
