#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

// Scores of each tag for each word of sentences. Chainer's: a word alone.
class WordScores : public kusari::Chain {
 public:
  WordScores(int64_t words, int64_t tags, int64_t, int64_t) : feature{*this, "feature", words, tags} {}
  kusari::PackedSequence operator()(const kusari::PackedSequence& words) const { return words.map(feature); }

  kusari::Child<kusari::L::EmbedID> feature;
};

// A word and all that stands before and behind it: Huang et al. 2015.
class ContextScores : public kusari::Chain {
 public:
  ContextScores(int64_t words, int64_t tags, int64_t units, int64_t layers)
      : embed{*this, "embed", words, units},
        lstm{*this, "lstm", layers, units, units, 0.3},
        out{*this, "out", 2 * units, tags} {}
  kusari::PackedSequence operator()(const kusari::PackedSequence& words) const {
    const auto seen = words.map([&](const auto& ids) { return kusari::F::dropout(embed(ids), 0.3); });
    return lstm({}, {}, seen).ys.map(out);
  }

  kusari::Child<kusari::L::EmbedID> embed;
  kusari::Child<kusari::L::NStepBiLSTM> lstm;
  kusari::Child<kusari::L::Linear> out;
};

// A conditional random field over the scores: which tags follow each other counts too.
template <class Scores>
class Tagger : public kusari::Chain {
 public:
  Tagger(Scores of_words, int64_t tags) : scores{*this, "scores", std::move(of_words)}, crf{*this, "crf", tags} {}

  // The loss of a sentence, the mean of a batch, which is what datasets::pack_sequences gives.
  kusari::Variable operator()(const kusari::Variable& words, const kusari::Variable& lengths,
                              const kusari::Variable& tags, const kusari::Variable&) const {
    using namespace kusari;
    const auto packed = PackedSequence::from_lengths(words, lengths.array());
    const Variables xs = by_time(scores(packed)), ys = by_time(packed.with(tags));
    const Variable loss = crf(xs, ys);
    const Array right = xp::sum((best_tags(xs) == tags.array()).astype(Dtype::float32));
    report({{"loss", loss}, {"correct", right}, {"total", packed.count()}}, *this);
    return loss;
  }

  // The likeliest tags of a sentence, (n).
  kusari::Array tag(const kusari::Array& words) const {
    using namespace kusari;
    const auto no_graph = no_backprop_mode();
    const auto test_mode = using_config(&Config::train, false);
    return best_tags(by_time(scores(F::pack_sequence(Variables{Variable(words.to_device(this->device()), false)}))));
  }

  kusari::Child<Scores> scores;
  kusari::Child<kusari::L::CRF1d> crf;

 private:
  // An array for each time, as L::CRF1d takes them.
  static kusari::Variables by_time(const kusari::PackedSequence& packed) {
    std::vector<int64_t> ends;
    for (const int64_t rows : packed.batch_sizes()) ends.push_back(rows + (ends.empty() ? 0 : ends.back()));
    ends.pop_back();
    return kusari::F::split_axis(packed.data(), ends, 0);
  }
  kusari::Array best_tags(const kusari::Variables& xs) const {
    kusari::Variables path;
    for (const kusari::Array& tags : crf.argmax(xs).path) path.emplace_back(tags, false);
    return kusari::F::concat(path, 0).array();
  }
};
