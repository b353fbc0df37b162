#pragma once

#include <cstdint>

#include <kusari/kusari.h>

#include "kusari/examples/cifar/small.h"

// A VGG-style network for images of 32x32, with batch normalization and much dropout:
// torch.ch/blog/2015/07/30/cifar.html, after arxiv.org/abs/1409.1556. 15 million parameters.
class Vgg : public kusari::Chain {
 public:
  explicit Vgg(int64_t classes)
      : block1_1{*this, "block1_1", 3, 64},
        block1_2{*this, "block1_2", 64, 64},
        block2_1{*this, "block2_1", 64, 128},
        block2_2{*this, "block2_2", 128, 128},
        block3_1{*this, "block3_1", 128, 256},
        block3_2{*this, "block3_2", 256, 256},
        block3_3{*this, "block3_3", 256, 256},
        block4_1{*this, "block4_1", 256, 512},
        block4_2{*this, "block4_2", 512, 512},
        block4_3{*this, "block4_3", 512, 512},
        block5_1{*this, "block5_1", 512, 512},
        block5_2{*this, "block5_2", 512, 512},
        block5_3{*this, "block5_3", 512, 512},
        fc1{*this, "fc1", 512, 512, {.nobias = true}},
        bn_fc1{*this, "bn_fc1", 512},
        fc2{*this, "fc2", 512, classes, {.nobias = true}} {}

  kusari::Variable operator()(const kusari::Variable& x) const {
    using namespace kusari;
    auto h = F::dropout(block1_1(x), 0.3);
    h = F::max_pooling_2d(block1_2(h), 2);
    h = F::dropout(block2_1(h), 0.4);
    h = F::max_pooling_2d(block2_2(h), 2);
    h = F::dropout(block3_1(h), 0.4);
    h = F::dropout(block3_2(h), 0.4);
    h = F::max_pooling_2d(block3_3(h), 2);
    h = F::dropout(block4_1(h), 0.4);
    h = F::dropout(block4_2(h), 0.4);
    h = F::max_pooling_2d(block4_3(h), 2);
    h = F::dropout(block5_1(h), 0.4);
    h = F::dropout(block5_2(h), 0.4);
    h = F::max_pooling_2d(block5_3(h), 2);
    h = bn_fc1.relu(fc1(F::dropout(h)));
    return fc2(F::dropout(h));
  }

 private:
  kusari::Child<Block> block1_1, block1_2, block2_1, block2_2, block3_1, block3_2, block3_3;
  kusari::Child<Block> block4_1, block4_2, block4_3, block5_1, block5_2, block5_3;
  kusari::Child<kusari::L::Linear> fc1;
  kusari::Child<kusari::L::BatchNormalization> bn_fc1;
  kusari::Child<kusari::L::Linear> fc2;
};
