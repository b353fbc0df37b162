#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

// What turns texts into vectors, (B, units). words, lengths: what datasets::pack_sequences gives.

// The last state of a recurrent network.
class RnnEncoder : public kusari::Chain {
 public:
  RnnEncoder(int64_t layers, int64_t words, int64_t units, double dropout)
      : embed{*this, "embed", words, units},
        encoder{*this, "encoder", layers, units, units, dropout},
        dropout_{dropout} {}
  kusari::Variable operator()(const kusari::Variable& words, const kusari::Variable& lengths) const {
    namespace F = kusari::F;
    const auto texts = kusari::PackedSequence::from_lengths(F::dropout(embed(words), dropout_), lengths.array());
    const auto [hy, cy, ys] = encoder({}, {}, texts);
    return F::get_item(hy, {-1});
  }

  kusari::Child<kusari::L::EmbedID> embed;
  kusari::Child<kusari::L::NStepLSTM> encoder;

 private:
  double dropout_;
};

// The strongest answers of filters over 3, 4 and 5 words: Kim 2014.
class CnnEncoder : public kusari::Chain {
 public:
  CnnEncoder(int64_t, int64_t words, int64_t units, double dropout)
      : embed{*this, "embed", words, units, {.ignore_label = -1}},
        cnn_w3{*this, "cnn_w3", units, units / 3, 3, {.pad = 2}},
        cnn_w4{*this, "cnn_w4", units, units / 3, 4, {.pad = 3}},
        cnn_w5{*this, "cnn_w5", units, units / 3, 5, {.pad = 4}},
        out{*this, "out", units / 3 * 3, units},
        dropout_{dropout} {}
  kusari::Variable operator()(const kusari::Variable& words, const kusari::Variable& lengths) const {
    namespace F = kusari::F;
    const auto texts = F::unpack_sequence(kusari::PackedSequence::from_lengths(words, lengths.array()));
    const kusari::Variable padded = F::pad_sequence(texts, {.padding = -1});
    const kusari::Variable x = F::dropout(F::swapaxes(embed(padded), 1, 2), dropout_);  // (B, units, T)
    const auto strongest = [](const kusari::Variable& h) { return F::max(F::relu(h), 2); };
    const kusari::Variable h = F::concat({strongest(cnn_w3(x)), strongest(cnn_w4(x)), strongest(cnn_w5(x))}, 1);
    return F::tanh(out(F::dropout(h, dropout_)));
  }

  kusari::Child<kusari::L::EmbedID> embed;
  kusari::Child<kusari::L::Convolution1D> cnn_w3, cnn_w4, cnn_w5;
  kusari::Child<kusari::L::Linear> out;

 private:
  double dropout_;
};

// The mean of the words' vectors, in any order.
class BowEncoder : public kusari::Chain {
 public:
  BowEncoder(int64_t, int64_t words, int64_t units, double dropout)
      : embed{*this, "embed", words, units}, out{*this, "out", units, units}, dropout_{dropout} {}
  kusari::Variable operator()(const kusari::Variable& words, const kusari::Variable& lengths) const {
    namespace F = kusari::F;
    std::vector<kusari::Variable> means;
    const auto texts = kusari::PackedSequence::from_lengths(words, lengths.array()).map(embed);
    for (const kusari::Variable& text : F::unpack_sequence(texts)) means.push_back(F::mean(text, 0));
    return F::tanh(out(F::dropout(F::stack(means, 0), dropout_)));
  }

  kusari::Child<kusari::L::EmbedID> embed;
  kusari::Child<kusari::L::Linear> out;

 private:
  double dropout_;
};

// Calls body<Encoder>() with the encoder of that name: "rnn", "cnn" or "bow".
template <class Body>
void with_encoder(const std::string& name, const Body& body) {
  if (name == "rnn") body.template operator()<RnnEncoder>();
  if (name == "cnn") body.template operator()<CnnEncoder>();
  if (name == "bow") body.template operator()<BowEncoder>();
}

// Scores of the classes of texts.
template <class Encoder>
class TextClassifier : public kusari::Chain {
 public:
  TextClassifier(Encoder of_texts, int64_t units, int64_t classes, double dropout)
      : encoder{*this, "encoder", std::move(of_texts)}, output{*this, "output", units, classes}, dropout_{dropout} {}
  kusari::Variable operator()(const kusari::Variable& words, const kusari::Variable& lengths) const {
    return output(kusari::F::dropout(encoder(words, lengths), dropout_));
  }

  kusari::Child<Encoder> encoder;
  kusari::Child<kusari::L::Linear> output;

 private:
  double dropout_;
};
