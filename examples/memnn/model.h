#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <kusari/kusari.h>

// What a sentence is: the sum of its words' vectors, or one in which each word's counts by its place (Sukhbaatar et al.
// 2015, 4.1).
enum class SentenceEncoding { bag_of_words, positions };

// Looks for an answer in memory, several times: what is found is added to the question. Sukhbaatar et al. 2015, with
// adjacent weights: what a hop reads as contents are the next one's addresses.
class MemNN : public kusari::Chain {
 public:
  MemNN(int64_t words, int64_t units, int64_t memory, int64_t hops, SentenceEncoding encoding) : encoding_{encoding} {
    const kusari::initializers::Normal small(0.1);
    for (int64_t k = 0; k <= hops; ++k) {
      embeds.append(kusari::L::EmbedID(words, units, {.initial_w = small, .ignore_label = -1}));
      ages.append(kusari::L::EmbedID(memory, units, {.initial_w = small}));
    }
  }

  // sentences: (B, memory, length), the newest last. question: (B, length). Scores of the answers, (B, words).
  kusari::Variable operator()(const kusari::Variable& sentences, const kusari::Variable& question) const {
    using namespace kusari;
    const Variable places(arange(sentences.shape(1), Dtype::int32, sentences.device()), false);
    const auto remember = [&](size_t k) {
      const Variable memory = encode(embeds[k], sentences);
      return memory + F::broadcast_to(ages[k](places), memory.shape());
    };
    Variable u = encode(embeds[0], question), addresses = remember(0);  // (B, units) and (B, memory, units)
    for (size_t k = 1; k < embeds.size(); ++k) {
      const Variable contents = remember(k);
      const Variable weights = F::softmax(F::batch_matmul(addresses, F::expand_dims(u, 2)), 1);  // (B, memory, 1)
      u = u + F::squeeze(F::batch_matmul(F::swapaxes(contents, 1, 2), weights), 2);
      addresses = contents;
    }
    return F::linear(u, embeds[embeds.size() - 1].W);
  }

  kusari::Child<kusari::LinkList<kusari::L::EmbedID>> embeds{*this, "embeds"}, ages{*this, "ages"};

 private:
  // ids: (..., length). Returns (..., units).
  kusari::Variable encode(const kusari::L::EmbedID& embed, const kusari::Variable& ids) const {
    using namespace kusari;
    const Variable vectors = embed(ids);
    const int64_t words_axis = ids.ndim() - 1;
    if (encoding_ == SentenceEncoding::bag_of_words) return F::sum(vectors, words_axis);
    // Of word j of J, unit k of d: (1 - j / J) - (k / d) (1 - 2 j / J)
    const Dtype dtype = vectors.dtype();
    const int64_t length = ids.shape(words_axis), units = vectors.shape(words_axis + 1);
    const auto count_to = [&](int64_t n) { return arange(n, dtype, ids.device()) + 1; };
    const Array count = xp::maximum(xp::sum((ids.array() != -1).astype(dtype), words_axis, true), 1);
    const Array j = (count_to(length) / count).expand_dims(words_axis + 1), k = count_to(units) / units;
    return F::sum(vectors * Variable((1 - j) - k * (1 - 2 * j), false), words_axis);
  }

  SentenceEncoding encoding_;
};
