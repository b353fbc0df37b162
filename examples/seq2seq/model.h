#pragma once

#include <cstdint>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/sentences.h"

// An encoder reads a sentence, a decoder says its translation from the state that is left: Sutskever et al. 2014.
class Seq2seq : public kusari::Chain {
 public:
  Seq2seq(int64_t layers, int64_t source_words, int64_t target_words, int64_t units)
      : embed_x{*this, "embed_x", source_words, units},
        embed_y{*this, "embed_y", target_words, units},
        encoder{*this, "encoder", layers, units, units, 0.1},
        decoder{*this, "decoder", layers, units, units, 0.1},
        W{*this, "W", units, target_words} {}

  // The loss of a sentence, the mean of a batch. xs, read, said: packed words of SentencePairs with their lengths.
  kusari::Variable operator()(const kusari::Variable& xs, const kusari::Variable& x_lengths,
                              const kusari::Variable& read, const kusari::Variable& read_lengths,
                              const kusari::Variable& said, const kusari::Variable&) {
    using namespace kusari;
    const auto packed = PackedSequence::from_lengths(xs, x_lengths.array());
    const auto target = PackedSequence::from_lengths(read, read_lengths.array());
    const auto [hx, cx, hidden] = encoder({}, {}, packed.map(embed_x));
    const auto [hy, cy, os] = decoder(hx, cx, target.map(embed_y));
    return loss_of_sentences(W(os.data()), said, target, *this);
  }

  // Translations of sentences as SentencePairs has them.
  std::vector<kusari::Array> translate(const std::vector<kusari::Variable>& xs, int64_t beams, int64_t longest) {
    using namespace kusari;
    const auto no_graph = no_backprop_mode();
    const auto test_mode = using_config(&Config::train, false);
    const auto [hx, cx, hidden] = encoder({}, {}, F::pack_sequence(xs).map(embed_x));
    return say_likeliest({embed_y, decoder, W}, hx, cx, beams, longest);
  }

  kusari::Child<kusari::L::EmbedID> embed_x, embed_y;
  kusari::Child<kusari::L::NStepLSTM> encoder, decoder;
  kusari::Child<kusari::L::Linear> W;
};
