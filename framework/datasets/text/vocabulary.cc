#include "kusari/framework/datasets/text/vocabulary.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "kusari/framework/core/error.h"

namespace kusari::datasets {
namespace {

constexpr int32_t kNoWord = -1;

}  // namespace

Vocabulary::Vocabulary(std::span<const std::string> words, const VocabularyOptions& options) {
  if (options.min_count < 1 || options.max_size < 0) {
    throw ValueError("Vocabulary: min_count is " + std::to_string(options.min_count) + " and max_size is " +
                     std::to_string(options.max_size) + ": they must be at least 1 and 0");
  }
  Vocabulary all;
  for (const std::string& word : words) all.add(word);

  std::vector<size_t> ranked;  // by count, the first in the text before others that come as often
  for (size_t i = 0; i < all.words_.size(); ++i) {
    if (all.counts_[i] >= options.min_count && all.words_[i] != options.unknown) ranked.push_back(i);
  }
  const size_t room =
      options.max_size == 0 ? ranked.size() : static_cast<size_t>(options.max_size) - (options.unknown.empty() ? 0 : 1);
  if (room < ranked.size()) {
    std::stable_sort(ranked.begin(), ranked.end(), [&](size_t a, size_t b) { return all.counts_[a] > all.counts_[b]; });
    ranked.resize(room);
  }
  std::vector<bool> is_kept(all.words_.size(), false);
  for (const size_t i : ranked) is_kept[i] = true;
  int64_t left_out = 0;
  for (size_t i = 0; i < all.words_.size(); ++i) {
    if (is_kept[i] || all.words_[i] == options.unknown) {
      add(all.words_[i], all.counts_[i]);
    } else {
      left_out += all.counts_[i];
    }
  }
  if (options.unknown.empty()) return;
  add(options.unknown, left_out);
  set_unknown(options.unknown);
}

int32_t Vocabulary::add(std::string_view word, int64_t count) {
  if (const int32_t found = find(word); found != kNoWord) {
    counts_[static_cast<size_t>(found)] += count;
    return found;
  }
  if (size() == std::numeric_limits<int32_t>::max()) throw ValueError("Vocabulary: ids are int32, and used up");
  const int32_t id = static_cast<int32_t>(size());
  if (2 * (words_.size() + 1) > slots_.size()) {
    slots_.assign(std::max<size_t>(16, 2 * slots_.size()), kNoWord);
    for (int32_t known = 0; known < id; ++known) slots_[slot_of(words_[static_cast<size_t>(known)])] = known;
  }
  counts_.resize(words_.size() + 1);  // the same if memory for the word ran out before
  words_.emplace_back(word);
  counts_.back() = count;
  slots_[slot_of(words_.back())] = id;  // `word` may have been a part of a word that was moved
  return id;
}

/// Where the word's id is, or would be.
size_t Vocabulary::slot_of(std::string_view word) const noexcept {
  const size_t mask = slots_.size() - 1;  // a power of two
  size_t slot = std::hash<std::string_view>()(word) & mask;
  while (slots_[slot] != kNoWord && words_[static_cast<size_t>(slots_[slot])] != word) slot = (slot + 1) & mask;
  return slot;
}

/// The word's id, or kNoWord.
int32_t Vocabulary::find(std::string_view word) const noexcept {
  return slots_.empty() ? kNoWord : slots_[slot_of(word)];
}

void Vocabulary::set_unknown(std::string_view word) {
  const int32_t found = find(word);
  if (found == kNoWord) throw KeyError("Vocabulary::set_unknown: there is no word '" + std::string(word) + "'");
  unknown_ = found;
}

bool Vocabulary::contains(std::string_view word) const { return find(word) != kNoWord; }

int32_t Vocabulary::id(std::string_view word) const {
  if (const int32_t found = find(word); found != kNoWord) return found;
  if (unknown_ == kNoWord) {
    throw KeyError("Vocabulary::id: there is no word '" + std::string(word) + "' among " + std::to_string(size()) +
                   ", and none for unknown words");
  }
  return unknown_;
}

const std::string& Vocabulary::word(int64_t id) const {
  if (id < 0 || id >= size()) {
    throw IndexError("Vocabulary::word: id " + std::to_string(id) + " is out of range: there are " +
                     std::to_string(size()) + " words");
  }
  return words_[static_cast<size_t>(id)];
}

int64_t Vocabulary::count(int64_t id) const {
  word(id);  // checks it
  return counts_[static_cast<size_t>(id)];
}

Array Vocabulary::encode(std::span<const std::string> words) const {
  const Array ids = empty({static_cast<int64_t>(words.size())}, Dtype::int32);
  std::transform(words.begin(), words.end(), ids.data<int32_t>(), [&](const std::string& word) { return id(word); });
  return ids;
}

std::vector<std::string> Vocabulary::decode(const Array& ids) const {
  if (!ids.is_defined()) throw TypeError("Vocabulary::decode: ids is undefined");
  if (!is_integral(ids.dtype()) || ids.dtype() == Dtype::bool_) {
    throw TypeError(std::string("Vocabulary::decode: ids has dtype ") + name(ids.dtype()) + ": integers are needed");
  }
  std::vector<std::string> words;
  for (const int64_t id : ids.to_vector<int64_t>()) words.push_back(word(id));
  return words;
}

}  // namespace kusari::datasets
