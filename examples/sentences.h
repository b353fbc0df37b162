#pragma once

// What programs that write sentences have in common: words, examples, the loss, and the likeliest sentence.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

using Words = std::vector<std::string>;

// Words 0 and 1 of every vocabulary.
inline constexpr int32_t kUnknown = 0, kEnd = 1;

// The most frequent words of sentences, behind <UNK> and <EOS>.
inline kusari::datasets::Vocabulary make_vocabulary(const std::vector<Words>& sentences, int64_t size) {
  using kusari::datasets::Vocabulary;
  Words words;
  for (const Words& sentence : sentences) words.insert(words.end(), sentence.begin(), sentence.end());
  const Vocabulary kept(words, {.max_size = size});
  Vocabulary result;
  result.add("<UNK>", 0);
  result.add("<EOS>", 0);
  for (int64_t i = 0; i < kept.size(); ++i) result.add(kept.word(i), kept.count(i));
  result.set_unknown("<UNK>");
  return result;
}

inline std::vector<int32_t> ids_of(const kusari::datasets::Vocabulary& vocabulary, const Words& words) {
  return vocabulary.encode(words).to_vector<int32_t>();
}

// The words of ids, without the end.
inline Words words_of(const kusari::datasets::Vocabulary& vocabulary, const kusari::Array& ids) {
  Words words = vocabulary.decode(ids);
  std::erase(words, "<EOS>");
  return words;
}

inline std::string join(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// A sentence behind an end mark, which a decoder reads, and with one behind it, which it should say.
inline std::pair<kusari::Array, kusari::Array> read_and_said(const std::vector<int32_t>& sentence) {
  std::vector<int32_t> read{kEnd}, said = sentence;
  read.insert(read.end(), sentence.begin(), sentence.end());
  said.push_back(kEnd);
  return {kusari::array(read), kusari::array(said)};
}

// The loss of a sentence, the mean of a batch; the model reports it, and the perplexity of a word. scores: of the words
// that follow those of `read`; said: these words, both packed.
inline kusari::Variable loss_of_sentences(const kusari::Variable& scores, const kusari::Variable& said,
                                          const kusari::PackedSequence& read, const kusari::Link& model) {
  using namespace kusari;
  const Variable sum = F::sum(F::softmax_cross_entropy(scores, said, {.reduce = F::Reduce::no}));
  const Variable loss = sum / static_cast<double>(read.size());
  report({{"loss", loss}, {"perp", F::exp(sum / static_cast<double>(read.count()))}}, model);
  return loss;
}

// What says a word after another.
struct Speaker {
  const kusari::L::EmbedID& embed;
  const kusari::L::NStepLSTM& decoder;
  const kusari::L::Linear& out;
};

// The likeliest sentence for each row of the states h and c, (layers, B, units); undefined ones are zeros.
inline std::vector<kusari::Array> say_likeliest(const Speaker& speaker, kusari::Variable h, kusari::Variable c,
                                                int64_t beams, int64_t longest) {
  using namespace kusari;
  const int64_t rows = h.shape(1);
  // Each row as many times as there are beams, behind each other
  for (Variable* state : {&h, &c}) {
    if (state->is_defined()) *state = F::repeat(*state, beams, 1);
  }
  const auto found = beam_search(
      [&](const Variable& tokens) {
        const auto words = PackedSequence::from_times(F::expand_dims(tokens, 0));
        const auto [hy, cy, os] = speaker.decoder(h, c, words.map(speaker.embed));
        h = hy, c = cy;
        return speaker.out(os.data());
      },
      [&](const Array& which) {
        h = F::get_item(h, {Slice{}, which});
        c = F::get_item(c, {Slice{}, which});
      },
      rows, {.beams = beams, .begin = kEnd, .end = kEnd, .max_length = longest, .device = h.device()});
  std::vector<Array> sentences;
  for (const auto& of_row : found) sentences.push_back(of_row.at(0).tokens);
  return sentences;
}

// The share of sentences, of which there are some, that are, word by word, one of those expected.
inline double exact_share(const std::vector<Words>& found, const std::vector<std::vector<Words>>& expected) {
  int64_t exact = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::ranges::count(expected[i], found[i]) > 0) ++exact;
  }
  return static_cast<double>(exact) / static_cast<double>(found.size());
}
