#pragma once

#include <cstdint>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/seq2seq/sentences.h"

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
    const Variable sum = F::sum(F::softmax_cross_entropy(W(os.data()), said, {.reduce = F::Reduce::no}));
    const Variable loss = sum / static_cast<double>(packed.size());
    report({{"loss", loss}, {"perp", F::exp(sum / static_cast<double>(target.count()))}}, *this);
    return loss;
  }

  // Translations of sentences as SentencePairs has them.
  std::vector<kusari::Array> translate(const std::vector<kusari::Variable>& xs, int64_t beams, int64_t longest) {
    using namespace kusari;
    const auto no_graph = no_backprop_mode();
    const auto test_mode = using_config(&Config::train, false);
    const auto [hx, cx, hidden] = encoder({}, {}, F::pack_sequence(xs).map(embed_x));
    // Each sentence as many times as there are beams, behind each other
    Variable h = F::repeat(hx, beams, 1), c = F::repeat(cx, beams, 1);
    const auto found = beam_search(
        [&](const Variable& tokens) {
          const auto words = PackedSequence::from_times(F::expand_dims(tokens, 0));
          const auto [hy, cy, os] = decoder(h, c, words.map(embed_y));
          h = hy, c = cy;
          return W(os.data());
        },
        [&](const Array& which) {
          h = F::get_item(h, {Slice{}, which});
          c = F::get_item(c, {Slice{}, which});
        },
        static_cast<int64_t>(xs.size()),
        {.beams = beams, .begin = kEnd, .end = kEnd, .max_length = longest, .device = device()});
    std::vector<Array> texts;
    for (const auto& of_row : found) texts.push_back(of_row.at(0).tokens);
    return texts;
  }

  kusari::Child<kusari::L::EmbedID> embed_x, embed_y;
  kusari::Child<kusari::L::NStepLSTM> encoder, decoder;
  kusari::Child<kusari::L::Linear> W;
};
