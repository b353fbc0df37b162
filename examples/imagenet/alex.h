#pragma once

#include <cstdint>

#include <kusari/kusari.h>

// AlexNet on one device, without the partition of its channels. Krizhevsky et al. 2012.
class Alex : public kusari::Chain {
 public:
  static constexpr int64_t kInsize = 227;

  Alex()
      : conv1{*this, "conv1", 3, 96, 11, {.stride = 4}},
        conv2{*this, "conv2", 96, 256, 5, {.pad = 2}},
        conv3{*this, "conv3", 256, 384, 3, {.pad = 1}},
        conv4{*this, "conv4", 384, 384, 3, {.pad = 1}},
        conv5{*this, "conv5", 384, 256, 3, {.pad = 1}},
        fc6{*this, "fc6", kusari::kInfer, 4096},
        fc7{*this, "fc7", 4096, 4096},
        fc8{*this, "fc8", 4096, 1000} {}

  kusari::Variable operator()(const kusari::Variable& x) const {
    using namespace kusari;
    auto h = F::max_pooling_2d(F::local_response_normalization(F::relu(conv1(x))), 3, {.stride = 2});
    h = F::max_pooling_2d(F::local_response_normalization(F::relu(conv2(h))), 3, {.stride = 2});
    h = F::relu(conv4(F::relu(conv3(h))));
    h = F::max_pooling_2d(F::relu(conv5(h)), 3, {.stride = 2});
    h = F::dropout(F::relu(fc6(h)));
    return fc8(F::dropout(F::relu(fc7(h))));
  }

 private:
  kusari::Child<kusari::L::Convolution2D> conv1, conv2, conv3, conv4, conv5;
  kusari::Child<kusari::L::Linear> fc6, fc7, fc8;
};
