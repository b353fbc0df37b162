#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/sentences.h"

// What is seen in pictures: (B, 3, H, W) to (B, features).

// A small network, trained together with the words.
class SmallCnn : public kusari::Chain {
 public:
  explicit SmallCnn(int64_t size)
      : preparation{.size = size, .mean = {127.5, 127.5, 127.5}, .deviation = {127.5, 127.5, 127.5}} {}
  kusari::Variable operator()(const kusari::Variable& x) const {
    namespace F = kusari::F;
    const auto half = [](const kusari::Variable& h) { return F::max_pooling_2d(F::relu(h), 2); };
    return half(bn3(conv3(half(bn2(conv2(half(bn1(conv1(x)))))))));
  }

  kusari::L::ImagePreparation preparation;
  kusari::Child<kusari::L::Convolution2D> conv1{*this, "conv1", kusari::kInfer, 8, 3, {.pad = 1}},
      conv2{*this, "conv2", 8, 16, 3, {.pad = 1}}, conv3{*this, "conv3", 16, 32, 3, {.pad = 1}};
  kusari::Child<kusari::L::BatchNormalization> bn1{*this, "bn1", 8}, bn2{*this, "bn2", 16}, bn3{*this, "bn3", 32};
};

// A ResNet with weights of its own, which stay as they are: Chainer's ResNet-50-model.npz, or those of a training here.
class FrozenResNet : public kusari::Chain {
 public:
  explicit FrozenResNet(int64_t size) : preparation{resnet.preparation} {
    preparation.size = size;
    resnet.disable_update();
  }
  void load(const std::string& path) { kusari::serializers::load_npz(path, resnet); }
  kusari::Variable operator()(const kusari::Variable& x) const {
    const auto no_graph = kusari::no_backprop_mode();
    const auto test_mode = kusari::using_config(&kusari::Config::train, false);
    return resnet(x, {"pool5"}).at("pool5");
  }

  kusari::Child<kusari::L::ResNet50Layers> resnet{*this, "resnet"};
  kusari::L::ImagePreparation preparation;
};

// What is seen is the state that a recurrent network begins to speak with: Vinyals et al. 2015.
template <class Cnn>
class CaptionNet : public kusari::Chain {
 public:
  CaptionNet(Cnn of_pictures, int64_t words, int64_t units)
      : cnn{*this, "cnn", std::move(of_pictures)},
        seen{*this, "seen", kusari::kInfer, 2 * units},
        embed{*this, "embed", words, units},
        decoder{*this, "decoder", 1, units, units, 0.0},
        out{*this, "out", units, words} {}

  // The loss of a caption, the mean of a batch, which is what join_captions gives.
  kusari::Variable operator()(const kusari::Variable& pictures, const kusari::Variable& read,
                              const kusari::Variable& lengths, const kusari::Variable& said, const kusari::Variable&) {
    const auto packed = kusari::PackedSequence::from_lengths(read, lengths.array());
    const auto [c, h] = look(pictures);
    const auto [hy, cy, os] = decoder(h, c, packed.map(embed));
    return loss_of_sentences(out(os.data()), said, packed, *this);
  }

  // The likeliest caption of each picture, (B, 3, H, W).
  std::vector<kusari::Array> describe(const kusari::Array& pictures, int64_t beams, int64_t longest) const {
    const auto no_graph = kusari::no_backprop_mode();
    const auto test_mode = kusari::using_config(&kusari::Config::train, false);
    const auto [c, h] = look(kusari::Variable(pictures.to_device(this->device()), false));
    return say_likeliest({embed, decoder, out}, h, c, beams, longest);
  }

  kusari::Child<Cnn> cnn;
  kusari::Child<kusari::L::Linear> seen;
  kusari::Child<kusari::L::EmbedID> embed;
  kusari::Child<kusari::L::NStepLSTM> decoder;
  kusari::Child<kusari::L::Linear> out;

 private:
  // c and h, (1, B, units).
  kusari::F::CellOutput look(const kusari::Variable& pictures) const {
    const auto states = kusari::F::split_axis(kusari::F::expand_dims(seen(cnn(pictures)), 0), 2, 2);
    return {states[0], states[1]};
  }
};
