#pragma once

#include <cstdint>
#include <vector>

#include <kusari/kusari.h>

// Network in Network. Lin et al. 2013.
class Nin : public kusari::Chain {
 public:
  static constexpr int64_t kInsize = 227;

  Nin()
      : mlpconv1{*this, "mlpconv1", 3, Channels{96, 96, 96}, 11, options(4, 0)},
        mlpconv2{*this, "mlpconv2", 96, Channels{256, 256, 256}, 5, options(1, 2)},
        mlpconv3{*this, "mlpconv3", 256, Channels{384, 384, 384}, 3, options(1, 1)},
        mlpconv4{*this, "mlpconv4", 384, Channels{1024, 1024, 1000}, 3, options(1, 1)} {}

  kusari::Variable operator()(const kusari::Variable& x) const {
    using namespace kusari;
    auto h = F::max_pooling_2d(F::relu(mlpconv1(x)), 3, {.stride = 2});
    h = F::max_pooling_2d(F::relu(mlpconv2(h)), 3, {.stride = 2});
    h = F::max_pooling_2d(F::relu(mlpconv3(h)), 3, {.stride = 2});
    return F::global_average_pooling_2d(mlpconv4(F::dropout(h)));
  }

 private:
  using Channels = std::vector<int64_t>;

  static kusari::L::MLPConvolutionOptions options(int64_t stride, int64_t pad) {
    return {.stride = stride, .pad = pad, .conv_init = kusari::initializers::HeNormal()};
  }

  kusari::Child<kusari::L::MLPConvolution2D> mlpconv1, mlpconv2, mlpconv3, mlpconv4;
};
